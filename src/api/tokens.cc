// Access tokens: create, list, revoke.
#include <fmt/ranges.h>

#include <algorithm>

#include "api/api.h"
#include "api/audit.h"
#include "api/call_body.h"
#include "api/call_flow.h"
#include "api/field_view.h"
#include "api/request_kinds.h"
#include "api/resource_pages.h"
#include "api/resource_table.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"
#include "api/token_request.h"

namespace takt::internal {
namespace {

constexpr std::size_t kTokensMax = 1000;
constexpr std::size_t kTokenNameBytesMax = 100;
constexpr std::size_t kBoundBytesMax = 200;  // Of a type, the longest of what a token is bound to.
constexpr std::size_t kBoundsMax = 100;

using BoundList = std::vector<std::string> TokenBounds::*;

// Ids and queues are spelled as ids; of services and types nothing more is known than their length.
Result<void> CheckBound(const std::vector<std::string>& list, std::string_view name, bool ids) {
    // A caller that worked out a list and found nothing does not mean all.
    if (list.empty()) {
        return BadField(name,
                        "is an empty list, which binds nothing; name what it is bound to, or "
                        "leave it out");
    }
    for (const std::string& one : list) {
        if (!ids || IsValidId(one)) continue;
        return BadField(name, "has '" + one +
                                  "', which nothing can be called: 1 to 64 characters of A-Z a-z "
                                  "0-9 . _ ~ - that start with a letter or digit");
    }
    return {};
}

template <BoundList list>
Taken<TokenRequest> TakenBound(bool ids) {
    auto taken = TakenBy<TokenRequest>::Texts(
        [](TokenRequest& r) -> auto& { return r.bounds.*list; }, kBoundBytesMax, kBoundsMax);
    taken.schema =
        schema::ListOf(ids ? schema::Id() : schema::TextTo(kBoundBytesMax), kBoundsMax, 1);
    taken.words = "1 to " + std::to_string(kBoundsMax) + (ids ? " ids" : " texts");
    taken.read = [ids, read = std::move(taken.read)](TokenRequest& request, const JsonView& value,
                                                     std::string_view name) {
        auto done = read(request, value, name);
        return done ? CheckBound(request.bounds.*list, name, ids) : done;
    };
    return taken;
}

template <BoundList list>
ResourceField<TokenRequest, AccessToken> BoundField(std::string_view name, std::string_view about,
                                                    bool ids) {
    return {name,
            about,
            TakenBound<list>(ids),
            {schema::ListOf(schema::Text()), [](JsonWriter& json, const AccessToken& t) {
                 json.BeginArray();
                 for (const std::string& one : t.bounds.*list) json.Value(std::string_view(one));
                 json.EndArray();
             }}};
}

const ResourceTable<TokenRequest, AccessToken>& TokenTable() {
    using Token = AccessToken;
    using Take = TakenBy<TokenRequest>;
    static const std::vector<std::string_view> roles = {"viewer", "operator", "admin", "worker",
                                                        "executor"};
    static const ResourceTable<TokenRequest, Token> table({
        {"id",
         "Names it where it is revoked.",
         {},
         {schema::Text(),
          [](JsonWriter& json, const Token& t) { json.Value(std::string_view(t.id)); }}},
        {"name",
         "What people call it.",
         Take::Text(&TokenRequest::name, kTokenNameBytesMax).Required(),
         {schema::Text(),
          [](JsonWriter& json, const Token& t) { json.Value(std::string_view(t.name)); }}},
        {"role",
         "What it may do.",
         Take::Choice(&TokenRequest::role, ParseAccessRole, roles).Required(),
         {schema::OneOf(roles),
          [](JsonWriter& json, const Token& t) { json.Value(Name(t.role)); }}},
        {"namespace",
         "The one it is for, or `*` for all; unless given, that of the token that makes it.",
         Take::Text(&TokenRequest::space, kTokenNameBytesMax),
         {schema::Text(),
          [](JsonWriter& json, const Token& t) { json.Value(std::string_view(t.space)); }}},
        BoundField<&TokenBounds::worker_ids>(
            "worker_ids", "A worker's or executor's: the ids that may attach with it.", true),
        BoundField<&TokenBounds::queues>("queues", "A worker's: the queues that it may serve.",
                                         true),
        BoundField<&TokenBounds::types>("types", "A worker's: the types that it may serve.", false),
        BoundField<&TokenBounds::services>(
            "services", "An executor's: the names that it may register under.", false),
        {"expires_in", "How long it is good for; for ever unless given.",
         Take::Duration(&TokenRequest::expires_in, Duration(1'000))},
        {"created_at",
         "",
         {},
         {schema::OrNull(schema::Time()),
          [](JsonWriter& json, const Token& t) { json.Value(t.created_at); }}},
        {"expires_at",
         "null: never.",
         {},
         {schema::OrNull(schema::Time()),
          [](JsonWriter& json, const Token& t) { json.Value(t.expires_at); }}},
        {"last_used_at",
         "Told once an hour; null: not yet.",
         {},
         {schema::OrNull(schema::Time()),
          [](JsonWriter& json, const Token& t) { json.Value(t.last_used_at); }}},
    });
    return table;
}

// A token as everybody may see it who may see tokens: without what it could be known by.
std::string TokenJson(const AccessToken& token, std::string_view secret = {}) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    WriteFields(json, TokenTable().answer(), token);
    if (!secret.empty()) json.Field("token", secret);
    json.EndObject();
    return body;
}

// Writes a token down, or takes it away, and waits until requests are judged by it.
Flow<Result<void>> StoreToken(const Call& call, std::string id, Text value, ActPtr by) {
    const Text key(std::string(kTokenSettingPrefix) + id);
    const auto answer = co_await Asked(
        call, SetSetting{.key = key, .value = std::move(value), .by = std::move(by)});
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
               token.space == kEverySpace && token.expires_at == Time{};
    });
}

// The first token shuts the door, and so must be a key to it that lasts. Where people sign in it is
// shut already, and they have keys.
Result<void> CheckNewToken(const Services& services, const TokenRequest& request) {
    const AccessPolicy& access = services.access;
    if (access.tokens().size() >= kTokensMax) {
        return Fail(ErrorCode::kExhausted, "there are too many tokens; revoke some");
    }
    if (services.config.access.sessions) return {};
    if (access.tokens().empty() && request.role != AccessRole::kAdmin) {
        return BadField("role", "of the first token must be admin");
    }
    if (access.tokens().empty() && request.space != kEverySpace) {
        return BadField("namespace", "of the first token must be *");
    }
    if (request.role == AccessRole::kAdmin && request.space == kEverySpace &&
        request.expires_in > Duration(0) && !HasLastingAdmin(access, {})) {
        return BadField("expires_in",
                        "would lock everybody out when the only administrator expires; make an "
                        "admin token without it first");
    }
    return {};
}

// The namespaces whose tokens a caller manages; `*` alone for all of them.
std::vector<std::string> SpacesManagedBy(const Principal& who) {
    if (who.May(Permission::kAdmin, kEverySpace)) return {std::string(kEverySpace)};
    std::vector<std::string> spaces = {who.space};
    for (const Grant& grant : who.grants) {
        const bool known = std::ranges::find(spaces, grant.space) != spaces.end();
        if (!known && Allows(grant.role, Permission::kAdmin)) spaces.push_back(grant.space);
    }
    return spaces;
}

std::unexpected<Error> NotOfItsRole(std::string_view field, AccessRole whose, AccessRole role) {
    return BadField(field, fmt::format("binds a token of the role {}, and this one has the role {}",
                                       Name(whose), Name(role)));
}

// Only workers and executors have ids; only workers have queues and types, only executors services.
// A bound that binds nothing would be believed to.
Result<TokenRequest> Checked(TokenRequest request) {
    const TokenBounds& bounds = request.bounds;
    const bool worker = request.role == AccessRole::kWorker;
    const bool executor = request.role == AccessRole::kExecutor;
    if (!bounds.none() && !worker && !executor) {
        return BadField("role",
                        "must be worker or executor to be bound to ids, queues, types or "
                        "services");
    }
    const auto refused = [&](std::string_view field, AccessRole whose) {
        return NotOfItsRole(field, whose, request.role);
    };
    if (!worker && !bounds.queues.empty()) return refused("queues", AccessRole::kWorker);
    if (!worker && !bounds.types.empty()) return refused("types", AccessRole::kWorker);
    if (!executor && !bounds.services.empty()) return refused("services", AccessRole::kExecutor);
    return request;
}

Flow<> CreateToken(Call call) {
    auto request = ReadBody(call, TokenTable().request());
    if (request) request = Checked(std::move(*request));
    if (!request) co_return call.RefuseRequest(request.error());
    const Principal& who = call.who();
    if (request->space.empty()) {
        const std::vector<std::string> spaces = SpacesManagedBy(who);
        if (spaces.size() > 1) {
            co_return call.RefuseRequest(
                BadField("namespace", fmt::format("must say which: {} is an admin of {}", who.name,
                                                  fmt::join(spaces, ", ")))
                    .error());
        }
        request->space = spaces.front();
    }
    if (!who.May(Permission::kAdmin, request->space)) {
        co_return call.Refuse(
            {403, "forbidden",
             fmt::format("{} is an admin of {} only, and makes no tokens for {}", who.name,
                         fmt::join(SpacesManagedBy(who), ", "), request->space)});
    }
    if (request->space != kEverySpace && !call.services().gate->realms.contains(request->space)) {
        co_return call.RefuseRequest(
            BadField("namespace", "names none that there is: '" + request->space + "'").error());
    }
    if (const auto checked = CheckNewToken(call.services(), *request); !checked) {
        co_return call.RefuseAnswer(checked.error());
    }
    NewToken made = MakeRequested(std::move(*request), ReadClocks().wall, call.services().random);
    if (made.token.space != kEverySpace) {
        made.token.space_id = call.services().gate->realms.at(made.token.space)->mark.id;
    }
    const auto kept = co_await StoreToken(
        call, made.token.id, Text(EncodeToken(made.token)),
        ActOf(call,
              {.target = {"token", made.token.id}, .after = JsonDocument(TokenJson(made.token))}));
    if (!kept) co_return call.RefuseAnswer(kept.error());
    call.Json(201, TokenJson(made.token, made.text));
}

// An administrator of one namespace manages the tokens of that one.
bool MayManage(const Call& call, const AccessToken& token) {
    return call.who().May(Permission::kAdmin, token.space);
}

void ListTokens(Call call) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("items").BeginArray();
    for (const auto& [id, token] : call.services().access.tokens()) {
        if (!MayManage(call, token)) continue;
        json.Raw(TokenJson(token));
    }
    json.EndArray().Key("next_cursor").Null().EndObject();
    call.Json(200, std::move(body));
}

// Without an administrator nobody could let anybody in again. Without any token everybody is let
// in, but only where that is allowed. Where people sign in they have keys of their own.
Result<void> CheckRevoked(const Services& services, const AccessToken& token) {
    if (services.config.access.sessions) return {};
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
    const bool matters = token.role == AccessRole::kAdmin && token.space == kEverySpace &&
                         token.expires_at == Time{};
    if (!matters || HasLastingAdmin(access, token.id)) return {};
    return Fail(ErrorCode::kConflict,
                "this is the last admin token that does not expire; create another one first",
                "id");
}

Flow<> RevokeToken(Call call) {
    const std::string id(call.request().Parameter("id"));
    // Tokens that are listed: the worker in this process has one that nobody can revoke.
    const auto& tokens = call.services().access.tokens();
    const auto found = tokens.find(id);
    if (found == tokens.end() || !MayManage(call, found->second)) {
        co_return call.RefuseAnswer({ErrorCode::kNotFound, "there is no token '" + id + "'", "id"});
    }
    const AccessToken& token = found->second;
    if (const auto checked = CheckRevoked(call.services(), token); !checked) {
        co_return call.RefuseAnswer(checked.error());
    }
    ActPtr by = ActOf(call, {.target = {"token", id}, .before = JsonDocument(TokenJson(token))});
    const std::string used = std::string(kTokenSettingPrefix) + id + std::string(kTokenUsedSuffix);
    // The last one leaves word: that none is there then is meant so. See AccessPolicy.
    const bool last = tokens.size() == 1;
    call.services().node.Tell(
        SetSetting{.key = Text(used), .value = last ? Text(kLastTokenRevoked) : Text()});
    const auto revoked = co_await StoreToken(call, id, Text(), std::move(by));
    if (!revoked) co_return call.RefuseAnswer(revoked.error());
    call.Send({.status = 204});
}

}  // namespace

std::vector<FieldView> TokenRequestFields() {
    return ViewsOf(TokenTable().request());
}

Result<TokenRequest> ReadTokenRequest(const JsonView& object) {
    auto request = ReadRequest(TokenTable().request(), object);
    return request ? Checked(std::move(*request)) : request;
}

NewToken MakeRequested(TokenRequest request, Time now, Random& random) {
    const Time expires_at = request.expires_in > Duration(0) ? now + request.expires_in : Time{};
    NewToken made = MakeToken(request.role, std::move(request.name), now, expires_at, random);
    if (!request.space.empty()) made.token.space = std::move(request.space);
    made.token.bounds = std::move(request.bounds);
    return made;
}

void AddTokenSchemas(SchemaList& to) {
    to.emplace_back("TokenRequest", RequestSchema(TokenTable().request()));
    to.emplace_back("Token", AnswerSchema(TokenTable().answer()));
    schema::Object made;
    AddFields(made, TokenTable().answer());
    made.Add("token", schema::Described(schema::Text(), "The secret; it is shown this once."));
    to.emplace_back("NewToken", made.Text());
    to.emplace_back("TokenList", schema::PageOf("Token"));
}

std::string TokenPage() {
    return TokenTable().page();
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
