#include "server/server_parts.h"

#include <array>
#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

#include "api/access.h"
#include "api/executor_routes.h"
#include "api/problem.h"
#include "base/log.h"
#include "base/random.h"
#include "console/console.h"
#include "server/advertise.h"
#include "server/descriptors.h"
#include "store/open.h"
#include "store/wait.h"
#include "takt/version.h"

namespace takt::internal {
namespace {

std::vector<Text> TextsOf(const std::vector<std::string>& texts) {
    return {texts.begin(), texts.end()};
}

NodeConfig NodeConfigOf(const Config& config, Partition partition, const NodeId& node,
                        const std::string& address) {
    return {.leadership = {.partition = partition,
                           .node = node,
                           .address = Text(address),
                           .ttl = config.scheduler.leader_ttl,
                           .renew_interval = config.scheduler.leader_renew_interval,
                           .acquire_interval = config.scheduler.leader_acquire_interval,
                           .margin = config.scheduler.leader_ttl / 10,
                           .namespaces = TextsOf(config.scheduler.namespaces)},
            .engine = config.engine,
            .version = kVersion,
            .inbox_max = config.scheduler.inbox_max,
            .stop_deadline = config.scheduler.stop_deadline,
            .look_again = config.scheduler.scan_interval};
}

HttpLog ToLog() {
    return [](HttpLogLevel level, std::string_view message) {
        Log(level == HttpLogLevel::kInfo      ? LogLevel::kInfo
            : level == HttpLogLevel::kWarning ? LogLevel::kWarning
                                              : LogLevel::kError,
            "http", message);
    };
}

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

TracePolicy TracePolicyOf(const Config& config) {
    return {.enabled = config.tracing.enabled, .sample_ratio = config.tracing.sample_ratio};
}

PushLinkConfig PushLinkConfigOf(const Config& config, const std::string& address) {
    const Config::Executors& executors = config.executors;
    return {.address = address,
            .callback_base = executors.callback_base,
            .health_check = executors.health_check,
            .health_interval = executors.health_interval,
            .health_timeout = executors.health_timeout,
            .failure_threshold = executors.failure_threshold,
            .recovery_threshold = executors.recovery_threshold,
            .concurrency_max = executors.concurrency_max,
            .timeout = executors.timeout,
            .breaker = {.failures_max = executors.circuit_failures,
                        .open_min = executors.circuit_open,
                        .open_max = executors.circuit_open_max},
            .tracing = TracePolicyOf(config)};
}

HttpSend SendBy(HttpClient& client) {
    return
        [&client](HttpCall call, HttpDone done) { client.Send(std::move(call), std::move(done)); };
}

Result<bool> HasTokens(Store& store) {
    const auto settings = AskStore<std::vector<SettingPut>>(
        [&](auto done) { store.ListSettings(kDefaultPartition, "token/", std::move(done)); });
    if (!settings) return std::unexpected(settings.error());
    return !settings->empty();
}

// Whether schedulers on other machines may use the same store.
bool IsShared(std::string_view store_url) {
    return !store_url.starts_with("file:") && !store_url.starts_with("memory:");
}

Result<void> MakeClient(boost::asio::io_context& loop, HttpClientOptions options,
                        std::unique_ptr<HttpClient>& client) {
    auto made = HttpClient::Create(loop, std::move(options));
    // Only the file of authorities can be wrong.
    if (!made) return Fail(made.error().code, made.error().detail, "server.tls_ca");
    client = std::move(*made);
    return {};
}

}  // namespace

bool Server::Parts::loopback() const {
    return IsLoopback(listen.host);
}

Result<void> Server::Parts::OpenTheStore() {
    auto opened = OpenStore(config.store.url, {.wait = config.store.wait});
    if (!opened) return std::unexpected(opened.error());
    store = std::move(*opened);
    store_name = store->Describe();
    if (loopback() || config.server.insecure) return {};
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
        doors.push_back(std::make_unique<Door>(loop, Door::Thread::kLoops));
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

Result<void> Server::Parts::MakeClients() {
    // Executors may be anywhere, also where the system's authorities vouch for them.
    const TlsClientOptions anybody{.ca_file = config.server.tls_ca, .system_too = true};
    auto made = MakeClient(loop,
                           {.connections_per_host_max = config.executors.concurrency_max,
                            .tls = anybody,
                            .log = ToLog()},
                           executors);
    if (made) made = MakeClient(loop, {.tls = anybody, .log = ToLog()}, health);
    if (made) {
        made = MakeClient(loop, {.connections_per_host_max = 4, .log = ToLog()}, webhooks);
    }
    return made;
}

Result<void> Server::Parts::MakeAlerts() {
    std::vector<AlertRule> rules;
    for (const auto& fields : config.alerts.rules) {
        auto rule = RuleOf(fields);
        if (!rule) {
            return Fail(ErrorCode::kInvalid, "alerts.rules: " + rule.error().detail,
                        "alerts.rules");
        }
        rules.push_back(std::move(*rule));
    }
    auto channels = ChannelsOf(config.alerts.channels);
    if (!channels) return std::unexpected(channels.error());
    for (Channel& channel : *channels) {
        if (channel.kind == ChannelKind::kLog) continue;
        // The operator who wrote the host into the configuration has allowed it, but not whatever
        // the owner of the name points it at: link-local addresses and this machine need to be
        // meant.
        auto policy = ServicePolicy::Make({channel.host()}, loopback());
        if (!policy) return std::unexpected(policy.error());
        channel.allow_address = [policy = std::move(*policy),
                                 host = channel.host()](const IpAddress& address) {
            return policy.Allows(host, address);
        };
    }
    delivery = std::make_unique<Delivery>(runtime, std::move(*channels), TellBy(*webhooks, mailer));
    for (const AlertRule& rule : rules) {
        for (const std::string& channel : rule.channels) {
            if (delivery->Has(channel)) continue;
            return Fail(ErrorCode::kInvalid,
                        "alerts.rules: rule '" + rule.name + "' names the channel '" + channel +
                            "', which alerts.channels does not have",
                        "alerts.rules");
        }
    }
    alerts = std::make_unique<Alerts>(
        runtime, rows(), *delivery,
        AlertsConfig{
            .enabled = config.alerts.enabled, .interval = config.alerts.interval, .rules = rules},
        [meters = meters.get()](const Engine& engine, Instant now, AlertReadings& readings) {
            meters->Read(engine, now, readings);
        });
    follower_watch = std::make_unique<FollowerWatch>(
        runtime, rows(), *delivery,
        FollowerWatchConfig{.enabled = config.alerts.enabled,
                            .node = id,
                            .grace = 3 * config.scheduler.leader_ttl,
                            .rules = std::move(rules)});
    return {};
}

Result<void> Server::Parts::Listen() {
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
    return {};
}

Result<void> Server::Parts::MakeLinks() {
    stream = std::make_unique<StreamLink>(
        runtime, StreamLinkConfig{.node = id,
                                  .heartbeat = config.scheduler.heartbeat_interval,
                                  .lease = config.engine.worker_lease,
                                  .tracing = TracePolicyOf(config)});
    auto policy = ServicePolicy::Make(config.executors.allow, loopback());
    if (!policy) return std::unexpected(policy.error());
    push = std::make_unique<PushLink>(runtime, rows(), PushLinkConfigOf(config, address),
                                      std::move(*policy), SendBy(*executors), SendBy(*health));
    if (!config.tracing.enabled) return {};
    auto started = SpanExporter::Start({.endpoint = config.tracing.endpoint,
                                        .service = "takt-scheduler",
                                        .instance = id.text().str()});
    if (!started) return std::unexpected(started.error());
    exporter = std::move(*started);
    spans = std::make_unique<SchedulerSpans>(
        TracePolicyOf(config), *exporter,
        [push = push.get()](SessionId session) { return push->Has(session); });
    meters->WatchSpans(*exporter);
    return {};
}

void Server::Parts::MakeNode(Sink* watcher) {
    for (Sink* sink : std::initializer_list<Sink*>{stream.get(), push.get(), events.get(),
                                                   meters.get(), statistics.get(), alerts.get(),
                                                   follower_watch.get(), watcher, spans.get()}) {
        if (sink) fan.Add(*sink);
    }
    node = std::make_unique<Node>(runtime, *store, NodeConfigOf(config, partition, id, address),
                                  NewRandomSeed(), &fan);
    stream->Bind(*node);
    push->Bind(*node);
    statistics->Bind(*node);
    alerts->Bind(*node);
}

void Server::Parts::MakeApis() {
    const auto family = std::make_shared<AccessFamily>();
    for (const auto& door : doors) {
        std::vector<Route> more_routes = ExecutorRoutes();
        more_routes.push_back(AttachRoute());
        door->MakeApi(
            {.realm = {.node = *node,
                       .events = *events,
                       .meters = *meters,
                       .statistics = *statistics,
                       .alerts = *alerts,
                       .stream_link = stream.get(),
                       .push_link = push.get(),
                       .knows_attempt =
                           [push = push.get()](const Token& token) { return push->Knows(token); }},
             .store = *store,
             .runtime = door->runtime(),
             .config = {.version = kVersion,
                        .access = {.loopback_only = loopback(), .insecure = config.server.insecure},
                        .prometheus = config.metrics.enabled,
                        .task_limits = {.retry_default = config.engine.retry,
                                        .own_strategies = OwnStrategies(config.engine)},
                        .tracing = TracePolicyOf(config),
                        .body_bytes_max = config.server.body_bytes_max,
                        .bulk_bytes_max = config.server.bulk_bytes_max},
             .more_routes = std::move(more_routes),
             .pages = ConsolePage,
             .family = family});
    }
}

}  // namespace takt::internal
