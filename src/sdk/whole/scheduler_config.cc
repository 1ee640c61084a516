#include "sdk/whole/scheduler_config.h"

#include <algorithm>

#include "sdk/own_names.h"
#include "sdk/whole/own_balancer.h"

namespace takt {
namespace {

template <typename To, typename From>
void Set(To& to, const std::optional<From>& from) {
    if (from) to = static_cast<To>(*from);
}

// A program that shortens a lease means it: what keeps it up follows, unless it is named too.
void SetTimes(const SchedulerOptions& options, internal::Config& config) {
    internal::Config::Scheduler& scheduler = config.scheduler;
    // A heartbeat that is slower than the lease allows asks for a longer one.
    config.engine.worker_lease =
        std::max(config.engine.worker_lease, options.heartbeat_interval.value_or(Duration(0)) * 3);
    Set(config.engine.worker_lease, options.worker_ttl);
    scheduler.heartbeat_interval = options.heartbeat_interval.value_or(
        std::min(scheduler.heartbeat_interval, config.engine.worker_lease / 3));
    Set(scheduler.leader_ttl, options.election_timeout);
    scheduler.leader_renew_interval =
        std::min(scheduler.leader_renew_interval, scheduler.leader_ttl / 3);
    Set(config.engine.timeout, options.task_timeout);
    Set(config.engine.retention, options.retention);
    Set(config.engine.cleanup_interval, options.cleanup_interval);
}

internal::Result<void> SetStrategy(const SchedulerOptions& options, internal::Config& config) {
    static const std::string kOwn = OwnStrategy("");
    for (const auto& [name, make] : options.load_balancers) {
        if (name.empty() || !make) {
            return internal::Fail(internal::ErrorCode::kInvalid,
                                  "a strategy of the program's own needs a name and a function",
                                  "load_balancers");
        }
        config.engine.balancers[name] = [name, make] { return WrapBalancer(name, make); };
    }
    const std::string& wanted = options.load_balance_strategy;
    if (!wanted.starts_with(kOwn)) return SetConfig(config, "scheduler.strategy", wanted);
    const std::string name = wanted.substr(kOwn.size());
    if (!options.load_balancers.contains(name)) {
        return internal::Fail(internal::ErrorCode::kInvalid,
                              "load_balancers has no strategy named '" + name + "'",
                              "load_balance_strategy");
    }
    config.engine.strategy = internal::Strategy::kCustom;
    config.engine.strategy_name = internal::Text(name);
    return {};
}

}  // namespace

internal::Result<internal::Config> ConfigOf(const SchedulerOptions& options) {
    internal::Config config;
    config.store.url = options.store_url;
    config.server.listen = options.listen;
    config.server.advertise = options.advertise;
    config.server.node_id = options.node_id;
    config.server.insecure = options.insecure;
    config.server.tls_cert = options.tls_cert;
    config.server.tls_key = options.tls_key;
    SetTimes(options, config);
    Set(config.engine.retry.retries_max, options.max_retry_attempts);
    Set(config.engine.retry.delay, options.retry_backoff_base);
    Set(config.engine.retry.delay_max, options.retry_backoff_max);
    Set(config.engine.pending_max, options.task_queue_size);
    Set(config.executors.concurrency_max, options.worker_pool_size);
    config.metrics.enabled = options.enable_metrics;
    config.tracing.enabled = options.enable_tracing;
    config.tracing.endpoint = options.tracing_endpoint;
    if (auto set = SetStrategy(options, config); !set) return std::unexpected(set.error());
    for (const auto& [key, value] : options.settings) {
        if (key.starts_with("log.") || key.starts_with("worker.")) {
            return internal::Fail(
                internal::ErrorCode::kInvalid,
                key + " is not a scheduler's: " +
                    (key.starts_with("log.") ? "takt::SetLog sets the process's log"
                                             : "takt::WorkerOptions has it"),
                "settings");
        }
        if (auto set = SetConfig(config, key, value); !set) return std::unexpected(set.error());
    }
    return config;
}

Error InOptionNames(Error error, const SchedulerOptions& options) {
    // A caller who wrote a key finds it again under that name.
    if (options.settings.contains(error.field)) return error;
    Error named =
        InOwnNames(std::move(error), {{"store.url", "store_url"},
                                      {"store", "store_url"},
                                      {"server.listen", "listen"},
                                      {"server.advertise", "advertise"},
                                      {"server.node_id", "node_id"},
                                      {"server.tls_cert", "tls_cert"},
                                      {"server.tls_key", "tls_key"},
                                      {"scheduler.heartbeat_interval", "heartbeat_interval"},
                                      {"scheduler.worker_lease", "worker_ttl"},
                                      {"scheduler.leader_ttl", "election_timeout"},
                                      {"scheduler.timeout", "task_timeout"},
                                      {"scheduler.max_retry", "max_retry_attempts"},
                                      {"scheduler.retry_delay", "retry_backoff_base"},
                                      {"scheduler.retry_delay_max", "retry_backoff_max"},
                                      {"scheduler.queue_size", "task_queue_size"},
                                      {"executors.concurrency_max", "worker_pool_size"},
                                      {"scheduler.retention", "retention"},
                                      {"scheduler.cleanup_interval", "cleanup_interval"},
                                      {"scheduler.strategy", "load_balance_strategy"},
                                      {"tracing.endpoint", "tracing_endpoint"}});
    constexpr std::string_view kFlag = "--insecure";
    if (const auto at = named.message.find(kFlag); at != named.message.npos) {
        named.message.replace(at, kFlag.size(), "insecure = true");
    }
    return named;
}

}  // namespace takt
