#include "signin/provider.h"

#include <boost/json/value.hpp>

#include "base/json.h"
#include "base/private_url.h"
#include "http/address.h"
#include "signin/id_token.h"

namespace takt::internal {
namespace {

namespace json = boost::json;

constexpr auto kKept = std::chrono::hours(1);
// A token with a made-up key must not make us ask for keys all the time.
constexpr auto kKeysPause = std::chrono::seconds(10);
constexpr std::size_t kAnswerBytesMax = 1 << 20;
constexpr auto kPatience = std::chrono::seconds(10);

std::string Form(const std::vector<std::pair<std::string_view, std::string_view>>& fields) {
    std::string text;
    for (const auto& [name, value] : fields) {
        if (!text.empty()) text += '&';
        text += std::string(name) + "=" + PercentEncode(value);
    }
    return text;
}

std::string MemberText(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace

Provider::Provider(ProviderOptions options, Send send)
    : options_(std::move(options)), send_(std::move(send)) {}

// A JSON object from the provider, by a call of which `what` is the name.
Flow<Result<json::object>> Provider::Fetch(HttpCall call, std::string what) {
    call.timeout = kPatience;
    call.response_bytes_max = kAnswerBytesMax;
    call.headers.emplace_back("Accept", "application/json");
    const auto answer = co_await Wait<Result<HttpAnswer>>(
        [&](auto done) { send_(std::move(call), std::move(done)); });
    if (!answer) {
        co_return Fail(ErrorCode::kUnavailable,
                       "the sign-in provider's " + what + ": " + answer.error().detail);
    }
    auto value = ParseJson(answer->body);
    const bool object = value && value->is_object();
    if (answer->status != 200) {
        const std::string why = object ? MemberText(value->get_object(), "error") : std::string();
        co_return Fail(answer->status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInvalid,
                       "the sign-in provider's " + what + " answered " +
                           std::to_string(answer->status) + (why.empty() ? "" : " (" + why + ")"));
    }
    if (!object) {
        co_return Fail(ErrorCode::kInvalid,
                       "the sign-in provider's " + what + " is no JSON object");
    }
    co_return std::move(value->get_object());
}

Flow<Result<void>> Provider::Describe() {
    const Steady now = SteadyClock::now();
    if (description_ && now - described_at_ < kKept) co_return Result<void>();
    std::string base = options_.issuer;
    if (base.ends_with('/')) base.pop_back();
    const auto read =
        co_await Fetch({.url = base + "/.well-known/openid-configuration"}, "description");
    if (!read) co_return std::unexpected(read.error());
    if (MemberText(*read, "issuer") != options_.issuer) {
        co_return Fail(ErrorCode::kInvalid,
                       "the sign-in provider calls itself '" + MemberText(*read, "issuer") +
                           "', and signin.issuer is '" + options_.issuer + "'");
    }
    Description found{.authorization_endpoint = MemberText(*read, "authorization_endpoint"),
                      .token_endpoint = MemberText(*read, "token_endpoint"),
                      .jwks_uri = MemberText(*read, "jwks_uri")};
    for (const std::string* url :
         {&found.authorization_endpoint, &found.token_endpoint, &found.jwks_uri}) {
        if (IsPrivateUrl(*url)) continue;
        co_return Fail(ErrorCode::kInvalid,
                       "the sign-in provider has an endpoint that is not https: '" + *url + "'");
    }
    description_ = std::move(found);
    described_at_ = now;
    co_return Result<void>();
}

Flow<Result<void>> Provider::LoadKeys(std::string wanted) {
    const Steady now = SteadyClock::now();
    const auto age = now - keys_at_;
    const bool fresh = !keys_.empty() && age < kKept;
    if (fresh && (keys_.Has(wanted) || age < kKeysPause)) co_return Result<void>();
    const auto read = co_await Fetch({.url = description_->jwks_uri}, "keys");
    if (!read) co_return std::unexpected(read.error());
    std::string text;
    AppendJson(text, *read);
    auto keys = KeySet::Parse(text);
    if (!keys) {
        co_return Fail(ErrorCode::kInvalid, "the sign-in provider's keys: " + keys.error().detail);
    }
    keys_ = std::move(*keys);
    keys_at_ = now;
    co_return Result<void>();
}

Flow<Result<std::string>> Provider::AskUrl(Question question) {
    if (auto known = co_await Describe(); !known) co_return std::unexpected(known.error());
    const std::string& to = description_->authorization_endpoint;
    co_return to + (to.contains('?') ? "&" : "?") +
        Form({{"response_type", "code"},
              {"client_id", options_.client_id},
              {"redirect_uri", options_.redirect_url},
              {"scope", options_.scopes},
              {"state", question.state},
              {"nonce", question.nonce},
              {"code_challenge", question.challenge},
              {"code_challenge_method", "S256"}});
}

Flow<Result<Person>> Provider::Redeem(Answer answer) {
    if (auto known = co_await Describe(); !known) co_return std::unexpected(known.error());
    std::vector<std::pair<std::string_view, std::string_view>> form = {
        {"grant_type", "authorization_code"},
        {"code", answer.code},
        {"redirect_uri", options_.redirect_url},
        {"client_id", options_.client_id},
        {"code_verifier", answer.verifier}};
    if (!options_.client_secret.empty()) form.emplace_back("client_secret", options_.client_secret);
    const auto tokens =
        co_await Fetch({.method = HttpMethod::kPost,
                        .url = description_->token_endpoint,
                        .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                        .body = Form(form)},
                       "token endpoint");
    if (!tokens) co_return std::unexpected(tokens.error());
    const std::string token = MemberText(*tokens, "id_token");
    const auto key = KeyOfJwt(token);
    if (!key) co_return std::unexpected(key.error());
    if (auto loaded = co_await LoadKeys(*key); !loaded) co_return std::unexpected(loaded.error());
    const auto claims = ReadJwt(token, keys_);
    if (!claims) co_return std::unexpected(claims.error());
    co_return CheckIdToken(*claims,
                           {.issuer = options_.issuer,
                            .client_id = options_.client_id,
                            .nonce = std::move(answer.nonce),
                            .name_claim = options_.name_claim,
                            .groups_claim = options_.groups_claim},
                           ReadClocks().wall);
}

}  // namespace takt::internal
