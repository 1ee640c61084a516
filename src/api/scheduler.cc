// The scheduler itself: status, strategy, health, version.
#include <map>
#include <memory>

#include "api/audit.h"
#include "api/call_body.h"
#include "api/call_flow.h"
#include "api/readiness.h"
#include "api/request_kinds.h"
#include "api/resources.h"
#include "api/retry_policy_json.h"
#include "api/schemas.h"
#include "store/store_room.h"

namespace takt::internal {
namespace {

void WriteLeader(JsonWriter& json, const std::optional<LeaderRow>& leader) {
    json.Key("leader");
    if (!leader) {
        json.Null();
        return;
    }
    json.BeginObject().Field("node_id", leader->node.view());
    json.Field("address", leader->address.view()).Field("epoch", leader->epoch).EndObject();
}

// The namespaces that each node leads, as far as this one knows and the caller may know.
using Leads = std::multimap<std::string, std::string>;

Leads LeadsOf(const Call& call) {
    Leads leads;
    for (const auto& [name, realm] : call.services().gate->realms) {
        if (!call.who().May(Permission::kViewer, name)) continue;
        const NodeStatus status = realm->node.status();
        if (status.leader) leads.emplace(status.leader->node.text().str(), name);
    }
    return leads;
}

void WriteNodes(JsonWriter& json, const std::vector<NodeRow>& nodes, const Leads& leads) {
    json.Key("nodes").BeginArray();
    for (const NodeRow& row : nodes) {
        json.BeginObject().Field("node_id", row.node.view());
        json.Field("address", row.address.view()).Field("version", row.version.view());
        json.Field("started_at", row.started_at).Key("leads").BeginArray();
        const auto [from, to] = leads.equal_range(row.node.text().str());
        for (auto lead = from; lead != to; ++lead) json.Value(std::string_view(lead->second));
        json.EndArray().EndObject();
    }
    json.EndArray();
}

void WriteRoom(JsonWriter& json, const std::optional<StoreRoom>& room) {
    if (!room) {
        json.Null();
        return;
    }
    json.BeginObject().Field("bytes", room->bytes).Key("bytes_max");
    room->bytes_max > 0 ? json.Value(room->bytes_max) : json.Null();
    json.Field("bound", std::string_view(room->bound)).EndObject();
}

// The part of the answer that the store and the engine have a say in.
struct StatusParts {
    Leads leads;
    Result<std::vector<NodeRow>> nodes;
    std::optional<Duration> retention;  // Of this namespace, as its leader knows it.
    SpaceNames spaces = {};             // As SpacesIfLeaderless.
};

void SendStatus(Call call, const StatusParts& parts) {
    Services& services = call.services();
    const NodeStatus status = services.node.status();
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    json.Field("node_id", status.node.view()).Field("role", Name(status.role));
    json.Field("is_leader", status.role == Role::kLeader);
    WriteLeader(json, status.leader);
    const std::string none_may =
        status.leader ? "" : WhyNoneMay(services, parts.nodes, parts.spaces);
    json.Key("why_no_leader");
    none_may.empty() ? json.Null() : json.Value(std::string_view(none_may));
    // The term of whoever leads, so that it reads the same on every node.
    const std::uint64_t epoch = status.epoch != 0 ? status.epoch
                                : status.leader   ? status.leader->epoch
                                                  : 0;
    json.Field("epoch", epoch).Field("elections", status.elections);
    json.Field("version", std::string_view(services.config.version));
    json.Field("started_at", status.started_at);
    const Time now = ReadClocks().wall;
    json.Field("now", now);
    const Duration uptime = now - status.started_at;
    json.Field("uptime_seconds", uptime.count() / 1000);
    json.Key("retention");
    parts.retention ? json.Value(std::string_view(FormatDuration(*parts.retention))) : json.Null();
    json.Key("store").BeginObject();
    json.Field("description", std::string_view(services.store.Describe()));
    json.Field("reachable", parts.nodes.has_value());
    // A full store has consequences that are said too, and would hide it.
    const std::string full = services.store.WhyFull();
    const std::string& other = parts.nodes ? status.trouble : parts.nodes.error().detail;
    const std::string& first = !full.empty() ? full : !other.empty() ? other : status.lost;
    json.Field("trouble", std::string_view(first));
    json.Field("commits", status.commits).Field("changes", status.changes);
    WriteRoom(json.Key("room"), RoomOf(services.store));
    json.EndObject();
    if (parts.nodes) WriteNodes(json, *parts.nodes, parts.leads);
    json.EndObject();
    call.Json(200, std::move(body));
}

void GetStatus(Call call) {
    Store& store = call.services().store;
    Leads leads = LeadsOf(call);
    SpaceNames spaces = SpacesIfLeaderless(call.services());
    store.Nodes([call = std::move(call), leads = std::move(leads),
                 spaces = std::move(spaces)](Result<std::vector<NodeRow>> nodes) mutable {
        Node& node = call.services().node;
        // A follower answers without waiting for anything else.
        if (node.status().role != Role::kLeader) {
            return SendStatus(std::move(call), {std::move(leads), std::move(nodes), std::nullopt,
                                                std::move(spaces)});
        }
        node.Look([call = std::move(call), leads = std::move(leads),
                   nodes = std::move(nodes)](const Engine* engine) mutable {
            StatusParts parts{std::move(leads), std::move(nodes), std::nullopt};
            if (engine) parts.retention = engine->config().retention;
            SendStatus(std::move(call), parts);
        });
    });
}

// --- Strategy -----------------------------------------------------------------------------------

std::vector<std::string> Available(const Call& call) {
    std::vector<std::string> names;
    for (int i = 0; i < static_cast<int>(Strategy::kCustom); ++i) {
        names.emplace_back(Name(static_cast<Strategy>(i)));
    }
    for (const std::string& own : call.services().config.task_limits.own_strategies) {
        names.push_back(StrategyText(Strategy::kCustom, own));
    }
    return names;
}

void ShowStrategy(Call call, const Engine& engine) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field(
        "strategy", std::string_view(StrategyText(engine.strategy(), engine.strategy_name())));
    json.Key("available").BeginArray();
    for (const std::string& name : Available(call)) json.Value(std::string_view(name));
    json.EndArray().EndObject();
    call.Json(200, std::move(body));
}

void SendStrategy(Call call) {
    WithEngine(std::move(call), ShowStrategy);
}

// As this namespace has them: its settings, else the configuration.
void SendDefaults(Call call) {
    WithEngine(std::move(call), [](Call call, const Engine& engine) {
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Field("timeout",
                                 std::string_view(FormatDuration(engine.config().timeout)));
        WriteRetryPolicy(json.Key("retry_policy"), engine.config().retry);
        json.Field("strategy",
                   std::string_view(StrategyText(engine.strategy(), engine.strategy_name())));
        json.EndObject();
        call.Json(200, std::move(body));
    });
}

void AskStrategy(Call call, SetStrategy set) {
    Node& node = call.services().node;
    set.by = ActOf(call);
    node.Ask(std::move(set), [call = std::move(call)](Result<Answer> answer) mutable {
        if (!answer) return call.RefuseAnswer(answer.error());
        WithEngine(std::move(call), ShowStrategy, DoneButNotShown());
    });
}

// Whether there is a strategy of that own name, the engine knows.
std::optional<SetStrategy> StrategyNamed(std::string_view name) {
    if (name.starts_with(kOwnStrategyPrefix) && name.size() > kOwnStrategyPrefix.size()) {
        return SetStrategy{.strategy = Strategy::kCustom,
                           .name = Text(name.substr(kOwnStrategyPrefix.size()))};
    }
    const auto strategy = ParseStrategy(name);
    if (!strategy || *strategy == Strategy::kCustom) return std::nullopt;
    return SetStrategy{.strategy = strategy};
}

struct StrategyBody {
    std::vector<std::string> available;  // The names that a refusal lists.
    SetStrategy set = {};
};

Result<void> ReadStrategyName(StrategyBody& body, const JsonView& value, std::string_view name) {
    std::string scratch;
    auto set = value.is_string() ? StrategyNamed(value.AsString(scratch)) : std::nullopt;
    if (set) {
        body.set = std::move(*set);
        return {};
    }
    std::string names;
    for (const std::string& known : body.available) names += known + ", ";
    return BadField(name, "must be one of " + names + "or null for the configured one");
}

const RequestTable<StrategyBody>& StrategyFields() {
    static const RequestTable<StrategyBody> fields = {
        {"strategy", "null: the configured one.",
         TakenBy<StrategyBody>::Own(schema::Text(), "name of a strategy", ReadStrategyName)
             .Clears([](StrategyBody& body) { body.set = {}; })
             .Required()}};
    return fields;
}

void SetOne(Call call) {
    auto body = ReadBody(call, StrategyFields(), {.available = Available(call)});
    if (!body) return call.RefuseRequest(body.error());
    AskStrategy(std::move(call), std::move(body->set));
}

// Forgets what the balancer has learned; the strategy stays.
void ResetStrategy(Call call) {
    AskStrategy(std::move(call), {.reset = true});
}

// --- Health -------------------------------------------------------------------------------------

void Healthz(Call call) {
    call.Json(200, R"({"status":"ok"})");
}

void Version(Call call) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("name", "takt");
    json.Field("version", std::string_view(call.services().config.version)).EndObject();
    call.Json(200, std::move(body));
}

}  // namespace

