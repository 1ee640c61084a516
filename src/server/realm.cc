#include "server/realm.h"

#include <boost/asio/post.hpp>
#include <initializer_list>
#include <utility>
#include <vector>

#include "alerts/store_reading.h"
#include "base/log.h"
#include "base/random.h"
#include "takt/version.h"

namespace takt::internal {
namespace {

// Between two looks at a namespace other than `default`: there may be many.
constexpr Duration kWatchOthers{60'000};
constexpr Duration kCallsLook{20};  // How often it is seen whether calls are still open.
constexpr Duration kFlush{500};     // Of statistics, before the lead is given up.

EngineConfig EngineConfigOf(const EngineConfig& process, const NamespaceRow& row) {
    EngineConfig config = process;
    const NamespaceSettings& settings = row.settings;
    config.quotas = row.quotas;
    config.retention = settings.retention.value_or(config.retention);
    if (row.quotas.retention > Duration(0)) {
        config.retention = std::min(config.retention, row.quotas.retention);
    }
    config.audit_retention = settings.audit_retention.value_or(config.audit_retention);
    config.timeout = settings.timeout.value_or(config.timeout);
    config.retry = settings.retry.value_or(config.retry);
    if (settings.strategy) {
        config.strategy = *settings.strategy;
        config.strategy_name = Text();
    }
    if (row.quotas.log_bytes > 0) {
        config.log_bytes_max = std::min(config.log_bytes_max, row.quotas.log_bytes);
    }
    return config;
}

Configure ConfigureOf(const EngineConfig& config) {
    return {.quotas = config.quotas,
            .retention = config.retention,
            .audit_retention = config.audit_retention,
            .timeout = config.timeout,
            .retry = config.retry,
            .strategy = config.strategy,
            .strategy_name = config.strategy_name,
            .log_bytes_max = config.log_bytes_max};
}

NodeConfig NodeConfigOf(const RealmGround& ground, const NamespaceRow& row) {
    const Config& config = ground.config;
    return {.leadership = {.partition = row.number,
                           .name = Text(row.name),
                           .epoch_floor = row.epoch_floor},
            .engine = EngineConfigOf(config.engine, row),
            .commons = ground.commons,
            .stop_deadline = config.scheduler.stop_deadline,
            .look_again = config.scheduler.scan_interval};
}

PushLinkConfig PushLinkConfigOf(const RealmGround& ground, const std::string& name) {
    const Config& config = ground.config;
    const Config::Executors& executors = config.executors;
    return {.address = ground.address,
            .callback_base = executors.callback_base,
            .space = name == kDefaultNamespace ? std::string() : name,
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

// Channels that operators make may call what is public, and otherwise what executors may be called
// at: who may make one must not reach what the scheduler's machine does.
ChannelGuard ChannelGuardOf(const ServicePolicy& services) {
    return [policy = services](const Channel& channel) -> Result<AddressTest> {
        AddressTest allows = [policy, host = channel.host()](const IpAddress& address) {
            return ReachOf(address) == AddressReach::kPublic || policy.Allows(host, address);
        };
        const auto address = ParseIpAddress(channel.host());
        if (!address || allows(*address)) return allows;
        return Fail(ErrorCode::kInvalid,
                    "url names the address " + channel.host() +
                        ", which may not be called; an operator can add it to executors.allow",
                    "url");
    };
}

}  // namespace

TracePolicy TracePolicyOf(const Config& config) {
    return {.enabled = config.tracing.enabled, .sample_ratio = config.tracing.sample_ratio};
}

Realm::Realm(const RealmGround& ground, WorkLoop& loop, const NamespaceRow& row)
    : ground_(ground),
      loop_(loop),
      runtime_(loop.runtime()),
      name_(row.name),
      rows_(ground.recent, row.number),
      row_(row),
      closing_(row.state != NamespaceState::kActive),
      events_(std::make_unique<EventHub>(EventHub::Config{.space = row.name})),
      meters_(std::make_unique<Meters>(
          MetersConfig{.enabled = ground.config.metrics.enabled,
                       .space = row.name,
                       .interval = ground.config.metrics.interval,
                       .clear_within = ground.config.metrics.clear_within})),
      statistics_(std::make_unique<Statistics>(
          runtime_, rows_, StatisticsConfig{.keep = ground.config.statistics.keep})) {}

Realm::~Realm() {
    Dismantle();
}

std::shared_ptr<Realm> Realm::Make(const RealmGround& ground, WorkLoop& loop,
                                   const NamespaceRow& row) {
    // Its parts have timers, which belong to the loop's thread. Without parts it needs no loop; there
    // may be none any more.
    std::shared_ptr<Realm> realm(new Realm(ground, loop, row), [&loop](Realm* made) {
        if (made->dismantled_) return std::default_delete<Realm>()(made);
        boost::asio::post(loop.io(), [owned = std::unique_ptr<Realm>(made)] {});
    });
    realm->MakeAlerts();
    realm->MakeLinks();
    return realm;
}

void Realm::MakeAlerts() {
    const ServerSettings& settings = ground_.settings;
    delivery_ = std::make_unique<Delivery>(
        runtime_, settings.alerts.channels, TellBy(loop_.webhooks(), ground_.mailer),
        name_ == kDefaultNamespace ? std::string() : name_, ChannelGuardOf(settings.services));
    alerts_ = std::make_unique<Alerts>(
        runtime_, rows_, *delivery_,
        AlertsConfig{.enabled = ground_.config.alerts.enabled,
                     .interval = ground_.config.alerts.interval,
                     .rules = settings.alerts.rules},
        [this](const Engine& engine, Instant now, AlertReadings& readings) {
            meters_->Read(engine, now, readings);
            // The store is one for all: its operators are told, not every team.
            if (name_ == kDefaultNamespace) ReadStoreRoom(ground_.store, readings);
        });
    follower_watch_ = std::make_unique<FollowerWatch>(
        runtime_, rows_, *delivery_,
        FollowerWatchConfig{
            .enabled = ground_.config.alerts.enabled,
            .node = ground_.node,
            .interval = name_ == kDefaultNamespace ? FollowerWatchConfig{}.interval : kWatchOthers,
            .grace = 3 * ground_.config.scheduler.leader_ttl,
            .rules = settings.alerts.rules});
}

void Realm::MakeLinks() {
    const Config& config = ground_.config;
    stream_ = std::make_unique<StreamLink>(
        runtime_, StreamLinkConfig{.node = ground_.node,
                                   .space = name_,
                                   .space_id = row_.id,
                                   .heartbeat = config.scheduler.heartbeat_interval,
                                   .lease = config.engine.worker_lease,
                                   .tracing = TracePolicyOf(config),
                                   .rows = rows_});
    push_ = std::make_unique<PushLink>(runtime_, rows_, PushLinkConfigOf(ground_, name_),
                                       ground_.settings.services, SendBy(loop_.executors()),
                                       SendBy(loop_.health()));
    if (!ground_.exporter) return;
    spans_ = std::make_unique<SchedulerSpans>(
        TracePolicyOf(config), *ground_.exporter,
        [push = push_.get()](SessionId session) { return push->Has(session); }, name_);
    // Spans are the process's; they are counted once.
    if (name_ == kDefaultNamespace) meters_->WatchSpans(*ground_.exporter);
}

void Realm::Start(Sink* watcher) {
    for (Sink* sink : std::initializer_list<Sink*>{stream_.get(), push_.get(), events_.get(),
                                                   meters_.get(), statistics_.get(), alerts_.get(),
                                                   follower_watch_.get(), watcher, spans_.get()}) {
        if (sink) fan_.Add(*sink);
    }
    node_ = std::make_unique<Node>(runtime_, ground_.store, NodeConfigOf(ground_, row_),
                                   NewRandomSeed(), &fan_, &ground_.presence);
    stream_->Bind(*node_);
    push_->Bind(*node_);
    statistics_->Bind(*node_);
    alerts_->Bind(*node_);
    node_->Start();
}

void Realm::Apply(const NamespaceRow& row) {
    closing_ = row.state != NamespaceState::kActive;
    boost::asio::post(loop_.io(), [weak = weak_from_this(), row] {
        const auto realm = weak.lock();
        if (!realm || !realm->node_ || realm->row_ == row) return;
        realm->row_ = row;
        realm->node_->SetEngineConfig(
            ConfigureOf(EngineConfigOf(realm->ground_.config.engine, row)));
    });
}

void Realm::Stop(Steady answers_until, Action done) {
    boost::asio::post(loop_.io(), [self = shared_from_this(), answers_until,
                                   done = std::move(done)]() mutable {
        auto go = std::make_shared<Action>(
            [self, done = std::move(done)]() mutable { self->StopNode(std::move(done)); });
        const auto once = [go] {
            if (*go) std::exchange(*go, {})();
        };
        const auto left = std::chrono::ceil<Duration>(answers_until - self->runtime_.Now().steady);
        if (left <= Duration(0)) return once();
        const std::uint64_t timer = self->runtime_.After(left, once);
        self->push_->Settle([self, once, timer] {
            self->runtime_.Cancel(timer);
            once();
        });
    });
}

void Realm::StopNode(Action done) {
    // Counts since the last time are written while this node still leads. A store that does
    // not answer must not hold up the stop: then it is lost, as in a crash.
    boost::asio::post(loop_.io(), [self = shared_from_this(), done = std::move(done)]() mutable {
        // It lives until its node has stopped, and a turn longer: that is where this is called from.
        Action stopped = [self, done = std::move(done)]() mutable {
            done();
            boost::asio::post(self->loop_.io(), [self] {});
        };
        auto go = std::make_shared<Action>([self, stopped = std::move(stopped)]() mutable {
            self->node_->Stop(std::move(stopped));
        });
        const auto once = [go] {
            if (*go) std::exchange(*go, {})();
        };
        const Duration most =
            std::min<Duration>(self->ground_.config.scheduler.stop_deadline, kFlush);
        const std::uint64_t timer = self->runtime_.After(most, once);
        self->statistics_->Flush([self, once, timer] {
            self->runtime_.Cancel(timer);
            once();
        });
    });
}

void Realm::AwaitCalls(Steady until, Action done) {
    boost::asio::post(
        loop_.io(), [self = shared_from_this(), until, done = std::move(done)]() mutable {
            Runtime& runtime = self->runtime_;
            if (!self->push_->keeps_calls() || runtime.Now().steady >= until) return done();
            runtime.After(kCallsLook, [self, until, done = std::move(done)]() mutable {
                self->AwaitCalls(until, std::move(done));
            });
        });
}

void Realm::Dismantle() {
    dismantled_ = true;
    node_.reset();
    spans_.reset();
    push_.reset();
    stream_.reset();
    follower_watch_.reset();
    alerts_.reset();
    delivery_.reset();
    statistics_.reset();
}

RealmParts Realm::parts() {
    return {
        .name = name_,
        .partition = rows_.partition(),
        .mark = {row_.id, row_.created_at},
        .node = *node_,
        .events = *events_,
        .meters = *meters_,
        .statistics = *statistics_,
        .alerts = *alerts_,
        .stream_link = stream_.get(),
        .push_link = push_.get(),
        .knows_attempt = [push = push_.get()](const Token& token) { return push->Knows(token); },
        .closing = &closing_,
        .keep = shared_from_this()};
}

}  // namespace takt::internal
