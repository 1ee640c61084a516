// The words of each channel.
#include <fmt/core.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <boost/json/value.hpp>

#include "alerts/channel.h"
#include "base/check.h"
#include "base/json.h"

namespace takt::internal {
namespace {

using Digest = std::array<unsigned char, 32>;

Digest HmacSha256(std::string_view key, std::string_view text) {
    Digest digest{};
    unsigned size = 0;
    TAKT_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                    reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
                    &size) != nullptr &&
               size == digest.size());
    return digest;
}

std::string Hex(const Digest& digest) {
    std::string text;
    for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
    return text;
}

std::string Base64(std::string_view bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3), '\0');
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
    return text;
}
std::string Base64(const Digest& digest) {
    return Base64(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::int64_t SecondsOf(Time time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

std::string JsonBody(const Notice& notice) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("version", 1);
    json.Key("alert").BeginObject();
    WriteAlertFields(json, notice.alert);
    json.EndObject();
    json.Field("title", std::string_view(NoticeTitle(notice)));
    json.Field("description", std::string_view(notice.rule_description));
    json.Field("namespace",
               notice.space.empty() ? std::string_view("default") : std::string_view(notice.space));
    json.Key("observer");
    notice.observer.empty() ? json.Null() : json.Value(std::string_view(notice.observer));
    json.Field("more", notice.more).Field("test", notice.test).EndObject();
    return body;
}

// Names come from strangers: in Slack's and DingTalk's markup they must stay names.
std::string Plain(std::string_view text, std::string_view markup) {
    std::string plain;
    for (const char c : text) {
        if (c == '&') {
            plain += "&amp;";
        } else if (c == '<') {
            plain += "&lt;";
        } else if (c == '>') {
            plain += "&gt;";
        } else if (markup.contains(c)) {
            plain += ' ';
        } else {
            plain += c;
        }
    }
    return plain;
}

// Feishu's plain text knows "<at …>", "<b>", "**" and "[…](…)" all the same, and no way to write
// them as text: look-alikes stand for the brackets.
std::string FeishuPlain(std::string_view text) {
    std::string plain;
    for (const char c : text) {
        if (c == '<') {
            plain += "\u2039";
        } else if (c == '>') {
            plain += "\u203a";
        } else if (std::string_view("*[]").contains(c)) {
            plain += ' ';
        } else {
            plain += c;
        }
    }
    return plain;
}

std::string SlackBody(const Notice& notice) {
    std::string body;
    JsonWriter(body).BeginObject().Field(
        "text", std::string_view(Plain(NoticeTitle(notice) + "\n" + NoticeText(notice), "`*~")));
    return body + "}";
}

std::string DingTalkBody(const Notice& notice) {
    // Two spaces before a line break are a line break there.
    std::string text;
    for (const char c : Plain(NoticeText(notice), "`*#[]!")) {
        if (c == '\n') text += "  ";
        text += c;
    }
    const std::string title = NoticeTitle(notice);
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("msgtype", "markdown").Key("markdown").BeginObject();
    json.Field("title", std::string_view(title));
    json.Field("text", std::string_view("### " + title + "\n\n" + text)).EndObject().EndObject();
    return body;
}

std::string FeishuBody(const Channel& channel, const Notice& notice, Time now) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    if (!channel.secret.empty()) {
        const std::string timestamp = std::to_string(SecondsOf(now));
        json.Field("timestamp", std::string_view(timestamp));
        // Its key is what others sign, and it signs nothing.
        const Digest sign = HmacSha256(timestamp + "\n" + channel.secret, "");
        json.Field("sign", std::string_view(Base64(sign)));
    }
    json.Field("msg_type", "text").Key("content").BeginObject();
    json.Field("text",
               std::string_view(NoticeTitle(notice) + "\n" + FeishuPlain(NoticeText(notice))));
    json.EndObject().EndObject();
    return body;
}

}  // namespace

std::string NoticeTitle(const Notice& notice) {
    const Alert& alert = notice.alert;
    const std::string_view state = notice.test                            ? "TEST"
                                   : alert.state == AlertState::kFiring   ? "FIRING"
                                   : alert.state == AlertState::kResolved ? "RESOLVED"
                                                                          : "PENDING";
    std::string title = fmt::format("[Takt] {} {}: {}", state, Name(alert.severity), alert.rule);
    if (!notice.space.empty()) title += fmt::format(" in {}", notice.space);
    if (notice.more > 0) title += fmt::format(" (and {} more)", notice.more);
    return title;
}

