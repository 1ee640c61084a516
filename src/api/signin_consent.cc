#include "api/signin_consent.h"

#include <fmt/format.h>

#include "base/sha256.h"

namespace takt::internal {
namespace {

constexpr std::uint32_t kNumbers = 100'000'000;

struct ConsentTexts {
    const char* language;
    const char* title;
    const char* asks;  // With a place for who it is.
    const char* check;
    const char* yes;
    const char* no;
};

constexpr ConsentTexts kEnglish = {
    "en",
    "Sign in the command line?",
    "A command line of this machine (<code>takt login</code>) asks to act as <b>{}</b>.",
    "Go on only if you started it, and it shows this number:",
    "Yes, sign it in",
    "Otherwise close this page: nothing has been handed over."};

constexpr ConsentTexts kChinese = {
    "zh-CN",
    "让命令行登录？",
    "本机的命令行（<code>takt login</code>）请求以 <b>{}</b> 的身份操作。",
    "只有在命令是你自己启动的，并且终端显示同样的数字时，才继续：",
    "是的，让它登录",
    "否则请关闭本页：没有交出任何东西。"};

// {} is no part of the style: both of its braces stand twice.
constexpr const char* kConsentPage =
    R"(<!doctype html>
<html lang="{}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Takt · {}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.6 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto 0; padding: 0 1.5rem; }}
.number {{ font: 600 2rem ui-monospace, monospace; letter-spacing: .08em; margin: .5rem 0 1.5rem; }}
button {{ font: inherit; padding: .5rem 1.2rem; cursor: pointer; }}
</style>
<h1>{}</h1>
<p>{}</p>
<p>{}</p>
<p class="number" id="number">{}</p>
<form method="post" action="{}"><button>{}</button></form>
<p>{}</p>
</html>
)";

std::string Escaped(std::string_view text) {
    std::string out;
    for (const char letter : text) {
        switch (letter) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += letter;
        }
    }
    return out;
}

}  // namespace

std::string LoginNumber(std::string_view challenge) {
    const Sha256 hash = Sha256Of(challenge);
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8 | hash[i];
    number %= kNumbers;
    return fmt::format("{:04} {:04}", number / 10'000, number % 10'000);
}

HttpResponse ConsentPage(const ConsentQuestion& question) {
    const ConsentTexts& texts = question.chinese ? kChinese : kEnglish;
    HttpResponse response{.status = 200, .content_type = "text/html; charset=utf-8"};
    response.body =
        fmt::format(kConsentPage, texts.language, texts.title, texts.title,
                    fmt::format(fmt::runtime(texts.asks), Escaped(question.who)), texts.check,
                    question.number, Escaped(question.action), texts.yes, texts.no);
    // Browsers hold a form to where its answer leads, too.
    response.headers.emplace_back(
        "Content-Security-Policy",
        fmt::format("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; "
                    "base-uri 'none'; form-action 'self' http://127.0.0.1:{}",
                    question.port));
    response.headers.emplace_back("X-Frame-Options", "DENY");
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

}  // namespace takt::internal
