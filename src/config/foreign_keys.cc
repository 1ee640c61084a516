#include "config/foreign_keys.h"

#include <algorithm>
#include <cctype>

namespace takt::internal {
namespace {

constexpr std::string_view kRedis = "redis://:PASSWORD@HOST:6379/DATABASE";
constexpr std::string_view kMysql = "mysql://USER:PASSWORD@HOST:3306/DATABASE";
constexpr std::string_view kNoPool =
    "leave it out: one connection carries everything, in pipelines";
constexpr std::string_view kNoLockKey = "leave it out: each store has one lead of its own";

constexpr ForeignKey kForeignKeys[] = {
    // A kit over etcd: options of its scheduler, then of its worker.
    {"NodeID", "server.node_id", {}},
    {"EtcdKeyPrefix", "store.url", "etcd://HOST:2379/PREFIX"},
    {"HeartbeatInterval", "scheduler.heartbeat_interval", {}},
    {"TaskTimeout", "scheduler.timeout", {}},
    {"WorkerTimeout", "scheduler.worker_lease", {}},
    {"WorkerTTL", "scheduler.worker_lease", {}},
    {"ElectionTimeout", "scheduler.leader_ttl", {}},
    {"LoadBalanceStrategy", "scheduler.strategy", {}},
    {"EnableMetrics", "metrics.enabled", {}},
    {"EnableTracing", "tracing.enabled", {}},
    {"MaxRetryAttempts", "scheduler.max_retry", {}},
    {"RetryBackoffBase", "scheduler.retry_delay", {}},
    {"RetryBackoffMax", "scheduler.retry_delay_max", {}},
    {"TaskQueueSize", "scheduler.queue_size", {}},
    {"WorkerPoolSize", "executors.concurrency_max", {}},
    {"WorkerID", "worker.id", {}},
    {"WorkerName", "worker.name", {}},
    {"MaxConcurrency", "worker.capacity", {}},
    {"IdleTimeout", "worker.idle_timeout", {}},
    {"EnableHealthCheck", "worker.health_listen", {}},
    {"BufferSize", "worker.buffer_size", {}},
    {"EnableCompression", "worker.compression", {}},
    // A kit over Redis with a YAML file.
    {"schedule.leader_lock_ttl", "scheduler.leader_ttl", {}},
    {"schedule.leader_renew_interval", "scheduler.leader_renew_interval", {}},
    {"schedule.scan_interval", "scheduler.scan_interval", {}},
    {"worker.heartbeat_timeout", "scheduler.worker_lease", {}},
    {"worker.max_concurrent_tasks", "worker.capacity", {}},
    {"task.default_timeout", "scheduler.timeout", {}},
    {"task.max_retry", "scheduler.max_retry", {}},
    {"task.retry_delay", "scheduler.retry_delay", {}},
    {"task.backoff_rate", "scheduler.retry_backoff_rate", {}},
    {"redis.addr", "store.url", kRedis},
    {"redis.password", "store.url", kRedis},
    {"redis.db", "store.url", kRedis},
    {"redis.pool_size", "", kNoPool},
    // A kit over Redis that is configured in its program.
    {"RedisClient", "store.url", kRedis},
    {"SchedulerID", "server.node_id", {}},
    {"Namespace", "store.url", "redis://HOST:6379?prefix=NAMESPACE"},
    {"CleanupInterval", "scheduler.cleanup_interval", {}},
    {"TaskRetryLimit", "scheduler.max_retry", {}},
    {"LeaderLeaseTTL", "scheduler.leader_ttl", {}},
    {"EnableMonitoring", "metrics.enabled", {}},
    {"MetricsInterval", "metrics.interval", {}},
    {"HealthCheckInterval", "executors.health_interval", {}},
    {"AlertRules", "alerts.rules", {}},
    {"TaskTypes", "worker.types", {}},
    {"Capacity", "worker.capacity", {}},
    {"Debug", "log.level", "debug"},
    {"LogLevel", "log.level", {}},
    // A kit over MySQL with a YAML file.
    {"database.host", "store.url", kMysql},
    {"database.port", "store.url", kMysql},
    {"database.database", "store.url", kMysql},
    {"database.user", "store.url", kMysql},
    {"database.password", "store.url", kMysql},
    {"scheduler.instance_id", "server.node_id", {}},
    {"scheduler.lock_key", "", kNoLockKey},
    {"scheduler.lock_timeout", "scheduler.leader_ttl", {}},
    {"scheduler.max_workers", "executors.concurrency_max", {}},
    {"health_check.enabled", "executors.health_check", {}},
    {"health_check.interval", "executors.health_interval", {}},
    {"health_check.timeout", "executors.health_timeout", {}},
    {"health_check.failure_threshold", "executors.failure_threshold", {}},
    {"health_check.recovery_threshold", "executors.recovery_threshold", {}},
};

bool SameLetters(std::string_view a, std::string_view b) {
    return std::ranges::equal(
        a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::span<const ForeignKey> ForeignKeys() {
    return kForeignKeys;
}

const ForeignKey* FindForeignKey(std::string_view name) {
    const auto* found = std::ranges::find_if(
        kForeignKeys, [&](const ForeignKey& key) { return SameLetters(key.theirs, name); });
    return found == std::end(kForeignKeys) ? nullptr : found;
}

}  // namespace takt::internal
