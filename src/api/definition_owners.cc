// Owners of what was made from files, so that each deletes only its own.
//
// Owners are settings of the namespace, one for each thing and one that is counted up with every
// change. A namespace itself is owned in `default`, where the directory is. A task that is
// deleted is nobody's any more: whoever defines it makes it again, and claims it again.
#include <algorithm>
#include <charconv>
#include <map>

#include "api/answer_table.h"
#include "api/audit.h"
#include "api/call_body.h"
#include "api/call_flow.h"
#include "api/definition_body.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"

namespace takt::internal {
namespace {

// They are written in one batch, which must fit the narrowest store together with what else is in it.
constexpr std::size_t kClaimsMax = 20;
// Somebody else may change owners at the same time; with each try one of them succeeds.
constexpr int kOwnerTries = 10;

constexpr std::string_view kOwnersPrefix = "definitions";  // Of both below.
constexpr std::string_view kOwnerPrefix = "definitions/";
constexpr std::string_view kOwnersVersionKey = "definitions.version";

struct Thing {
    std::string kind;
    std::string name;

    std::string Key() const { return OwnerKey(kind, name); }
};

struct OwnBody {
    std::string owner;
    std::vector<Thing> claim;
    std::vector<Thing> release;
    bool adopt = false;
};

const RequestTable<Thing>& ThingFields() {
    static const RequestTable<Thing> fields = {
        {"kind", "", TakenKind(&Thing::kind).Required()},
        {"name", "The id of a task, the name of anything else.",
         TakenBy<Thing>::Own(
             schema::Id(), "id",
             [](Thing& thing, const JsonView& value, std::string_view name) -> Result<void> {
                 std::string scratch;
                 if (value.is_string()) thing.name = value.AsString(scratch);
                 if (IsValidId(thing.name)) return {};
                 return BadField(name, "is not an id");
             })
             .Required()}};
    return fields;
}

const RequestTable<OwnBody>& OwnFields() {
    static const RequestTable<OwnBody> fields = {
        {"owner", "Whose files define it.",
         TakenBy<OwnBody>::Own(
             schema::Id(), "1 to 64 of A-Z a-z 0-9 . _ ~ -",
             [](OwnBody& body, const JsonView& value, std::string_view name) -> Result<void> {
                 std::string scratch;
                 if (value.is_string()) body.owner = value.AsString(scratch);
                 if (IsValidId(body.owner)) return {};
                 return BadField(name, "must be 1 to 64 of A-Z a-z 0-9 . _ ~ -");
             })
             .Required()},
        {"claim", "These are the owner's from now on.",
         TakenList(&OwnBody::claim, ThingFields, kClaimsMax)},
        {"release", "These are nobody's; those that are another's stay so.",
         TakenList(&OwnBody::release, ThingFields, kClaimsMax)},
        {"adopt", "Claim what another owner has as well.",
         TakenBy<OwnBody>::Truth(&OwnBody::adopt)}};
    return fields;
}

struct Owned {
    Thing thing;
    std::string owner;
    Time since{};
};

const AnswerTable<Owned>& OwnedFields() {
    static const AnswerTable<Owned> fields = {
        {"kind", schema::Text(), "",
         [](JsonWriter& json, const Owned& o) { json.Value(std::string_view(o.thing.kind)); }},
        {"name", schema::Text(), "The id of a task, the name of anything else.",
         [](JsonWriter& json, const Owned& o) { json.Value(std::string_view(o.thing.name)); }},
        {"owner", schema::Text(), "Whose files define it.",
         [](JsonWriter& json, const Owned& o) { json.Value(std::string_view(o.owner)); }},
        {"since", schema::OrNull(schema::Time()), "",
         [](JsonWriter& json, const Owned& o) { json.Value(o.since); }}};
    return fields;
}

struct Owners {
    std::uint64_t version = 0;
    std::map<std::string, Owned> rows;  // By key.
};

// "OWNER 2026-11-16T03:00:00Z" under "definitions/KIND/NAME".
Owners ReadOwners(const std::vector<SettingPut>& settings) {
    Owners owners;
    for (const SettingPut& row : settings) {
        const std::string_view key = row.key.view();
        const std::string_view value = row.value.view();
        if (key == kOwnersVersionKey) {
            std::from_chars(value.data(), value.data() + value.size(), owners.version);
        } else if (key.starts_with(kOwnerPrefix)) {
            const std::string_view rest = key.substr(kOwnerPrefix.size());
            const std::size_t slash = std::min(rest.find('/'), rest.size());
            const std::size_t space = std::min(value.find(' '), value.size());
            Owned owned{.owner = std::string(value.substr(0, space))};
            owned.thing.kind = rest.substr(0, slash);
            owned.thing.name = rest.substr(std::min(slash + 1, rest.size()));
            const auto since = ParseTime(value.substr(std::min(space + 1, value.size())));
            if (since) owned.since = *since;
            owners.rows.emplace(key, std::move(owned));
        }
    }
    return owners;
}

auto AskOwners(const Call& call) {
    return Answered<Result<std::vector<SettingPut>>>(call, [&](auto done) {
        call.services().store.ListSettings(call.services().partition, Text(kOwnersPrefix),
                                           std::move(done));
    });
}

Flow<> ListOwned(Call call) {
    const auto settings = co_await AskOwners(call);
    if (!settings) co_return call.RefuseAnswer(settings.error());
    const auto owner = call.request().Query("owner");
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("items").BeginArray();
    for (const auto& [key, owned] : ReadOwners(*settings).rows) {
        if (owner && owned.owner != *owner) continue;
        json.BeginObject();
        WriteFields(json, OwnedFields(), owned);
        json.EndObject();
    }
    json.EndArray().Key("next_cursor").Null().EndObject();
    call.Json(200, std::move(body));
}

// The rows that have to be written, or why they cannot be.
Result<std::vector<SettingPut>> DecideOwners(const OwnBody& body, const Owners& owners, Time now) {
    std::vector<SettingPut> puts;
    for (const Thing& thing : body.claim) {
        const auto found = owners.rows.find(thing.Key());
        if (found != owners.rows.end() && found->second.owner == body.owner) continue;
        if (found != owners.rows.end() && !body.adopt) {
            return Fail(ErrorCode::kConflict, thing.kind + " '" + thing.name + "' is owned by '" +
                                                  found->second.owner + "'");
        }
        puts.push_back({Text(thing.Key()), Text(body.owner + " " + FormatTime(now))});
    }
    for (const Thing& thing : body.release) {
        const auto found = owners.rows.find(thing.Key());
        if (found == owners.rows.end() || found->second.owner != body.owner) continue;
        puts.push_back({Text(thing.Key()), Text()});
    }
    return puts;
}

SwapSettings OwnersSwap(std::vector<SettingPut> puts, std::uint64_t version) {
    return {.guard = Text(kOwnersVersionKey),
            .expected = version == 0 ? Text() : Text(std::to_string(version)),
            .next = Text(std::to_string(version + 1)),
            .puts = std::move(puts)};
}

void SendOwn(Call& call, std::size_t changed) {
    std::string body;
    JsonWriter(body).BeginObject().Field("changed", changed).EndObject();
    call.Json(200, std::move(body));
}

// An owner's things are deleted when its files no longer have them: so nobody says who owns what they
// could not delete themselves.
std::optional<Problem> WhyNotYours(const Call& call, const OwnBody& body) {
    for (const auto* things : {&body.claim, &body.release}) {
        for (const Thing& thing : *things) {
            const bool everywhere = thing.kind == "namespace";
            if (!everywhere && thing.kind != "alert_rule") continue;
            const std::string_view where =
                everywhere ? kEverySpace : std::string_view(call.services().name);
            if (call.who().May(Permission::kAdmin, where)) continue;
            return Problem{403, "forbidden",
                           "only an admin" + std::string(everywhere ? " of all namespaces" : "") +
                               " says who owns " + thing.kind + " '" + thing.name + "'"};
        }
    }
    return std::nullopt;
}

// For the audit.
AuditDocument DocumentOf(const OwnBody& body) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject();
    for (const auto& [key, things] :
         {std::pair("claim", &body.claim), std::pair("release", &body.release)}) {
        json.Key(key).BeginArray();
        for (const Thing& thing : *things)
            json.Value(std::string_view(thing.kind + "/" + thing.name));
        json.EndArray();
    }
    json.EndObject();
    return JsonDocument(std::move(text));
}

Flow<> OwnDefinitions(Call call) {
    const auto body = ReadBody(call, OwnFields());
    if (!body) co_return call.RefuseRequest(body.error());
    if (const auto problem = WhyNotYours(call, *body)) co_return call.Refuse(*problem);
    for (int tries = 0; tries < kOwnerTries; ++tries) {
        const auto settings = co_await AskOwners(call);
        if (!settings) co_return call.RefuseAnswer(settings.error());
        const Owners owners = ReadOwners(*settings);
        auto puts = DecideOwners(*body, owners, ReadClocks().wall);
        if (!puts) co_return call.RefuseAnswer(puts.error());
        const std::size_t changed = puts->size();
        if (changed == 0) co_return SendOwn(call, 0);
        SwapSettings swap = OwnersSwap(std::move(*puts), owners.version);
        swap.by = ActOf(call, {.target = {"definitions", body->owner}, .after = DocumentOf(*body)});
        const auto answer = co_await Asked(call, std::move(swap));
        if (answer) co_return SendOwn(call, changed);
        if (answer.error().code != ErrorCode::kConflict) {
            co_return call.RefuseAnswer(answer.error());
        }
    }
    call.RefuseAnswer({ErrorCode::kUnavailable, "owners are being changed; try again", ""});
}

}  // namespace

std::string OwnerKey(std::string_view kind, std::string_view name) {
    return std::string(kOwnerPrefix) + std::string(kind) + "/" + std::string(name);
}

void AddOwnerSchemas(SchemaList& to) {
    to.emplace_back("Owned", AnswerSchema(OwnedFields()));
    to.emplace_back("OwnedList", schema::PageOf("Owned"));
    to.emplace_back("Own", RequestSchema(OwnFields()));
    to.emplace_back("OwnAnswer", schema::Object().Add("changed", schema::Integer(0)).Text());
}

void AddOwnerRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.tag = "definitions";
        routes.push_back(std::move(route));
    };
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/definitions/owned",
         .permission = Permission::kViewer,
         .handler = Flowing(ListOwned),
         .summary = "List what was made from files, and whose they are",
         .query = {{"owner", "Only those of this owner."}},
         .gives = "OwnedList"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/definitions/owned",
         .permission = Permission::kOperator,
         .where = Where::kLeader,
         .handler = Flowing(OwnDefinitions),
         .summary = "Claim and release what files define; 409 if another owner has it",
         .takes = "Own",
         .gives = "OwnAnswer"});
}

}  // namespace takt::internal
