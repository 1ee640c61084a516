#include "api/api.h"

#include <utility>

#include "api/exchange.h"
#include "api/execution_reads.h"

namespace takt::internal {

Api::Api(std::shared_ptr<Services> services)
    : services_(std::move(services)), bulk_held_(std::make_shared<BulkHeld>()) {}

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
    auto services = std::shared_ptr<Services>(new Services{
        .node = parts.node,
        .store = parts.store,
        .events = parts.events,
        .meters = parts.meters,
        .statistics = parts.statistics,
        .alerts = parts.alerts,
        .config = parts.config,
        .home = Home(parts.runtime),
        .post = [&runtime = parts.runtime](auto action) { runtime.Post(std::move(action)); },
        .after = std::move(parts.after),
        .forward = std::move(parts.forward),
        .stream = std::move(parts.stream),
        .pages = std::move(parts.pages),
        .knows_attempt = std::move(parts.knows_attempt),
        .family = parts.family ? std::move(parts.family) : std::make_shared<AccessFamily>(),
        .access = AccessPolicy(parts.config.access),
        .access_awaited = {},
        .sessions = {},
        .texts = {},
        .random = Random(NewRandomSeed()),
        .routes = RouteTable(std::move(routes)),
        .descriptions = {},
        .reads = std::make_shared<ExecutionReads>(),
    });
    services->descriptions = DescribeApi(services->routes, services->config.version);
    {
        const std::scoped_lock lock(services->family->mutex);
        services->family->members.push_back(services);
    }
    return std::shared_ptr<Api>(new Api(std::move(services)));
}

namespace {

void TakeAccess(Services& services, std::uint64_t load, Result<std::vector<SettingPut>> settings) {
    const Instant now = ReadClocks();
    services.access.EndLoad(load, std::move(settings), now.steady);
    services.sessions.EndUnless(
        [&](const std::string& token) { return services.access.Holds(token, now.wall); });
}

// Before whoever asked for it goes on: what its answer brings about finds them told.
void TellFamily(const Services& services, std::uint64_t load,
                const Result<std::vector<SettingPut>>& settings) {
    if (!settings) return;
    const std::scoped_lock lock(services.family->mutex);
    for (const auto& member : services.family->members) {
        const auto other = member.lock();
        if (!other || other.get() == &services) continue;
        other->home.Post([other, load, settings] { TakeAccess(*other, load, settings); });
    }
}

std::uint64_t NextLoad(AccessFamily& family) {
    const std::scoped_lock lock(family.mutex);
    return ++family.loads;
}

}  // namespace

void LoadAccess(const std::shared_ptr<Services>& services, std::move_only_function<void()> done) {
    const std::uint64_t load = services->access.BeginLoad(NextLoad(*services->family));
    services->store.ListSettings(
        Text(kTokenSettingPrefix),
        services->home.Here([services, load, done = std::move(done)](auto settings) mutable {
            TellFamily(*services, load, settings);
            TakeAccess(*services, load, std::move(settings));
            done();
            for (auto& waiting : std::exchange(services->access_awaited, {})) waiting();
        }));
}

void AwaitAccess(const std::shared_ptr<Services>& services, std::move_only_function<void()> done) {
    if (!services->access.loading()) return LoadAccess(services, std::move(done));
    services->access_awaited.push_back(std::move(done));
}

std::unique_ptr<HttpExchange> Api::OnHead(const HttpRequest& request, HttpHeadVerdict& verdict) {
    auto exchange = std::make_unique<ApiExchange>(services_, request);
    exchange->JudgeHead(request, bulk_held_, verdict);
    return exchange;
}

void Api::Handle(HttpRequest request, HttpReply reply) {
    ApiExchange(services_, request).OnEnd(std::move(request), std::move(reply));
}

}  // namespace takt::internal