void AddStrategySchemas(SchemaList& to) {
    to.emplace_back("StrategyChoice", RequestSchema(StrategyFields()));
}

void AddSchedulerRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/scheduler/status",
                      .permission = Permission::kViewer,
                      .handler = GetStatus,
                      .tag = "scheduler",
                      .summary = "This node, who leads, and the nodes there are",
                      .gives = "SchedulerStatus",
                      .cluster = true});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/scheduler/defaults",
                      .permission = Permission::kViewer,
                      .where = Where::kLeader,
                      .handler = SendDefaults,
                      .tag = "scheduler",
                      .summary = "What counts for tasks that say nothing of it",
                      .gives = "Defaults"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/scheduler/strategy",
                      .permission = Permission::kViewer,
                      .where = Where::kLeader,
                      .handler = SendStrategy,
                      .tag = "scheduler",
                      .summary = "How workers are chosen for tasks that name no strategy",
                      .gives = "Strategy"});
    routes.push_back(
        {.method = HttpMethod::kPut,
         .path = "/api/v1/scheduler/strategy",
         .permission = Permission::kOperator,
         .where = Where::kLeader,
         .handler = SetOne,
         .tag = "scheduler",
         .summary = "Change that; remembered by the next leader. null: as configured again",
         .takes = "StrategyChoice",
         .gives = "Strategy"});
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/scheduler/strategy/reset",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = ResetStrategy,
                      .tag = "scheduler",
                      .summary = "Forget what the strategy has learned",
                      .gives = "Strategy"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/healthz",
                      .permission = Permission::kNone,
                      .handler = Healthz,
                      .tag = "health",
                      .summary = "The process is alive",
                      .gives = "Health"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/readyz",
                      .permission = Permission::kNone,
                      .handler = Readyz,
                      .tag = "health",
                      .summary = "The store can be used and a scheduler leads",
                      .gives = "Health"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/version",
                      .permission = Permission::kNone,
                      .handler = Version,
                      .tag = "health",
                      .summary = "Name and version",
                      .gives = "Version"});
}

}  // namespace takt::internal
