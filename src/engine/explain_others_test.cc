// Why a fleet does nothing: near misses of workers, and what tasks, queues and workers say of
// themselves.
#include "engine/recurring_fixture.h"

namespace takt::internal {
namespace {

using ::testing::HasSubstr;

class ExplainOthersTest : public RecurringTest {
  protected:
    Explanation Execution(const std::string& id) {
        return engine().Explain(ExecutionId(Text(id)), Now()).value_or(Explanation{"none", ""});
    }
    Explanation TaskNamed(const std::string& id = "report") {
        return engine().ExplainTask(TaskId(Text(id)), Now()).value_or(Explanation{"none", ""});
    }
    Explanation QueueNamed(const std::string& name) {
        return engine().ExplainQueue(Text(name)).value_or(Explanation{"none", ""});
    }
    Explanation WorkerNamed(const std::string& id) {
        return engine().ExplainWorker(WorkerId(Text(id))).value_or(Explanation{"none", ""});
    }
    void Load(Duration at, const std::string& worker, WorkerLoad load) {
        Heartbeat beat = Beat(worker);
        beat.load = load;
        At(at, beat);
    }
    // Later than anything that a test here waits for.
    Instant Now() const { return {WallAt(2h), Steady(9h)}; }
};

// Each demand is met by somebody in the fleet, all of them by nobody.
TEST_F(ExplainOthersTest, TheWorkerThatComesNearestIsNamedWithWhatItLacks) {
    At(0s, Join({.id = "wp", .types = {Text("noop")}, .queues = {Text("prio")}}));
    At(0s, Join({.id = "push", .types = {Text("mail")}, .labels = {{"gpu", "yes"}}}));
    At(0s, Once({.id = "x", .type = "noop"}));
    EXPECT_EQ(Execution("x").code, "near_miss_queue");
    EXPECT_EQ(Execution("x").sentence,
              "worker 'wp' could run it, but serves only prio; start a worker with --queues "
              "default");
    At(0s, Once({.id = "y", .type = "noop", .queue = "prio", .labels = {{"gpu", "yes"}}}));
    EXPECT_EQ(Execution("y").code, "near_miss_labels");
    EXPECT_THAT(Execution("y").sentence, HasSubstr("'wp'"));
    At(0s, Once({.id = "z", .type = "noop", .queue = "prio", .target = "push"}));
    EXPECT_EQ(Execution("z").code, "near_miss_executor");
    At(0s, Once({.id = "v", .type = "noop", .labels = {{"gpu", "yes"}}, .target = "push"}));
    EXPECT_EQ(Execution("v").code, "near_miss_type");
    EXPECT_THAT(Execution("v").sentence, HasSubstr("'push'"));
}

// A worker was told to stop and finishes what it has.
TEST_F(ExplainOthersTest, AWorkerThatStopsIsNotBusy) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x"}));
    Load(1s, "a", {.draining = true});
    At(2s, Once({.id = "y"}));
    EXPECT_EQ(Execution("y").code, "worker_stopping");
    EXPECT_EQ(Execution("y").sentence,
              "1 worker that could run it is stopping and taking nothing new; start another one");
    EXPECT_EQ(WorkerNamed("a").code, "worker_leaving");
}

TEST_F(ExplainOthersTest, AnOpenCircuitSaysWhenItIsTried) {
    At(0s, Join({.id = "billing-1", .capacity = 10, .link = LinkKind::kPush}));
    Load(1s, "billing-1",
         {.draining = true, .tried_at = kBegin + 11s, .trouble = "connection refused"});
    At(2s, Once({.id = "y"}));
    EXPECT_EQ(Execution("y").code, "circuit_open");
    EXPECT_THAT(Execution("y").sentence, HasSubstr("2026-01-01T00:00:11.000Z"));
    EXPECT_THAT(Execution("y").sentence, HasSubstr("keep failing (connection refused)"));
    EXPECT_EQ(WorkerNamed("billing-1").code, "worker_circuit_open");
    EXPECT_THAT(WorkerNamed("billing-1").sentence, HasSubstr("connection refused"));
}

// An order that could not be sent comes back; the next one to have it may be another one.
TEST_F(ExplainOthersTest, WhatCouldNotBeSentSaysWhyInItsHistory) {
    Attach service = Join({.id = "billing-1", .capacity = 10, .link = LinkKind::kPush});
    At(0s, service);
    At(0s, Once({.id = "y"}));
    Attach again = Join({.id = "billing-1", .capacity = 10, .link = LinkKind::kPush});
    again.load = {.draining = true, .tried_at = kBegin + 11s, .trouble = "connection refused"};
    At(1s, again);
    const auto& past = Row("y").outcome->past;
    ASSERT_EQ(past.size(), 1u);
    EXPECT_EQ(past[0].end, AttemptEnd::kReturned);
    EXPECT_EQ(past[0].message, "connection refused");
}

TEST_F(ExplainOthersTest, OneIsNotMany) {
    At(0s, Join({.id = "a"}));
    for (const char* id : {"x", "y", "z"}) At(0s, Once({.id = id}));
    EXPECT_EQ(Execution("z").sentence,
              "the only worker that could run it is busy (1 of 1 place taken); 1 other waits in "
              "queue 'default'");
    At(1s, Set("a", WorkerStatus::kMaintenance));
    EXPECT_THAT(Execution("z").sentence, HasSubstr("1 worker could run it"));
}

// --- Tasks ---------------------------------------------------------------------------------------

TEST_F(ExplainOthersTest, ATaskSaysWhenItFires) {
    EXPECT_EQ(TaskNamed().code, "none");
    At(0s, Put({.every = 1h, .options = Parallel()}));
    EXPECT_EQ(TaskNamed().code, "task_first");
    At(0s, Join({.id = "a", .capacity = 10}));
    Until(1h);
    FinishAll(1h);
    EXPECT_EQ(TaskNamed().code, "task_next");
    EXPECT_EQ(TaskNamed().sentence,
              "it fires next at 2026-01-01T02:00:00.000Z; the last due time was "
              "2026-01-01T01:00:00.000Z");
}

TEST_F(ExplainOthersTest, ATaskSaysWhyItDoesNotFire) {
    At(0s, Put({.id = "paused", .every = 1h}));
    At(1s, Pause("paused"));
    EXPECT_EQ(TaskNamed("paused").code, "task_paused");
    At(2s, Join({.id = "a", .capacity = 10}));
    At(2s, Put({.id = "thrice", .every = 1s, .fires_max = 3, .options = Parallel()}));
    At(2s, Put({.id = "over", .every = 1s, .end_at = 5s, .options = Parallel()}));
    At(2s, Put({.id = "delay", .after_end = 1min}));
    Until(10s);
    EXPECT_EQ(TaskNamed("delay").code, "task_after_run");
    FinishAll(10s);
    EXPECT_EQ(TaskNamed("thrice").code, "task_used_up");
    EXPECT_EQ(TaskNamed("thrice").sentence,
              "it has fired 3 times, as often as its fires_max allows");
    EXPECT_EQ(TaskNamed("over").code, "task_over");
}

TEST_F(ExplainOthersTest, ATaskWhoseRunWaitsSaysWhy) {
    At(0s, Put({.every = 1h}));
    Until(1h);
    EXPECT_EQ(TaskNamed().code, "task_run_waits");
    EXPECT_THAT(TaskNamed().sentence, HasSubstr("no worker is connected"));
    EXPECT_THAT(TaskNamed().sentence, HasSubstr(RunOf("report", 0)));
}

// --- Queues and workers --------------------------------------------------------------------------

TEST_F(ExplainOthersTest, AQueueSaysWhatItsExecutionsWaitFor) {
    EXPECT_EQ(QueueNamed("bulk").code, "none");
    At(0s, Once({.id = "x", .queue = "bulk"}));
    EXPECT_EQ(QueueNamed("bulk").code, "queue_unserved");
    At(0s, Join({.id = "a", .queues = {Text("bulk")}}));
    EXPECT_EQ(QueueNamed("bulk").code, "queue_empty");
    At(0s, Once({.id = "y", .queue = "bulk"}));
    EXPECT_EQ(QueueNamed("bulk").code, "queue_busy");
    EXPECT_THAT(QueueNamed("bulk").sentence, HasSubstr("1 execution waits"));
    At(0s, Limit("bulk", {.working_max = 1}));
    EXPECT_EQ(QueueNamed("bulk").code, "queue_at_limit");
    At(0s, Limit("bulk", {.paused = true}));
    EXPECT_EQ(QueueNamed("bulk").code, "queue_is_paused");
    At(0s, Once({.id = "z", .queue = "later", .run_at = 1h}));
    EXPECT_EQ(QueueNamed("later").code, "queue_not_ready");
}

// An operator who mends one of them must not find the next the day after.
TEST_F(ExplainOthersTest, AQueueNamesAllThatNobodyServes) {
    At(0s, Join({.id = "a", .types = {Text("mail")}}));
    At(0s, Once({.id = "x", .type = "pay"}));
    At(0s, Once({.id = "y", .type = "mail", .labels = {{"zone", "moon"}}}));
    EXPECT_EQ(QueueNamed("default").code, "queue_unserved");
    EXPECT_THAT(QueueNamed("default").sentence,
                testing::AllOf(HasSubstr("'pay' has no worker"), HasSubstr("'mail' has no worker"),
                               HasSubstr("zone=moon")));
    for (const char* type : {"b", "c", "d"}) At(0s, Once({.id = type, .type = type}));
    EXPECT_THAT(QueueNamed("default").sentence, testing::EndsWith("; and 2 more"));
}

TEST_F(ExplainOthersTest, AQueueAtItsRateSaysSo) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Limit("default", {.rate = {1, 1h}}));
    At(0s, Once({.id = "x"}));
    At(0s, Once({.id = "y"}));
    EXPECT_EQ(QueueNamed("default").code, "queue_at_rate");
}

