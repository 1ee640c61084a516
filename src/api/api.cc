#include "api/api.h"

#include <utility>

#include "api/exchange.h"
#include "api/execution_reads.h"

namespace takt::internal {

Api::Api(std::shared_ptr<Gate> gate)
    : gate_(std::move(gate)), bulk_held_(std::make_shared<BulkHeld>()) {}

Api::~Api() {
    // Each of them holds the gate.
    gate_->home_realm.reset();
    gate_->realms.clear();
    gate_->passings.Clear();
}

std::shared_ptr<Api> Api::Make(ApiParts parts) {
    std::vector<Route> routes = ApiRoutes();
    for (Route& route : parts.more_routes) routes.push_back(std::move(route));
    if (!parts.config.prometheus) {
        std::erase_if(routes, [](const Route& route) { return route.path == "/metrics"; });
    }
    for (Route& route : routes) {
        // Routes that take lines take many tasks.
        route.body_bytes_max =
            route.takes_lines ? parts.config.bulk_bytes_max : parts.config.body_bytes_max;
    }
    auto gate = std::shared_ptr<Gate>(new Gate{
        .config = parts.config,
        .home = Home(parts.runtime),
        .post = [&runtime = parts.runtime](auto action) { runtime.Post(std::move(action)); },
        .after = std::move(parts.after),
        .forward = std::move(parts.forward),
        .stream = std::move(parts.stream),
        .pages = std::move(parts.pages),
        .family = parts.family ? std::move(parts.family) : std::make_shared<AccessFamily>(),
        .store = parts.store,
        .access = AccessPolicy(parts.config.access),
        .access_awaited = {},
        .sessions = {},
        .passings = {},
        .random = Random(NewRandomSeed()),
        .routes = RouteTable(std::move(routes)),
        .descriptions = {},
        .realms = {},
        .home_realm = {},
        .refresh_realms = std::move(parts.refresh_realms),
        .signin = std::move(parts.signin),
    });
    gate->descriptions = DescribeApi(gate->routes, gate->config.version);
    gate->home_realm = std::make_shared<Services>(gate, std::move(parts.realm));
    gate->realms.emplace(gate->home_realm->name, gate->home_realm);
    {
        const std::scoped_lock lock(gate->family->mutex);
        gate->family->members.push_back(gate);
    }
    return std::shared_ptr<Api>(new Api(std::move(gate)));
}

void Api::AddRealm(RealmParts parts) {
    auto services = std::make_shared<Services>(gate_, std::move(parts));
    gate_->realms.insert_or_assign(services->name, services);
}

void Api::RemoveRealm(const std::string& name) {
    gate_->realms.erase(name);
}

namespace {

void TakeAccess(Gate& gate, std::uint64_t load, Result<std::vector<SettingPut>> settings) {
    const Instant now = ReadClocks();
    gate.access.EndLoad(load, std::move(settings), now.steady);
    gate.sessions.EndRefused(
        [&](const std::string& token) { return gate.access.WhyRefused(token, now.wall); });
}

// Before whoever asked for it goes on: what its answer brings about finds them told.
void TellFamily(const Gate& gate, std::uint64_t load,
                const Result<std::vector<SettingPut>>& settings) {
    if (!settings) return;
    const std::scoped_lock lock(gate.family->mutex);
    for (const auto& member : gate.family->members) {
        const auto other = member.lock();
        if (!other || other.get() == &gate) continue;
        other->home.Post([other, load, settings] { TakeAccess(*other, load, settings); });
    }
}

std::uint64_t NextLoad(AccessFamily& family) {
    const std::scoped_lock lock(family.mutex);
    return ++family.loads;
}

}  // namespace

void LoadAccess(const std::shared_ptr<Gate>& gate, std::move_only_function<void()> done) {
    const std::uint64_t load = gate->access.BeginLoad(NextLoad(*gate->family));
    gate->store.ListSettings(
        kDefaultPartition, Text(kTokenSettingPrefix),
        gate->home.Here([gate, load, done = std::move(done)](auto settings) mutable {
            TellFamily(*gate, load, settings);
            TakeAccess(*gate, load, std::move(settings));
            done();
            for (auto& waiting : std::exchange(gate->access_awaited, {})) waiting();
        }));
}

void AwaitAccess(const std::shared_ptr<Gate>& gate, std::move_only_function<void()> done) {
    if (!gate->access.loading()) return LoadAccess(gate, std::move(done));
    gate->access_awaited.push_back(std::move(done));
}

std::unique_ptr<HttpExchange> Api::OnHead(const HttpRequest& request, HttpHeadVerdict& verdict) {
    auto exchange = std::make_unique<ApiExchange>(gate_, request);
    exchange->JudgeHead(request, bulk_held_, verdict);
    return exchange;
}

void Api::Handle(HttpRequest request, HttpReply reply) {
    ApiExchange(gate_, request).OnEnd(std::move(request), std::move(reply));
}

}  // namespace takt::internal
