// Access tokens: create, list, revoke.
#include <array>

#include "api/api.h"
#include "api/json_read.h"
#include "api/resources.h"
#include "api/services.h"

namespace takt::internal {
namespace {

constexpr std::size_t kTokensMax = 1000;

void WriteToken(JsonWriter& json, const AccessToken& token) {
    json.Field("id", std::string_view(token.id)).Field("name", std::string_view(token.name));
    json.Field("role", Name(token.role)).Field("created_at", token.created_at);
    json.Field("expires_at", token.expires_at).Field("last_used_at", token.last_used_at);
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

void Keep(Call call, const Text& key, Text value, std::move_only_function<void(Call)> then) {
    Node& node = call.services().node;
    node.Ask(
        SetSetting{.key = key, .value = std::move(value)},
        [call = std::move(call), then = std::move(then)](Result<Answer> answer) mutable {
            if (!answer) return call.RefuseAnswer(answer.error());
            // The next request must already be judged by what holds now.
            auto services = call.shared_services();
            services->post([services, call = std::move(call), then = std::move(then)]() mutable {
                LoadAccess(services, [call = std::move(call), then = std::move(then)]() mutable {
                    then(std::move(call));
                });
            });
        });
}

void CreateToken(Call call) {
    auto request = ReadTokenRequest(call);
    if (!request) return call.RefuseRequest(request.error());
    if (call.services().access.tokens().size() >= kTokensMax) {
        return call.RefuseAnswer(
            {ErrorCode::kExhausted, "there are too many tokens; revoke some", ""});
    }
    // Whoever makes the first one shuts the door, and must have the key to it.
    if (call.services().access.tokens().empty() && *request->role != AccessRole::kAdmin) {
        return call.RefuseRequest(BadField("role", "of the first token must be admin").error());
    }
    NewToken made = MakeToken(*request->role, std::move(request->name), ReadClocks().wall,
                              request->expires_at, call.services().random);
    const Text key(std::string(kTokenSettingPrefix) + made.token.id);
    Text value(EncodeToken(made.token));
    Keep(std::move(call), key, std::move(value), [made = std::move(made)](Call call) {
        std::string body;
        JsonWriter json(body);
        json.BeginObject();
        WriteToken(json, made.token);
        json.Field("token", std::string_view(made.text)).EndObject();
        call.Json(201, std::move(body));
    });
}

void ListTokens(Call call) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("items").BeginArray();
    for (const auto& [id, token] : call.services().access.tokens()) {
        json.BeginObject();
        WriteToken(json, token);
        json.EndObject();
    }
    json.EndArray().Key("next_cursor").Null().EndObject();
    call.Json(200, std::move(body));
}

void RevokeToken(Call call) {
    const std::string id(call.request().Parameter("id"));
    const AccessToken* token = call.services().access.Find(id);
    if (!token) {
        return call.RefuseAnswer({ErrorCode::kNotFound, "there is no such token", "id"});
    }
    // Without the last administrator nobody could let anybody in again. One whose token has
    // expired cannot either.
    const Time now = ReadClocks().wall;
    bool other_admin = false;
    for (const auto& [other, known] : call.services().access.tokens()) {
        other_admin |= other != id && known.role == AccessRole::kAdmin && !IsExpired(known, now);
    }
    const bool others = call.services().access.tokens().size() > 1;
    if (token->role == AccessRole::kAdmin && !IsExpired(*token, now) && !other_admin && others) {
        return call.RefuseAnswer(
            {ErrorCode::kConflict, "this is the last admin token; create another one first", "id"});
    }
    const Text key(std::string(kTokenSettingPrefix) + id);
    call.services().node.Tell(SetSetting{.key = Text(key.str() + std::string(kTokenUsedSuffix))});
    Keep(std::move(call), key, Text(), [](Call call) { call.Send({.status = 204}); });
}

}  // namespace

void AddTokenRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.permission = Permission::kAdmin;
        route.where = Where::kLeader;
        route.tag = "tokens";
        routes.push_back(std::move(route));
    };
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/tokens",
         .handler = CreateToken,
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
         .handler = RevokeToken,
         .summary = "Revoke an access token",
         .success = 204});
}

}  // namespace takt::internal
