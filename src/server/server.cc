#include "server/server.h"

#include <unistd.h>

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "alerts/alerts.h"
#include "alerts/follower_watch.h"
#include "api/access.h"
#include "api/api.h"
#include "api/event_hub.h"
#include "api/forward.h"
#include "api/meters.h"
#include "base/log.h"
#include "base/random.h"
#include "console/console.h"
#include "http/client.h"
#include "http/server.h"
#include "links/push_link.h"
#include "links/scheduler_spans.h"
#include "links/stream_link.h"
#include "node/asio_runtime.h"
#include "server/executor_routes.h"
#include "server/listen_address.h"
#include "server/routes.h"
#include "server/sink_fan.h"
#include "store/open.h"
#include "takt/version.h"

namespace takt::internal {
namespace {

// How long running requests may take to finish when the server stops.
constexpr std::chrono::milliseconds kDrain{2'000};
constexpr Duration kFlush{500};  // Of statistics, before the lead is given up.
// As many as may watch events; see EventHub.
constexpr std::size_t kStreamsMax = 10'000;

std::string DefaultNodeId() {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    std::string id;
    for (const char c : std::string_view(host.data()).substr(0, 40)) {
        id += IsValidId(std::string_view(&c, 1)) || c == '-' || c == '.' ? c : '-';
    }
    if (id.empty() || !IsValidId(id)) id = "scheduler";
    Random random(NewRandomSeed());
    return id + "-" + SerialText(random.Next()).substr(8);
}

NodeConfig NodeConfigOf(const Config& config, const NodeId& node, const std::string& address) {
    return {.leadership = {.node = node,
                           .address = Text(address),
                           .ttl = config.scheduler.leader_ttl,
                           .renew_interval = config.scheduler.leader_renew_interval,
                           .acquire_interval = config.scheduler.leader_acquire_interval,
                           .margin = config.scheduler.leader_ttl / 10},
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

TracePolicy TracePolicyOf(const Config& config) {
    return {.enabled = config.tracing.enabled, .sample_ratio = config.tracing.sample_ratio};
}

PushLinkConfig PushLinkConfigOf(const Config& config, const std::string& address) {
    const Config::Executors& executors = config.executors;
    return {.callback_base = address,
            .health_check = executors.health_check,
            .health_interval = executors.health_interval,
            .health_timeout = executors.health_timeout,
            .failure_threshold = executors.failure_threshold,
            .recovery_threshold = executors.recovery_threshold,
            .concurrency_max = executors.concurrency_max,
            .timeout = executors.timeout,
            .attempt_timeout = config.engine.timeout,
            .lease = config.engine.worker_lease,
            .forgotten = config.engine.worker_forgotten,
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
    std::promise<Result<std::vector<SettingPut>>> answer;
    store.ListSettings("token/", [&](auto settings) { answer.set_value(std::move(settings)); });
    auto settings = answer.get_future().get();
    if (!settings) return std::unexpected(settings.error());
    return !settings->empty();
}

}  // namespace

struct Server::Parts {
    Config config;
    std::string url;
    std::string address;
    std::string store_name;
    // In the order of their needs: each uses only what stands above it.
    boost::asio::io_context loop{1};
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work;
    AsioRuntime runtime{loop};
    std::unique_ptr<Store> store;
    std::unique_ptr<HttpClient> client;   // To other schedulers.
    std::unique_ptr<HttpClient> streams;  // The same, for what lasts.
    std::unique_ptr<EventHub> events;
    std::unique_ptr<SpanExporter> exporter;  // Null unless traces are on.
    std::unique_ptr<Meters> meters;
    std::unique_ptr<Statistics> statistics;
    std::unique_ptr<HttpClient> webhooks;
    Mailer mailer;
    std::unique_ptr<Delivery> delivery;
    std::unique_ptr<Alerts> alerts;
    std::unique_ptr<FollowerWatch> follower_watch;
    std::unique_ptr<StreamLink> stream;
    std::unique_ptr<HttpClient> executors;  // To executors,
    std::unique_ptr<HttpClient> health;     // and for their health.
    std::unique_ptr<PushLink> push;
    std::unique_ptr<SchedulerSpans> spans;  // Null unless traces are on.
    SinkFan fan;
    std::unique_ptr<Node> node;
    std::shared_ptr<Api> api;
    std::unique_ptr<HttpServer> http;
    std::thread thread;
    bool stopped = false;
};

Result<void> Server::MakeAlerts(Parts& p, const NodeId& node, bool loopback) {
    std::vector<AlertRule> rules;
    for (const auto& fields : p.config.alerts.rules) {
        auto rule = RuleOf(fields);
        if (!rule) {
            return Fail(ErrorCode::kInvalid, "alerts.rules: " + rule.error().detail,
                        "alerts.rules");
        }
        rules.push_back(std::move(*rule));
    }
    auto channels = ChannelsOf(p.config.alerts.channels);
    if (!channels) return std::unexpected(channels.error());
    for (Channel& channel : *channels) {
        if (channel.kind == ChannelKind::kLog) continue;
        // Who wrote the host into the configuration has allowed it, but not whatever the owner of
        // the name points it at: link-local addresses and this machine need to be meant.
        auto policy = ExecutorPolicy::Make({channel.host()}, loopback);
        if (!policy) return std::unexpected(policy.error());
        channel.allow_address = [policy = std::move(*policy),
                                 host = channel.host()](const IpAddress& address) {
            return policy.Allows(host, address);
        };
    }
    auto webhooks = HttpClient::Create(p.loop, {.connections_per_host_max = 4, .log = ToLog()});
    if (!webhooks) return std::unexpected(webhooks.error());
    p.webhooks = std::move(*webhooks);
    p.delivery =
        std::make_unique<Delivery>(p.runtime, std::move(*channels), TellBy(*p.webhooks, p.mailer));
    for (const AlertRule& rule : rules) {
        for (const std::string& channel : rule.channels) {
            if (p.delivery->Has(channel)) continue;
            return Fail(ErrorCode::kInvalid,
                        "alerts.rules: rule '" + rule.name + "' names the channel '" + channel +
                            "', which alerts.channels does not have",
                        "alerts.rules");
        }
    }
    p.alerts = std::make_unique<Alerts>(
        p.runtime, *p.store, *p.delivery,
        AlertsConfig{.enabled = p.config.alerts.enabled,
                     .interval = p.config.alerts.interval,
                     .rules = rules},
        [meters = p.meters.get()](const Engine& engine, Instant now, AlertReadings& readings) {
            meters->Read(engine, now, readings);
        });
    p.follower_watch = std::make_unique<FollowerWatch>(
        p.runtime, *p.store, *p.delivery,
        FollowerWatchConfig{.enabled = p.config.alerts.enabled,
                            .node = node,
                            .grace = 3 * p.config.scheduler.leader_ttl,
                            .rules = std::move(rules)});
    return {};
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
    Stop();
}

Result<std::unique_ptr<Server>> Server::Start(Config config, Sink* watcher) {
    if (auto checked = CheckConfig(config); !checked) return std::unexpected(checked.error());
    auto listen = ParseListenAddress(config.server.listen, "server.listen");
    if (!listen) return std::unexpected(listen.error());
    auto node_id = NodeId::Parse(
        config.server.node_id.empty() ? DefaultNodeId() : config.server.node_id, "server.node_id");
    if (!node_id) return std::unexpected(node_id.error());

    auto parts = std::make_unique<Parts>();
    Parts& p = *parts;
    p.config = std::move(config);
    auto store = OpenStore(p.config.store.url);
    if (!store) return std::unexpected(store.error());
    p.store = std::move(*store);
    p.store_name = p.store->Describe();

    const bool loopback = IsLoopback(listen->host);
    if (!loopback && !p.config.server.insecure) {
        const auto tokens = HasTokens(*p.store);
        if (!tokens) return std::unexpected(tokens.error());
        if (!*tokens) {
            return Fail(
                ErrorCode::kInvalid,
                "refusing to listen on " + p.config.server.listen +
                    " without access tokens: anybody who reaches it could run work. Make one "
                    "with 'takt token create --role admin --store …', or say --insecure",
                "server.listen");
        }
    }

    p.work.emplace(p.loop.get_executor());
    auto client = HttpClient::Create(p.loop, {});
    if (!client) return std::unexpected(client.error());
    p.client = std::move(*client);
    auto streams = HttpClient::Create(p.loop, {.connections_per_host_max = kStreamsMax});
    if (!streams) return std::unexpected(streams.error());
    p.streams = std::move(*streams);
    p.events = std::make_unique<EventHub>();
    p.meters = std::make_unique<Meters>(
        MetersConfig{.enabled = p.config.metrics.enabled, .interval = p.config.metrics.interval});
    p.statistics = std::make_unique<Statistics>(p.runtime, *p.store,
                                                StatisticsConfig{.keep = p.config.statistics.keep});
    if (auto made = MakeAlerts(p, *node_id, loopback); !made) return std::unexpected(made.error());
    p.stream = std::make_unique<StreamLink>(
        p.runtime, StreamLinkConfig{.node = *node_id,
                                    .heartbeat = p.config.scheduler.heartbeat_interval,
                                    .lease = p.config.engine.worker_lease,
                                    .tracing = TracePolicyOf(p.config)});
    auto policy = ExecutorPolicy::Make(p.config.executors.allow, loopback);
    if (!policy) return std::unexpected(policy.error());
    auto executors = HttpClient::Create(
        p.loop, {.connections_per_host_max = p.config.executors.concurrency_max, .log = ToLog()});
    if (!executors) return std::unexpected(executors.error());
    p.executors = std::move(*executors);
    auto health = HttpClient::Create(p.loop, {.log = ToLog()});
    if (!health) return std::unexpected(health.error());
    p.health = std::move(*health);

    // The port is bound first, so that the address is known even if the system chose it.
    HttpServerOptions http{
        .host = listen->host,
        .port = listen->port,
        .body_bytes_max = p.config.server.body_bytes_max,
        .connections_max = p.config.server.connections_max,
        .connections_per_address_max = p.config.server.connections_per_address_max,
        .log = ToLog(),
        .access_log = LogAccess};
    if (!p.config.server.tls_cert.empty()) {
        http.tls = TlsServerFiles{.certificate_file = p.config.server.tls_cert,
                                  .key_file = p.config.server.tls_key};
    }
    auto relay = std::make_shared<HandlerRelay>();
    auto server = HttpServer::Listen(p.loop, std::move(http), relay);
    if (!server) return std::unexpected(server.error());
    p.http = std::move(*server);
    const std::string scheme = p.config.server.tls_cert.empty() ? "http://" : "https://";
    p.url = scheme + Joined(listen->host, p.http->port());
    p.address = p.config.server.advertise.empty() ? p.url : p.config.server.advertise;

    p.push =
        std::make_unique<PushLink>(p.runtime, *p.store, PushLinkConfigOf(p.config, p.address),
                                   std::move(*policy), SendBy(*p.executors), SendBy(*p.health));
    for (Sink* sink :
         std::initializer_list<Sink*>{p.stream.get(), p.push.get(), p.events.get(), p.meters.get(),
                                      p.statistics.get(), p.alerts.get(), p.follower_watch.get()}) {
        p.fan.Add(*sink);
    }
    if (watcher) p.fan.Add(*watcher);
    if (p.config.tracing.enabled) {
        auto exporter = SpanExporter::Start({.endpoint = p.config.tracing.endpoint,
                                             .service = "takt-scheduler",
                                             .instance = node_id->text().str()});
        if (!exporter) return std::unexpected(exporter.error());
        p.exporter = std::move(*exporter);
        p.spans = std::make_unique<SchedulerSpans>(
            TracePolicyOf(p.config), *p.exporter,
            [push = p.push.get()](SessionId session) { return push->Has(session); });
        p.fan.Add(*p.spans);
        p.meters->WatchSpans(*p.exporter);
    }
    p.node = std::make_unique<Node>(
        p.runtime, *p.store, NodeConfigOf(p.config, *node_id, p.address), NewRandomSeed(), &p.fan);
    p.stream->Bind(*p.node);
    p.push->Bind(*p.node);
    p.statistics->Bind(*p.node);
    p.alerts->Bind(*p.node);
    std::vector<Route> more_routes = ExecutorRoutes(*p.push);
    more_routes.push_back(AttachRoute(*p.stream));
    p.api = Api::Make(
        {.node = *p.node,
         .store = *p.store,
         .events = *p.events,
         .meters = *p.meters,
         .statistics = *p.statistics,
         .alerts = *p.alerts,
         .post = [&loop = p.loop](auto action) { boost::asio::post(loop, std::move(action)); },
         .forward = ForwardOver(*p.client),
         .stream = StreamOver(*p.streams),
         .config = {.version = kVersion,
                    .access = {.loopback_only = loopback, .insecure = p.config.server.insecure},
                    .prometheus = p.config.metrics.enabled,
                    .task_limits = {.retry_default = p.config.engine.retry},
                    .tracing = TracePolicyOf(p.config),
                    .body_bytes_max = p.config.server.body_bytes_max,
                    .bulk_bytes_max = p.config.server.bulk_bytes_max},
         .more_routes = std::move(more_routes),
         .pages = ConsolePage});
    relay->Set(p.api);
    p.node->Start();
    p.thread = std::thread([&loop = p.loop] { loop.run(); });
    return std::unique_ptr<Server>(new Server(std::move(parts)));
}

void Server::Stop() {
    Parts& p = *parts_;
    if (std::exchange(p.stopped, true)) return;
    // What was counted since the last time is written while this node still leads. A store that
    // does not answer must not hold up the stop: then it is lost, as in a crash.
    const auto flushed = std::make_shared<std::promise<void>>();
    p.statistics->Flush([flushed] { flushed->set_value(); });
    flushed->get_future().wait_for(std::min<Duration>(p.config.scheduler.stop_deadline, kFlush));
    // The node first: it answers what it was asked, gives up the lead and sends workers on their
    // way. Connections that take their time to end must not keep the next leader waiting.
    std::promise<void> node_stopped;
    p.node->Stop([&] { node_stopped.set_value(); });
    node_stopped.get_future().wait();
    std::promise<void> http_stopped;
    p.http->Stop(kDrain, [&] { http_stopped.set_value(); });
    http_stopped.get_future().wait();
    // What the loop still holds may refer to the parts; it must be gone before they are.
    boost::asio::post(p.loop, [&p] { p.node.reset(); });
    p.work.reset();
    p.loop.stop();
    p.thread.join();
    p.http.reset();
    p.node.reset();
    // Store callbacks post to the loop: the store goes first, then whatever they posted is dropped.
    p.store.reset();
}

void Server::Call(HttpRequest request, HttpReply reply) {
    boost::asio::post(parts_->loop, [api = parts_->api, request = std::move(request),
                                     reply = std::move(reply)]() mutable {
        api->Handle(std::move(request), std::move(reply));
    });
}

const std::string& Server::url() const {
    return parts_->url;
}
const std::string& Server::address() const {
    return parts_->address;
}
const std::string& Server::store_name() const {
    return parts_->store_name;
}
Node& Server::node() {
    return *parts_->node;
}
Store& Server::store() {
    return *parts_->store;
}

}  // namespace takt::internal
