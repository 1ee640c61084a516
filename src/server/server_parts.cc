#include "server/server_parts.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

#include "api/access.h"
#include "api/executor_routes.h"
#include "api/problem.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/random.h"
#include "console/console.h"
#include "model/namespace.h"
#include "server/advertise.h"
#include "server/descriptors.h"
#include "server/sign_in.h"
#include "store/lead.h"
#include "store/open.h"
#include "store/unfinished_copy.h"
#include "store/wait.h"
#include "takt/version.h"

namespace takt::internal {
namespace {

// A store that does not answer must not keep the port from saying so.
constexpr Duration kStorePatience{2'000};

// For tests of hand-overs, which else take minutes.
constexpr ShareTimes kQuickShares{.hand_over_every = Duration(1'000),
                                  .announced_for = Duration(2'000),
                                  .kept_for = Duration(3'000)};

void LogAccess(const HttpAccess& access) {
    Log(LogLevel::kDebug, "access", Name(access.method),
        {{"target", access.target},
         {"status", access.status},
         {"bytes", access.body_bytes},
         {"took", access.took},
         {"from", access.remote_address},
         {"request_id", access.request_id}});
}

std::vector<std::string> OwnStrategies(const EngineConfig& config) {
    std::vector<std::string> names;
    for (const auto& [name, make] : config.balancers) names.push_back(name);
    return names;
}

Result<bool> HasTokens(Store& store) {
    const auto settings = AskStoreFor<std::vector<SettingPut>>(kStorePatience, [&](auto done) {
        store.ListSettings(kDefaultPartition, "token/", std::move(done));
    });
    if (!settings) return std::unexpected(settings.error());
    return !settings->empty();
}

Result<void> CheckWhole(Store& store) {
    const auto marks = AskStoreFor<std::vector<SettingPut>>(kStorePatience, [&](auto done) {
        store.ListSettings(kDefaultPartition, Text(kUnfinishedCopyKey), std::move(done));
    });
    if (!marks) return std::unexpected(marks.error());
    if (!marks->empty()) return std::unexpected(UnfinishedCopy(store.Describe()));
    // The command may have ended between the beginning of its term and its mark.
    const auto rows = AskStoreFor<std::vector<LeaderRow>>(
        kStorePatience, [&](auto done) { store.Leaders(std::move(done)); });
    if (!rows) return std::unexpected(rows.error());
    const auto last = RowOf(*rows, kDefaultPartition);
    if (!last || last->nonce == 0 || !last->node.view().starts_with(kFillingNode)) return {};
    const auto page = AskStoreFor<LoadPage>(
        kStorePatience, [&](auto done) { store.Load(kDefaultPartition, "", std::move(done)); });
    if (!page) return std::unexpected(page.error());
    // Or after it took the mark away, as the last thing: then everything is there.
    if (page->last_serial != 0 || !page->settings.empty()) return {};
    return std::unexpected(UnfinishedCopy(store.Describe()));
}

// Whether schedulers on other machines may use the same store.
bool IsShared(std::string_view store_url) {
    return !store_url.starts_with("file:") && !store_url.starts_with("memory:");
}

}  // namespace

Result<void> Server::Parts::MakeSignIn() {
    auto made = MakeSessions(config.signin);
    if (!made) return std::unexpected(made.error());
    sessions = std::move(*made);
    return {};
}

Result<void> Server::Parts::OpenTheStore() {
    auto opened = OpenStore(config.store.url, {.wait = config.store.wait});
    if (!opened) return std::unexpected(opened.error());
    store = std::move(*opened);
    recent = std::make_unique<RecentCluster>(store.get());
    store_name = store->Describe();
    // One that cannot be asked yet is looked at again before anybody leads (node/loader.cc).
    const auto whole = CheckWhole(*store);
    if (!whole && !(config.store.wait && whole.error().code == ErrorCode::kUnavailable)) {
        return whole;
    }
    if (settings.loopback() || config.server.insecure || sessions) return {};
    const auto tokens = HasTokens(*store);
    // Nobody is let in before they were read, and nobody without one: see AccessPolicy.
    if (!tokens && config.store.wait && tokens.error().code == ErrorCode::kUnavailable) return {};
    if (!tokens) return std::unexpected(tokens.error());
    if (*tokens) return {};
    return Fail(ErrorCode::kInvalid,
                "refusing to listen on " + config.server.listen +
                    " without access tokens: anybody who reaches it could run work. Make one with "
                    "'takt token create --role admin --store …', or say --insecure",
                "server.listen");
}

Result<void> Server::Parts::MakeDoors() {
    if (config.server.io_threads == 0) {
        doors.push_back(std::make_unique<Door>(loops.front().io(), Door::Thread::kLoops));
    }
    while (doors.size() < config.server.io_threads) {
        doors.push_back(std::make_unique<Door>(door_loops.emplace_back(1), Door::Thread::kOwn));
    }
    for (const auto& door : doors) {
        auto made = door->MakeClients({.ca_file = config.server.tls_ca});
        if (!made) return made;
    }
    return {};
}

Result<void> Server::Parts::Listen() {
    ListenAddress& listen = settings.listen;
    HttpServerOptions options{
        .host = listen.host,
        .port = listen.port,
        .body_bytes_max = config.server.body_bytes_max,
        .connections_max = ConnectionsWithin(DescriptorLimit(), config.server.connections_max),
        .connections_per_address_max = config.server.connections_per_address_max,
        .refusal = RefusalResponse,
        .log = ToLog(),
        .access_log = LogAccess};
    const bool tls = !config.server.tls_cert.empty();
    if (tls) {
        options.tls = TlsServerFiles{.certificate_file = config.server.tls_cert,
                                     .key_file = config.server.tls_key};
    }
    std::vector<HttpLoop> loops;
    for (const auto& door : doors) loops.push_back({door->loop(), door->relay()});
    auto server = HttpServer::Listen(std::move(loops), std::move(options));
    if (!server) return std::unexpected(server.error());
    http = std::move(*server);
    listen.port = http->port();
    url = (tls ? "https://" : "http://") + Joined(listen.host, listen.port);
    auto told = AdvertisedUrl({.advertise = config.server.advertise,
                               .listen = listen,
                               .tls = tls,
                               .shared = IsShared(config.store.url)},
                              SystemNames());
    if (!told) return std::unexpected(told.error());
    address = std::move(*told);
    Log(LogLevel::kInfo, "server", "listening", {{"url", url}, {"advertised", address}});
    const auto& spaces = config.scheduler.namespaces;
    if (!spaces.empty() && std::ranges::find(spaces, kDefaultNamespace) == spaces.end()) {
        Log(LogLevel::kWarning, "server",
            "scheduler.namespaces leaves out 'default': unless another scheduler may lead it, "
            "none does");
    }
    return {};
}

Result<void> Server::Parts::StartSpans() {
    if (!config.tracing.enabled) return {};
    auto started = SpanExporter::Start({.endpoint = config.tracing.endpoint,
                                        .service = "takt-scheduler",
                                        .instance = id.text().str()});
    if (!started) return std::unexpected(started.error());
    exporter = std::move(*started);
    return {};
}

NodeRow Server::Parts::RowOfThis() const {
    const auto& spaces = config.scheduler.namespaces;
    return {.node = id,
            .address = Text(address),
            .version = kVersion,
            .started_at = started_at,
            .namespaces = {spaces.begin(), spaces.end()}};
}

Result<void> Server::Parts::CheckIdIsFree() const {
    if (!IsShared(config.store.url)) return {};
    return CheckNodeId(*store, RowOfThis());
}

Result<void> Server::Parts::ClaimId() {
    // An id that it made itself is nobody else's.
    if (!IsShared(config.store.url) || config.server.node_id.empty()) return {};
    NodeRow row = RowOfThis();
    const Duration ttl = config.scheduler.leader_ttl;
    auto claimed = ClaimNodeId(*store, row, ttl);
    if (!claimed) return claimed;
    node_id_watch =
        std::make_unique<NodeIdWatch>(loops.front().runtime(), *recent, std::move(row), ttl);
    node_id_watch->Start();
    return {};
}

Result<void> Server::Parts::MakeRealms(Sink* watcher) {
    const Config::Scheduler& scheduler = config.scheduler;
    presence = std::make_unique<Presence>(
        loops.front().runtime(), recent->reader(),
        PresenceConfig{
            .row = RowOfThis(),
            .ttl = scheduler.leader_ttl,
            .renew_interval = scheduler.leader_renew_interval,
            .acquire_interval = scheduler.leader_acquire_interval,
            .margin = scheduler.leader_ttl / 10,
            .shares = TAKT_FAIL_POINT_ERROR("server.shares.quick") ? kQuickShares : ShareTimes{}},
        NewRandomSeed());
    ground.emplace(
        RealmGround{.config = config,
                    .node = id,
                    .address = address,
                    .settings = settings,
                    .store = *store,
                    .recent = *recent,
                    .presence = *presence,
                    .mailer = mailer,
                    .exporter = exporter.get(),
                    .commons = std::make_shared<const Commons>(CommonBounds{
                        .inbox_max = scheduler.inbox_max, .live_max = scheduler.executions_max})});
    realms = std::make_unique<Realms>(
        *ground, loops,
        RealmsEvents{.on_made = [this](const std::shared_ptr<Realm>& realm) { TellDoors(realm); },
                     .on_gone =
                         [this](const std::string& name) {
                             for (const auto& door : doors) {
                                 boost::asio::post(door->loop(), [api = door->api(), name] {
                                     api->RemoveRealm(name);
                                 });
                             }
                         }});
    return realms->MakeDefault(watcher);
}

void Server::Parts::TellDoors(const std::shared_ptr<Realm>& realm) {
    for (const auto& door : doors) {
        boost::asio::post(door->loop(),
                          [api = door->api(), realm] { api->AddRealm(realm->parts()); });
    }
}

Result<void> Server::Parts::MakeApis() {
    const auto family = std::make_shared<AccessFamily>();
    for (const auto& door : doors) {
        std::unique_ptr<SignIn> signin;
        if (sessions) {
            auto options = ProviderOf(config.signin, address);
            if (!options) return std::unexpected(options.error());
            const bool secure = options->redirect_url.starts_with("https://");
            const auto send = [client = &door->outside()](HttpCall call, HttpDone done) {
                client->Send(std::move(call), std::move(done));
            };
            signin = std::make_unique<SignIn>(
                SignIn{sessions, Provider(std::move(*options), send), secure});
        }
        std::vector<Route> more_routes = ExecutorRoutes();
        more_routes.push_back(AttachRoute());
        door->MakeApi({.realm = realms->home().parts(),
                       .store = *store,
                       .runtime = door->runtime(),
                       .config = {.version = kVersion,
                                  .access = {.loopback_only = settings.loopback(),
                                             .insecure = config.server.insecure,
                                             .own_worker_token = config.server.own_worker_token,
                                             .sessions = sessions},
                                  .prometheus = config.metrics.enabled,
                                  .task_limits = {.retry_default = config.engine.retry,
                                                  .own_strategies = OwnStrategies(config.engine)},
                                  .tracing = TracePolicyOf(config),
                                  .body_bytes_max = config.server.body_bytes_max,
                                  .bulk_bytes_max = config.server.bulk_bytes_max},
                       .more_routes = std::move(more_routes),
                       .pages = ConsolePage,
                       .refresh_realms =
                           [this, door = door.get()](std::move_only_function<void(bool)> done) {
                               realms->Refresh([door, done = std::move(done)](bool read) mutable {
                                   boost::asio::post(
                                       door->loop(),
                                       [done = std::move(done), read]() mutable { done(read); });
                               });
                           },
                       .signin = std::move(signin),
                       .family = family});
    }
    return {};
}

}  // namespace takt::internal
