// Quotas of a namespace, and that a change of them counts at once.
#include "engine/history.h"

namespace takt::internal {
namespace {

class QuotaTest : public History {
  protected:
    void Submit(Duration at, OnceSpec spec) { At(at, Once(std::move(spec))); }
    // The quota that the last question met; empty if it was answered well.
    std::string Met() {
        const auto& reply = LastReply();
        if (reply) return {};
        EXPECT_EQ(reply.error().code, ErrorCode::kExhausted) << reply.error().detail;
        return reply.error().field;
    }
    Configure Allow(Quotas quotas) const {
        return {.quotas = quotas,
                .retention = config.retention,
                .timeout = config.timeout,
                .retry = config.retry,
                .strategy = config.strategy,
                .log_bytes_max = config.log_bytes_max};
    }
};

TEST_F(QuotaTest, NobodyIsRefusedWithoutAQuota) {
    for (int i = 0; i < 1'000; ++i) Submit(0s, {.payload = std::string(1'000, 'x')});
    EXPECT_EQ(Met(), "");
}

// A team's loop runs wild: the others' queues must not notice.
TEST_F(QuotaTest, ExecutionsThatWaitAreCounted) {
    config.quotas.executions_waiting = 2;
    Submit(0s, {.id = "a"});
    Submit(0s, {.id = "b", .queue = "other", .delay = 1h});
    EXPECT_EQ(Met(), "");

    Submit(1s, {.id = "c"});
    EXPECT_EQ(Met(), "quotas.executions_waiting");

    At(2s, Join({.id = "w"}));
    Submit(2s, {.id = "c"});
    EXPECT_EQ(Met(), "") << "one of them runs";
}

// A team that reached its quota must not get round it by asking otherwise.
TEST_F(QuotaTest, TriggersAndWhatRunsAgainAreRefusedToo) {
    config.quotas = {.executions_waiting = 2, .payload_bytes = 100};
    At(0s, Put({.id = "rec", .every = 24h, .options = {.mode = Mode::kParallel}}));
    At(0s, Join({.id = "w", .capacity = 1}));
    Submit(0s, {.id = "failed", .retry = RetryPolicy{.retries_max = 0}});
    At(1s, Failure("failed"));
    At(1s, Set("w", WorkerStatus::kMaintenance));
    At(2s, TriggerOf("rec", std::string(101, 'x')));
    EXPECT_EQ(Met(), "quotas.payload_bytes");
    At(2s, TriggerOf("rec"));
    At(2s, TriggerOf("rec"));
    EXPECT_EQ(Met(), "");
    At(2s, TriggerOf("rec"));
    EXPECT_EQ(Met(), "quotas.executions_waiting");
    At(2s, RedriveOf("failed"));
    EXPECT_EQ(Met(), "quotas.executions_waiting");
}

// A program that is told to try again later would do so for ever.
TEST_F(QuotaTest, APayloadThatNeverFitsIsToldSo) {
    config.quotas.payload_bytes = 100;
    Submit(0s, {.payload = std::string(101, 'x')});
    EXPECT_EQ(Met(), "quotas.payload_bytes");
    const std::string& said = LastReply().error().detail;
    EXPECT_EQ(said.find("later"), std::string::npos) << said;
}

TEST_F(QuotaTest, SubmitsASecondAreABucket) {
    config.quotas.submits_per_second = 3;
    for (int i = 0; i < 3; ++i) Submit(0s, {});
    EXPECT_EQ(Met(), "");
    Submit(0s, {});
    EXPECT_EQ(Met(), "quotas.submits_per_second");

    Submit(400ms, {});
    EXPECT_EQ(Met(), "");
    Submit(400ms, {});
    EXPECT_EQ(Met(), "quotas.submits_per_second");
}

// A new leader counts what it took over, too.
TEST_F(QuotaTest, PayloadsOfWhatIsNotFinishedAreCountedOverLeaders) {
    config.quotas.payload_bytes = 100;
    Submit(0s, {.id = "a", .payload = std::string(60, 'x')});
    Restart(1s);
    Submit(1s, {.id = "b", .payload = std::string(41, 'x')});
    EXPECT_EQ(Met(), "quotas.payload_bytes");
    Submit(1s, {.id = "c", .payload = std::string(40, 'x')});
    EXPECT_EQ(Met(), "");

    At(2s, CancelOf("a"));
    Submit(2s, {.id = "d", .payload = std::string(60, 'x')});
    EXPECT_EQ(Met(), "");
    EXPECT_EQ(engine().quotas().payload_bytes(), 100u);
}

