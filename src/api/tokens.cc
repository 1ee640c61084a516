// Access tokens: create, list, revoke.
#include <algorithm>
#include <array>

#include "api/answer_table.h"
#include "api/api.h"
#include "api/call_flow.h"
#include "api/json_read.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"

namespace takt::internal {
namespace {

constexpr std::size_t kTokensMax = 1000;

const AnswerTable<AccessToken>& TokenFields() {
    using Token = AccessToken;
    static const AnswerTable<Token> fields = {
        {"id", schema::Text(), "",
         [](JsonWriter& json, const Token& t) { json.Value(std::string_view(t.id)); }},
        {"name", schema::Text(), "What people call it.",
         [](JsonWriter& json, const Token& t) { json.Value(std::string_view(t.name)); }},
        {"role", schema::OneOf({"viewer", "operator", "admin", "worker", "executor"}), "",
         [](JsonWriter& json, const Token& t) { json.Value(Name(t.role)); }},
        {"created_at", schema::OrNull(schema::Time()), "",
         [](JsonWriter& json, const Token& t) { json.Value(t.created_at); }},
        {"expires_at", schema::OrNull(schema::Time()), "null: never.",
         [](JsonWriter& json, const Token& t) { json.Value(t.expires_at); }},
        {"last_used_at", schema::OrNull(schema::Time()), "Told once an hour; null: not yet.",
         [](JsonWriter& json, const Token& t) { json.Value(t.last_used_at); }},
    };
    return fields;
}

struct TokenRequest {
    std::string name;
    std::optional<AccessRole> role;
    Time expires_at{};
};

Result<TokenRequest> ReadTokenRequest(const Call& call) {
    static constexpr std::array<std::string_view, 3> kNames = {"name", "role", "expires_in"};
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return std::unexpected(object.error());
    TokenRequest request;
    std::string scratch;
    JsonView::Members members(*object);
    while (members.Next()) {
        const JsonView value = members.value();
        if (members.key() == kNames[0]) {
            const auto name = ReadText(value, "name", 100, scratch);
            if (!name) return std::unexpected(name.error());
            request.name = *name;
        } else if (members.key() == kNames[1]) {
            if (value.is_string()) request.role = ParseAccessRole(value.AsString(scratch));
            if (!request.role) {
                return BadField("role", "must be viewer, operator, admin, worker or executor");
            }
        } else if (members.key() == kNames[2]) {
            const auto duration = ReadDuration(value, "expires_in", Duration(1'000));
            if (!duration) return std::unexpected(duration.error());
            request.expires_at = ReadClocks().wall + *duration;
        } else {
            return UnknownField(members.key(), kNames);
        }
    }
    if (request.name.empty()) return BadField("name", "is missing");
    if (!request.role) return BadField("role", "is missing");
    return request;
}

// Writes a token down, or takes it away, and waits until requests are judged by it.
Flow<Result<void>> Settle(const Call& call, std::string id, Text value) {
    const Text key(std::string(kTokenSettingPrefix) + id);
    const auto answer = co_await Asked(call, SetSetting{.key = key, .value = std::move(value)});
    if (!answer) co_return std::unexpected(answer.error());
    co_await Answered<bool>(call, [&](auto done) {
        LoadAccess(call.services().gate, [done = std::move(done)]() mutable { done(true); });
    });
    co_return Result<void>();
}

// Whether somebody other than `id` may always make and revoke tokens. An administrator whose token
// expires is one for a while only.
bool HasLastingAdmin(const AccessPolicy& access, std::string_view but_for) {
    return std::ranges::any_of(access.tokens(), [&](const auto& known) {
        const AccessToken& token = known.second;
        return token.id != but_for && token.role == AccessRole::kAdmin &&
               token.expires_at == Time{};
    });
}

// The first token shuts the door, and so must be a key to it that lasts.
Result<void> CheckNewToken(const AccessPolicy& access, const TokenRequest& request) {
    if (access.tokens().size() >= kTokensMax) {
        return Fail(ErrorCode::kExhausted, "there are too many tokens; revoke some");
    }
    if (access.tokens().empty() && *request.role != AccessRole::kAdmin) {
        return BadField("role", "of the first token must be admin");
    }
    if (*request.role == AccessRole::kAdmin && request.expires_at != Time{} &&
        !HasLastingAdmin(access, {})) {
        return BadField("expires_in",
                        "would lock everybody out when the only administrator expires; make an "
                        "admin token without it first");
    }
    return {};
}

Flow<> CreateToken(Call call) {
    auto request = ReadTokenRequest(call);
    if (!request) co_return call.RefuseRequest(request.error());
    if (const auto checked = CheckNewToken(call.services().access, *request); !checked) {
        co_return call.RefuseAnswer(checked.error());
    }
    const NewToken made = MakeToken(*request->role, std::move(request->name), ReadClocks().wall,
                                    request->expires_at, call.services().random);
    const auto kept = co_await Settle(call, made.token.id, Text(EncodeToken(made.token)));
    if (!kept) co_return call.RefuseAnswer(kept.error());
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    WriteFields(json, TokenFields(), made.token);
    json.Field("token", std::string_view(made.text)).EndObject();
    call.Json(201, std::move(body));
}

void ListTokens(Call call) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("items").BeginArray();
    for (const auto& [id, token] : call.services().access.tokens()) {
        json.BeginObject();
        WriteFields(json, TokenFields(), token);
        json.EndObject();
    }
    json.EndArray().Key("next_cursor").Null().EndObject();
    call.Json(200, std::move(body));
}

// Without an administrator nobody could let anybody in again. Without any token everybody is let
// in, but only where that is allowed.
Result<void> CheckRevoked(const Services& services, const AccessToken& token) {
    const AccessPolicy& access = services.access;
    if (access.tokens().size() == 1) {
        const AccessConfig& config = services.config.access;
        if (config.loopback_only || config.insecure) return {};
        return Fail(
            ErrorCode::kConflict,
            "this is the only token, and this address is not open to everybody: nobody could "
            "come in again; create another admin token first",
            "id");
    }
    const bool matters = token.role == AccessRole::kAdmin && token.expires_at == Time{};
    if (!matters || HasLastingAdmin(access, token.id)) return {};
    return Fail(ErrorCode::kConflict,
                "this is the last admin token that does not expire; create another one first",
                "id");
}

Flow<> RevokeToken(Call call) {
    const std::string id(call.request().Parameter("id"));
    const AccessToken* token = call.services().access.Find(id);
    if (!token) {
        co_return call.RefuseAnswer({ErrorCode::kNotFound, "there is no token '" + id + "'", "id"});
    }
    if (const auto checked = CheckRevoked(call.services(), *token); !checked) {
        co_return call.RefuseAnswer(checked.error());
    }
    const std::string used = std::string(kTokenSettingPrefix) + id + std::string(kTokenUsedSuffix);
    call.services().node.Tell(SetSetting{.key = Text(used)});
    const auto revoked = co_await Settle(call, id, Text());
    if (!revoked) co_return call.RefuseAnswer(revoked.error());
    call.Send({.status = 204});
}

}  // namespace

std::string TokenSchema() {
    return AnswerSchema(TokenFields());
}

std::string NewTokenSchema() {
    schema::Object object;
    AddFields(object, TokenFields());
    return object
        .Add("token", schema::Described(schema::Text(), "The secret; it is shown this once."))
        .Text();
}

void AddTokenRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.permission = Permission::kAdmin;
        route.where = Where::kLeader;
        route.cluster = true;
        route.tag = "tokens";
        routes.push_back(std::move(route));
    };
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/tokens",
         .handler = Flowing(CreateToken),
         .summary = "Create an access token; its text is shown this once",
         .takes = "TokenRequest",
         .gives = "NewToken",
         .success = 201});
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/tokens",
         .handler = ListTokens,
         .summary = "List access tokens, without their secrets",
         .gives = "TokenList"});
    add({.method = HttpMethod::kDelete,
         .path = "/api/v1/tokens/{id}",
         .handler = Flowing(RevokeToken),
         .summary = "Revoke an access token",
         .success = 204});
}

}  // namespace takt::internal