TEST_F(ExplainOthersTest, AWorkerSaysWhyItGetsNothing) {
    EXPECT_EQ(WorkerNamed("a").code, "none");
    At(0s, Join({.id = "a"}));
    EXPECT_EQ(WorkerNamed("a").code, "worker_idle");
    At(0s, Once({.id = "x"}));
    EXPECT_EQ(WorkerNamed("a").code, "worker_full");
    At(1s, Set("a", WorkerStatus::kDraining));
    EXPECT_EQ(WorkerNamed("a").code, "worker_draining");
    EXPECT_THAT(WorkerNamed("a").sentence, HasSubstr("1 attempt and"));
    At(1s, Set("a", WorkerStatus::kMaintenance));
    EXPECT_EQ(WorkerNamed("a").code, "worker_maintenance");
    At(1s, Set("a", WorkerStatus::kOnline));
    At(2s, Cut("a"));
    EXPECT_EQ(WorkerNamed("a").code, "worker_disconnected");
    At(3s, Set("a", WorkerStatus::kOffline));
    EXPECT_EQ(WorkerNamed("a").code, "worker_offline");
}

// Killed together with the scheduler: when it joined is not when it was last seen.
TEST_F(ExplainOthersTest, NobodyClaimsToHaveSeenAWorkerThatNoLeaderHeardOfSince) {
    config.worker_lease = 30s;
    At(0s, Join({.id = "a"}));
    At(0s, Join({.id = "b"}));
    At(1s, Set("b", WorkerStatus::kOffline));
    Restart(20s);
    const auto seen = [&](const std::string& id) {
        for (const WorkerView& worker : engine().Workers()) {
            if (worker.row.id.text().view() == id) return worker.row.seen_at;
        }
        return WallAt(-1s);
    };
    EXPECT_EQ(seen("a"), Time{});
    EXPECT_EQ(seen("b"), WallAt(0s)) << "what was written when it went is kept";
    Until(2min);
    EXPECT_EQ(WorkerNamed("a").code, "worker_unheard");
    EXPECT_EQ(seen("a"), Time{});
    At(3min, Join({.id = "a"}));
    EXPECT_EQ(seen("a"), WallAt(3min));
}

}  // namespace
}  // namespace takt::internal