TEST_F(QuotaTest, AWorkerBeyondTheQuotaIsSentAwayAndOneThatComesBackIsNot) {
    config.quotas.workers = 1;
    At(0s, Join({.id = "a"}));
    At(0s, Join({.id = "b"}));
    ASSERT_EQ(closes.size(), 1u);
    EXPECT_EQ(closes[0].session, SessionOf("b"));
    EXPECT_NE(closes[0].reason.view().find("quota workers"), std::string::npos);

    closes.clear();
    At(1s, Join({.id = "a"}));
    ASSERT_EQ(closes.size(), 1u) << "its own older session, and nothing else";
    EXPECT_NE(closes[0].session, SessionOf("a"));

    At(2s, Bye("a"));
    closes.clear();
    At(3s, Join({.id = "b"}));
    EXPECT_TRUE(closes.empty());
}

// An administrator raises a quota while people wait for it.
TEST_F(QuotaTest, AChangeCountsAtOnce) {
    config.quotas.executions_waiting = 1;
    Submit(0s, {});
    Submit(0s, {});
    EXPECT_EQ(Met(), "quotas.executions_waiting");

    At(1s, Allow({.executions_waiting = 2}));
    Submit(1s, {});
    EXPECT_EQ(Met(), "");

    // A change of another quota does not fill the bucket again.
    At(2s, Allow({.submits_per_second = 1}));
    Submit(2s, {});
    At(2s, Allow({.submits_per_second = 1, .workers = 7}));
    Submit(2s, {});
    EXPECT_EQ(Met(), "quotas.submits_per_second");
}

TEST_F(QuotaTest, WhatTheNamespaceDecidesOtherwiseCountsFromThenOn) {
    At(0s, Join({.id = "w", .capacity = 2}));
    Submit(0s, {.id = "a"});
    Configure change = Allow({});
    change.timeout = 7s;
    change.strategy = Strategy::kRandom;
    At(1s, change);
    Submit(1s, {.id = "b"});

    ASSERT_EQ(assigns.size(), 2u);
    EXPECT_EQ(assigns[0].timeout, config.timeout);
    EXPECT_EQ(assigns[1].timeout, 7s);
    EXPECT_EQ(engine().strategy(), Strategy::kRandom);

    At(2s, Use(Strategy::kRoundRobin));
    change.strategy = Strategy::kSticky;
    At(3s, change);
    EXPECT_EQ(engine().strategy(), Strategy::kRoundRobin) << "an operator said so";
}

// Two administrators make a namespace at the same time, each having read the same directory.
TEST_F(QuotaTest, OfTwoSwapsThatReadTheSameOneSucceeds) {
    const SwapSettings swap{.guard = "namespaces.version",
                            .expected = "",
                            .next = "1",
                            .puts = {{"namespaces/a", "x"}}};
    SwapSettings first = swap;
    first.request = 101;
    At(0s, first);
    SwapSettings second = swap;
    second.request = 102;
    second.puts = {{"namespaces/b", "y"}};
    At(0s, second);
    EXPECT_TRUE(replies.at(101));
    ASSERT_FALSE(replies.at(102));
    EXPECT_EQ(replies.at(102).error().code, ErrorCode::kConflict);
    EXPECT_EQ(store.settings.at("namespaces/a"), "x");
    EXPECT_FALSE(store.settings.contains("namespaces/b"));

    Restart(1s);
    second.request = 103;
    At(1s, second);
    EXPECT_FALSE(replies.at(103)) << "the next leader knows it too";
    second.request = 104;
    second.expected = "1";
    second.next = "2";
    At(1s, second);
    EXPECT_TRUE(replies.at(104));
    EXPECT_EQ(store.settings.at("namespaces.version"), "2");
}

}  // namespace
}  // namespace takt::internal
