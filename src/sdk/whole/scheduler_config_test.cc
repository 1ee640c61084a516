// Options of SchedulerOptions and the keys that they become.
#include "sdk/whole/scheduler_config.h"

#include <gtest/gtest.h>

namespace takt {
namespace {

using namespace std::chrono_literals;

class FirstWorker final : public LoadBalancer {
  public:
    std::size_t Pick(const WorkToPlace&, std::span<const WorkerChoice>) override { return 0; }
};

// Somebody moves over from a Go kit and fills in every option there is.
TEST(SchedulerConfig, EveryOptionArrivesAtItsKey) {
    SchedulerOptions options{.store_url = "etcd://h:1/my-app",
                             .listen = "127.0.0.1:1",
                             .advertise = "http://h:1",
                             .node_id = "scheduler-1",
                             .insecure = true,
                             .tls_cert = "c.pem",
                             .tls_key = "k.pem",
                             .heartbeat_interval = 30s,
                             .worker_ttl = 90s,
                             .election_timeout = 30s,
                             .task_timeout = 5min,
                             .max_retry_attempts = 7,
                             .retry_backoff_base = 1s,
                             .retry_backoff_max = 60s,
                             .task_queue_size = 10'000,
                             .worker_pool_size = 50,
                             .retention = 24h,
                             .cleanup_interval = 1min,
                             .load_balance_strategy = std::string(kStrategyRandom),
                             .enable_metrics = false,
                             .enable_tracing = true,
                             .tracing_endpoint = "http://h:2",
                             .settings = {{"scheduler.losses_max", "9"}}};

    const auto config = ConfigOf(options);

    ASSERT_TRUE(config) << config.error().detail;
    EXPECT_EQ(config->store.url, options.store_url);
    EXPECT_TRUE(config->tracing.enabled);
    EXPECT_EQ(config->tracing.endpoint, "http://h:2");
    EXPECT_EQ(config->server.listen, options.listen);
    EXPECT_EQ(config->server.advertise, options.advertise);
    EXPECT_EQ(config->server.node_id, options.node_id);
    EXPECT_TRUE(config->server.insecure);
    EXPECT_EQ(config->server.tls_cert, options.tls_cert);
    EXPECT_EQ(config->server.tls_key, options.tls_key);
    EXPECT_EQ(config->scheduler.heartbeat_interval, 30s);
    EXPECT_EQ(config->engine.worker_lease, 90s);
    EXPECT_EQ(config->scheduler.leader_ttl, 30s);
    EXPECT_EQ(config->engine.timeout, 5min);
    EXPECT_EQ(config->engine.retry.retries_max, 7u);
    EXPECT_EQ(config->engine.retry.delay, 1s);
    EXPECT_EQ(config->engine.retry.delay_max, 60s);
    EXPECT_EQ(config->engine.pending_max, 10'000u);
    EXPECT_EQ(config->executors.concurrency_max, 50u);
    EXPECT_EQ(config->engine.retention, 24h);
    EXPECT_EQ(config->engine.cleanup_interval, 1min);
    EXPECT_EQ(config->engine.strategy, internal::Strategy::kRandom);
    EXPECT_FALSE(config->metrics.enabled);
    EXPECT_EQ(config->engine.losses_max, 9u);
}

// An option that nobody names is as `takt serve` has it.
TEST(SchedulerConfig, WhatIsLeftOutIsTheStandard) {
    const internal::Config standard;
    const auto config = ConfigOf({});
    ASSERT_TRUE(config);
    for (const internal::ConfigKey& key : internal::ConfigKeys()) {
        EXPECT_EQ(key.get(*config), key.get(standard)) << key.name;
    }
    EXPECT_TRUE(CheckConfig(*config));
}

// A test wants quick failover and names the leases only.
TEST(SchedulerConfig, ShortLeasesBringTheirRenewalsAlong) {
    const auto config = ConfigOf({.worker_ttl = 900ms, .election_timeout = 600ms});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->scheduler.heartbeat_interval, 300ms);
    EXPECT_EQ(config->scheduler.leader_renew_interval, 200ms);
    EXPECT_TRUE(CheckConfig(*config));
}

// The quick start of a Go kit names a heartbeat of 30 s, and nothing beside it.
TEST(SchedulerConfig, ASlowHeartbeatLengthensTheLeaseUnlessThatIsNamed) {
    const auto config = ConfigOf({.heartbeat_interval = 30s});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->scheduler.heartbeat_interval, 30s);
    EXPECT_EQ(config->engine.worker_lease, 90s);
    EXPECT_TRUE(CheckConfig(*config));
    const auto both = ConfigOf({.heartbeat_interval = 30s, .worker_ttl = 40s});
    ASSERT_TRUE(both);
    EXPECT_EQ(both->engine.worker_lease, 40s);
    EXPECT_EQ(CheckConfig(*both).error().field, "scheduler.heartbeat_interval");
}

// A program sets the level of the log, or something of a worker's, and would wonder why nothing
// changes.
TEST(SchedulerConfig, SettingsThatAreNotASchedulersAreRefused) {
    const auto refusal = [](const std::string& key, const std::string& value) {
        const auto config = ConfigOf({.settings = {{key, value}}});
        return config ? internal::Error{} : config.error();
    };
    for (const std::string key : {"log.level", "log.format", "log.file", "worker.capacity"}) {
        EXPECT_EQ(refusal(key, "1").code, internal::ErrorCode::kInvalid) << key;
        EXPECT_EQ(refusal(key, "1").field, "settings") << key;
    }
    EXPECT_NE(refusal("log.level", "off").detail.find("takt::SetLog"), std::string::npos);
    EXPECT_NE(refusal("worker.capacity", "2").detail.find("takt::WorkerOptions"),
              std::string::npos);
}

TEST(SchedulerConfig, OwnStrategyIsFoundByItsName) {
    SchedulerOptions options;
    options.load_balancers["first"] = [] { return std::make_unique<FirstWorker>(); };
    options.load_balance_strategy = OwnStrategy("first");
    const auto config = ConfigOf(options);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->engine.strategy, internal::Strategy::kCustom);
    EXPECT_EQ(config->engine.strategy_name, "first");
    EXPECT_TRUE(config->engine.balancers.at("first")());
}

}  // namespace
}  // namespace takt
