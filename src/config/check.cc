// Values that contradict each other, or with which nothing can work.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/mistakes.h"
#include "base/private_url.h"
#include "base/url.h"
#include "config/config.h"
#include "model/namespace.h"
#include "model/worker.h"

namespace takt::internal {
namespace {

// A second is the shortest time over which operators think of any of these; what is kept for less
// is gone before anybody has seen it.
constexpr Duration kSecond{1'000};

// A task with nothing but a name and a short payload.
constexpr std::size_t kBodyBytesLeast = 1'024;

// More processors than any machine that this runs on has.
constexpr std::size_t kThreadsMax = 256;

bool IsUrlForSignIn(std::string_view url) {
    return url.find_first_of("?#") == url.npos && IsPrivateUrl(url);
}

class Checker {
  public:
    explicit Checker(const Config& config) : config_(config) {}
    Result<void> result() const { return mistakes_.ToResult(); }

    void CheckScheduler(const Config::Scheduler& scheduler, const EngineConfig& engine) {
        Require(scheduler.leader_ttl >= Duration(500), "scheduler.leader_ttl",
                "must be at least 500ms: clocks and networks need it");
        Require(
            scheduler.leader_renew_interval * 2 <= scheduler.leader_ttl &&
                scheduler.leader_renew_interval > Duration(0),
            "scheduler.leader_renew_interval",
            "must be above 0 and at most half of scheduler.leader_ttl, so that one lost renewal "
            "does not cost the lead",
            {"scheduler.leader_ttl"});
        Require(scheduler.leader_acquire_interval >= Duration(10),
                "scheduler.leader_acquire_interval", "must be at least 10ms");
        Require(scheduler.scan_interval >= Duration(10) && scheduler.scan_interval <= kSecond * 60,
                "scheduler.scan_interval", "must be between 10ms and 1m");
        Require(scheduler.heartbeat_interval > Duration(0) &&
                    scheduler.heartbeat_interval * 2 <= engine.worker_lease,
                "scheduler.heartbeat_interval",
                "must be above 0 and at most half of scheduler.worker_lease",
                {"scheduler.worker_lease"});
        Require(scheduler.executions_max > 0, "scheduler.executions_max",
                "must be at least 1: with 0 every submit is refused");
        Require(scheduler.inbox_max > 0, "scheduler.inbox_max",
                "must be at least 1: with 0 every request is refused");
        Require(scheduler.loops >= 1 && scheduler.loops <= 64, "scheduler.loops",
                "must be between 1 and 64");
        for (const std::string& name : scheduler.namespaces) {
            Require(IsNamespaceName(name), "scheduler.namespaces",
                    "has '" + name + "', which no namespace can be called: that is up to 63 of " +
                        "a-z, 0-9 and '-', with a letter or digit first");
        }
        Require(engine.worker_lease >= scheduler.leader_ttl, "scheduler.worker_lease",
                "must be at least scheduler.leader_ttl: a leader that was paused for longer than a "
                "lease, and still leads, would take all workers for dead",
                {"scheduler.leader_ttl"});
    }

    void CheckEngine(const EngineConfig& engine) {
        Require(engine.retry.backoff_rate >= 1 && engine.retry.backoff_rate <= 1000,
                "scheduler.retry_backoff_rate", "must be between 1 and 1000");
        Require(engine.retry.jitter >= 0 && engine.retry.jitter <= 1, "scheduler.retry_jitter",
                "must be between 0 and 1");
        Require(engine.timeout > Duration(0), "scheduler.timeout", "must be above 0");
        Require(engine.losses_max > 0, "scheduler.losses_max", "must be at least 1");
        Require(engine.pending_max > 0, "scheduler.queue_size",
                "must be at least 1: with 0 every submit is refused");
        Require(
            engine.timeout_grace > Duration(0), "scheduler.timeout_grace",
            "must be above 0: the worker ends what took too long, and its word needs some time");
        Require(engine.workers_max > 0, "scheduler.workers_max", "must be at least 1");
        Require(engine.worker_forgotten >= kSecond, "scheduler.worker_forgotten",
                "must be at least 1s");
        Require(engine.misfire_tolerance > Duration(0), "scheduler.misfire_tolerance",
                "must be above 0: no fire is on time to the last microsecond, and under "
                "misfire_policy skip all would be missed");
        Require(engine.retention >= kSecond, "scheduler.retention",
                "must be at least 1s: what is purged at once nobody can ask for");
        Require(engine.audit_retention >= kSecond, "scheduler.audit_retention",
                "must be at least 1s");
        Require(engine.cleanup_interval >= kSecond, "scheduler.cleanup_interval",
                "must be at least 1s");
    }

    void CheckExecutors(const Config::Executors& executors) {
        const std::string& base = executors.callback_base;
        Require(base.empty() || base.starts_with("http://") || base.starts_with("https://"),
                "executors.callback_base", "must be an http:// or https:// URL");
        Require(!base.ends_with('/'), "executors.callback_base",
                "must not end with '/': paths are added to it");
        Require(base.find_first_of("?#") == std::string::npos, "executors.callback_base",
                "must have neither '?' nor '#': paths are added to it");
        Require(executors.health_interval >= kSecond, "executors.health_interval",
                "must be at least 1s");
        Require(executors.health_timeout > Duration(0), "executors.health_timeout",
                "must be above 0");
        Require(executors.failure_threshold > 0, "executors.failure_threshold",
                "must be at least 1: with 0 every executor is out before it was asked");
        Require(executors.recovery_threshold > 0, "executors.recovery_threshold",
                "must be at least 1: what is out is asked before it is called again");
        Require(executors.concurrency_max > 0, "executors.concurrency_max",
                "must be at least 1: with 0 no executor is ever called");
        Require(executors.timeout > Duration(0), "executors.timeout",
                "must be above 0: no executor answers at once");
        Require(executors.circuit_failures > 0, "executors.circuit_failures", "must be at least 1");
        Require(executors.circuit_open > Duration(0) &&
                    executors.circuit_open <= executors.circuit_open_max,
                "executors.circuit_open", "must be above 0 and at most executors.circuit_open_max",
                {"executors.circuit_open_max"});
    }

    void CheckWatching(const Config& config) {
        Require(config.metrics.interval >= kSecond && config.metrics.interval <= kSecond * 600,
                "metrics.interval", "must be between 1s and 10m");
        Require(config.metrics.clear_within >= kSecond &&
                    config.metrics.clear_within <= kSecond * 86'400,
                "metrics.clear_within", "must be between 1s and 1d");
        Require(config.alerts.interval >= kSecond && config.alerts.interval <= kSecond * 60,
                "alerts.interval", "must be between 1s and 1m");
        Require(config.statistics.keep >= std::chrono::hours(24), "statistics.keep",
                "must be at least 1d: statistics are kept by day");
        const Config::Tracing& tracing = config.tracing;
        Require(tracing.sample_ratio >= 0 && tracing.sample_ratio <= 1, "tracing.sample_ratio",
                "must be between 0 and 1");
        Require(!tracing.enabled || ParseUrl(tracing.endpoint), "tracing.endpoint",
                "must be an http:// or https:// URL", {"tracing.enabled"});
    }

    void CheckWorker(const Config::Worker& worker) {
        Require(worker.capacity > 0 && worker.capacity <= 100'000, "worker.capacity",
                "must be between 1 and 100000");
        Require(worker.weight > 0 && worker.weight <= kWeightMax, "worker.weight",
                "must be between 1 and " + std::to_string(kWeightMax));
    }

    void CheckSignIn(const Config::SignIn& signin) {
        if (config_.unread.contains("signin.issuer")) return;
        if (signin.issuer.empty()) {
            Require(signin.client_id.empty() && signin.roles.empty(), "signin.issuer",
                    "must be set for the other keys of signin to mean anything",
                    {"signin.client_id", "signin.roles"});
            return;
        }
        Require(IsUrlForSignIn(signin.issuer), "signin.issuer",
                "must be an https:// URL (http:// on this machine only), with neither '?' nor '#'");
        Require(!signin.client_id.empty(), "signin.client_id", "must be set beside signin.issuer");
        Require(!signin.session_key_file.empty(), "signin.session_key_file",
                "must name a file beside signin.issuer; 'openssl rand -hex 32' makes its content");
        // The cookie of a session would go over the network for all to read.
        Require(
            signin.public_url.empty() ||
                (IsUrlForSignIn(signin.public_url) && !signin.public_url.ends_with('/')),
            "signin.public_url",
            "must be an https:// URL (http:// on this machine only) that does not end with '/'");
        Require(signin.lifetime >= kSecond * 60 && signin.lifetime <= std::chrono::hours(8),
                "signin.lifetime", "must be between 1m and 8h");
        Require(!signin.roles.empty(), "signin.roles",
                "must say what groups may do: without it nobody who signs in may do anything");
        Require((" " + signin.scopes + " ").contains(" openid "), "signin.scopes",
                "must have openid among them");
    }

    void CheckServer(const Config::Server& server) {
        Require(server.tls_cert.empty() == server.tls_key.empty(), "server.tls_cert",
                "and server.tls_key go together", {"server.tls_key"});
        Require(server.connections_max > 0, "server.connections_max",
                "must be at least 1: with 0 every call is refused");
        Require(server.connections_per_address_max > 0, "server.connections_per_address_max",
                "must be at least 1: with 0 every call is refused");
        const std::string bytes = "must be at least " + std::to_string(kBodyBytesLeast) +
                                  ": with less hardly any task is taken";
        Require(server.body_bytes_max >= kBodyBytesLeast, "server.body_bytes_max", bytes);
        Require(server.bulk_bytes_max >= kBodyBytesLeast, "server.bulk_bytes_max", bytes);
        Require(server.io_threads <= kThreadsMax, "server.io_threads",
                "must be at most " + std::to_string(kThreadsMax) +
                    ": more threads than processors only get in each other's way");
    }

  private:
    // `others` are those that `key` is compared with. Of a key that could not be read, or was
    // written as another, nobody knows what it was to be.
    void Require(bool good, std::string_view key, const std::string& what,
                 std::initializer_list<std::string_view> others = {}) {
        const auto unread = [this](std::string_view one) { return config_.unread.contains(one); };
        if (good || unread(key) || std::ranges::any_of(others, unread)) return;
        mistakes_.Add(Placed(
            config_, {ErrorCode::kInvalid, std::string(key) + " " + what, std::string(key)}));
    }

    const Config& config_;
    Mistakes mistakes_;
};

}  // namespace

Result<void> CheckConfig(const Config& config) {
    Checker checker(config);
    checker.CheckScheduler(config.scheduler, config.engine);
    checker.CheckEngine(config.engine);
    checker.CheckExecutors(config.executors);
    checker.CheckWatching(config);
    checker.CheckWorker(config.worker);
    checker.CheckServer(config.server);
    checker.CheckSignIn(config.signin);
    return checker.result();
}

}  // namespace takt::internal