std::string NoticeText(const Notice& notice) {
    const Alert& alert = notice.alert;
    std::string text = alert.message;
    const auto add = [&](std::string_view line) { text += "\n" + std::string(line); };
    if (!notice.rule_description.empty()) add(notice.rule_description);
    if (!notice.space.empty()) add("Namespace: " + notice.space);
    if (!alert.subject.empty()) add("About: " + alert.subject.str());
    if (alert.firing_at != Time{}) add("Firing since: " + FormatTime(alert.firing_at));
    if (alert.resolved_at != Time{}) add("Resolved at: " + FormatTime(alert.resolved_at));
    add("Alert: " + alert.id);
    if (!notice.observer.empty()) {
        add("Seen by the follower " + notice.observer + ": no leader fires what is due.");
    }
    return text;
}

WebhookRequest WebhookOf(const Channel& channel, const Notice& notice, Time now) {
    WebhookRequest request{
        .url = channel.url,
        .headers = {{"Content-Type", "application/json"}, {"X-Takt-Alert-Id", notice.alert.id}}};
    const bool robots =
        channel.format == WebhookFormat::kDingTalk || channel.format == WebhookFormat::kFeishu;
    switch (channel.format) {
        case WebhookFormat::kJson:
            request.body = JsonBody(notice);
            break;
        case WebhookFormat::kSlack:
            request.body = SlackBody(notice);
            break;
        case WebhookFormat::kFeishu:
            request.body = FeishuBody(channel, notice, now);
            break;
        case WebhookFormat::kDingTalk:
            request.body = DingTalkBody(notice);
            if (!channel.secret.empty()) {
                const std::string timestamp = std::to_string(now.time_since_epoch().count());
                const Digest sign = HmacSha256(channel.secret, timestamp + "\n" + channel.secret);
                request.url += (request.url.contains('?') ? "&" : "?");
                request.url += "timestamp=" + timestamp + "&sign=" + PercentEncode(Base64(sign));
            }
            break;
    }
    if (!channel.secret.empty() && !robots) {
        const std::string timestamp = std::to_string(SecondsOf(now));
        request.headers.emplace_back("X-Takt-Timestamp", timestamp);
        const Digest sign = HmacSha256(channel.secret, timestamp + "." + request.body);
        request.headers.emplace_back("X-Takt-Signature", "sha256=" + Hex(sign));
    }
    return request;
}

bool IsRobot(WebhookFormat format) {
    return format == WebhookFormat::kDingTalk || format == WebhookFormat::kFeishu;
}

std::string RefusalIn(WebhookFormat format, std::string_view body) {
    if (!IsRobot(format)) return {};
    const bool ding_talk = format == WebhookFormat::kDingTalk;
    const auto parsed = ParseJson(body);
    if (!parsed || !parsed->is_object()) return {};
    const std::string_view key = ding_talk ? "errcode" : "code";
    const auto* code = parsed->as_object().if_contains(key);
    if (!code || !code->is_int64() || code->get_int64() == 0) return {};
    std::string why = std::string(key) + " " + std::to_string(code->get_int64());
    const auto* message = parsed->as_object().if_contains(ding_talk ? "errmsg" : "msg");
    if (message && message->is_string()) {
        why += ": " + std::string(message->get_string()).substr(0, 200);
    }
    return why;
}

std::string MailOf(const Channel& channel, const Notice& notice, Time now) {
    // "Sun, 15 Nov 2026 02:00:00 +0000"
    const auto day = std::chrono::floor<std::chrono::days>(now);
    const std::chrono::year_month_day date(day);
    static constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                              "Thu", "Fri", "Sat"};
    static constexpr std::array<std::string_view, 12> kMonths = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const std::string when =
        fmt::format("{}, {:02} {} {} {} +0000", kDays[std::chrono::weekday(day).c_encoding()],
                    unsigned(date.day()), kMonths[unsigned(date.month()) - 1], int(date.year()),
                    FormatTime(now).substr(11, 8));
    std::string to;
    for (const std::string& address : channel.to)
        to += (to.empty() ? "<" : ",\r\n <") + address + ">";
    // The title is made of our own words and of ids; nothing in it can begin another header.
    std::string mail = "From: <" + channel.from + ">\r\nTo: " + to + "\r\nDate: " + when +
                       "\r\nSubject: " + NoticeTitle(notice) + "\r\nMessage-ID: <" +
                       notice.alert.id + "." + std::string(Name(notice.alert.state)) + "." +
                       std::to_string(SecondsOf(now)) +
                       "@takt>\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
                       "Content-Type: text/plain; charset=utf-8\r\n"
                       "Content-Transfer-Encoding: base64\r\n\r\n";
    const std::string body = Base64(NoticeText(notice) + "\n");
    for (std::size_t at = 0; at < body.size(); at += 76) mail += body.substr(at, 76) + "\r\n";
    return mail;
}

}  // namespace takt::internal
