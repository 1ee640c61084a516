// Limits of a key that several name: the one accepted last counts, also when it has ended.
#include <algorithm>
#include <random>

#include "base/failpoint.h"
#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class LastLimitTest : public FlowHistory {
  protected:
    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        config.worker_lease = config.timeout = 24h;
    }
    static OnceSpec Keyed(std::string id, std::uint32_t max, Duration delay = 0s) {
        return {
            .id = std::move(id), .delay = delay, .concurrency_key = "K", .concurrency_max = max};
    }
    // The leader dies, and the worker comes back with what it has.
    void ChangeLeader(Duration at) {
        std::vector<AttemptRef> holding;
        for (const auto& [id, row] : store.executions) {
            const bool held = IsWorking(row.execution.status) && !row.execution.worker.empty();
            if (held) holding.push_back(RefOf(id.text().str()));
        }
        Restart(at);
        At(at, Join({.id = "a", .capacity = 100, .holding = std::move(holding)}));
    }
    // Fourteen that name one limit, and one with another that has ended when this returns.
    void Override(std::uint32_t before, std::uint32_t last) {
        At(0s, Join({.id = "a", .capacity = 100}));
        for (int i = 0; i < 14; ++i) At(0s, Once(Keyed("x" + std::to_string(i), before)));
        OnceSpec spec = Keyed("last", last);
        spec.priority = 9;
        At(1s, Once(spec));
        FinishAll(2s);
        if (IsWorking(StatusOf("last"))) At(3s, Success("last"));
        ASSERT_EQ(StatusOf("last"), Status::kSuccess);
    }
    // Until nothing is at work any more.
    void FinishAllFrom(Duration at) {
        for (int i = 0; i < 100 && HandOf("a") > 0; ++i) FinishAll(at + i * 1s);
        ASSERT_EQ(HandOf("a"), 0u);
    }
    std::size_t Count(bool (*which)(const Execution&)) const {
        return std::size_t(std::ranges::count_if(
            store.executions, [&](const auto& entry) { return which(entry.second.execution); }));
    }
};

TEST_F(LastLimitTest, ALoweredLimitStaysLowThroughTenLeaders) {
    Override(4, 1);
    EXPECT_EQ(HandOf("a"), 1u);
    for (int i = 0; i < 10; ++i) {
        ChangeLeader(30s + i * 10s);
        EXPECT_EQ(HandOf("a"), 1u);
        FinishAll(35s + i * 10s);
        EXPECT_LE(HandOf("a"), 1u);
    }

    EXPECT_THAT(store.settings, IsEmpty()) << "all have ended, and the key is free";
    At(200s, Once(Keyed("y0", 4)));
    At(200s, Once(Keyed("y1", 4)));
    EXPECT_EQ(HandOf("a"), 2u);
}

TEST_F(LastLimitTest, ARaisedLimitStaysRaisedThroughTenLeaders) {
    Override(1, 4);
    EXPECT_EQ(HandOf("a"), 4u);
    for (int i = 0; i < 10; ++i) {
        ChangeLeader(30s + i * 1s);
        EXPECT_EQ(HandOf("a"), 4u);
    }
    FinishAll(50s);

    EXPECT_EQ(HandOf("a"), 4u);
}

TEST_F(LastLimitTest, ARateThatWasLoweredStaysLow) {
    for (int i = 0; i < 40; ++i) {
        At(0s, Once({.id = "x" + std::to_string(i), .concurrency_key = "K", .rate = {20, 5s}}));
    }
    At(1s, Once({.id = "last", .priority = 9, .concurrency_key = "K", .rate = {1, 1h}}));
    At(2s, Join({.id = "a", .capacity = 100}));
    At(3s, Success("last"));
    for (int i = 0; i < 10; ++i) ChangeLeader(10s + i * 1min);
    Until(20min);
    EXPECT_THAT(assigns, SizeIs(1));
    Until(1h + 10s);

    EXPECT_THAT(assigns, SizeIs(2));
}

// Ten reports for tonight; then the limit of their key is lowered by what runs now.
TEST_F(LastLimitTest, WhatWaitsForItsTimeFollowsOneThatHasEnded) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (int i = 0; i < 10; ++i) At(0s, Once(Keyed("late" + std::to_string(i), 5, 10s)));
    At(1s, Once(Keyed("now", 1)));
    At(2s, Success("now"));
    Until(11s);
    EXPECT_EQ(HandOf("a"), 1u);
    ChangeLeader(12s);

    EXPECT_EQ(HandOf("a"), 1u);
}

TEST_F(LastLimitTest, WhatWaitsForAnotherAttemptFollowsOneThatHasEnded) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (int i = 0; i < 3; ++i) {
        OnceSpec spec = Keyed("x" + std::to_string(i), 5);
        spec.retry = RetryPolicy{.delay = 10s, .jitter = 0};
        At(0s, Once(spec));
    }
    for (int i = 0; i < 3; ++i) At(1s, Failure("x" + std::to_string(i)));
    At(2s, Once(Keyed("now", 1)));
    At(3s, Success("now"));
    Until(12s);

    EXPECT_EQ(HandOf("a"), 1u);
}

// It counts from when it is accepted, not from when it is due.
TEST_F(LastLimitTest, OneThatWaitsForItsTimeCountsAlready) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (int i = 0; i < 3; ++i) At(0s, Once(Keyed("x" + std::to_string(i), 1)));
    At(1s, Once(Keyed("tonight", 3, 12h)));
    EXPECT_EQ(HandOf("a"), 3u);
}

// The leader dies before the batch that accepts it is committed: it was not accepted.
TEST_F(LastLimitTest, AWordIsStoredWithItsAcceptanceOrNotAtAll) {
    At(0s, Join({.id = "a", .capacity = 100}));
    for (int i = 0; i < 9; ++i) At(0s, Once(Keyed("x" + std::to_string(i), 2)));
    Gather();
    At(1s, Once(Keyed("lost", 4)));
    ChangeLeader(2s);
    EXPECT_EQ(HandOf("a"), 2u);
    EXPECT_THAT(store.settings, IsEmpty());
    At(3s, Once(Keyed("kept", 4)));
    EXPECT_THAT(store.settings, Contains(Pair(Text("limit/key/K"), ::testing::_)));
    ChangeLeader(4s);

    EXPECT_EQ(HandOf("a"), 4u);
}

// A task of the schedule names the key too, between its runs as well.
TEST_F(LastLimitTest, ARecurringTaskFollowsOneThatHasEnded) {
    At(0s, Join({.id = "a", .capacity = 100}));
    TaskOptions options{.concurrency_key = "K", .concurrency_max = 5, .mode = Mode::kParallel};
    At(0s, Put({.every = 1h, .options = options}));
    At(1s, Once(Keyed("now", 1)));
    At(2s, Success("now"));
    ChangeLeader(3s);
    for (int i = 0; i < 3; ++i) At(4s, TriggerOf("report"));
    EXPECT_EQ(HandOf("a"), 1u);
    At(5s, Pause("report"));
    At(5s, Resume("report"));
    ChangeLeader(6s);
    At(6s, TriggerOf("report"));
    EXPECT_EQ(HandOf("a"), 1u) << "a pause is no word on its limit";
    options.concurrency_max = 3;
    At(7s, Put({.every = 1h, .options = options}));
    EXPECT_EQ(HandOf("a"), 3u);
    ChangeLeader(8s);
    EXPECT_EQ(HandOf("a"), 3u);
    FinishAllFrom(9s);
    EXPECT_THAT(store.settings, IsEmpty()) << "what is left names the limit that counts";
    At(60s, Once(Keyed("other", 1)));
    At(61s, Success("other"));
    EXPECT_THAT(store.settings, SizeIs(1));
    At(62s, Drop("report"));

    EXPECT_THAT(store.settings, IsEmpty());
    EXPECT_EQ(engine().limit_count(), 0u);
}

// The limit was lowered for those who waited; then the task was deleted, and they went on.
TEST_F(LastLimitTest, RunsOfADeletedTaskKeepTheLimitItHadLast) {
    At(0s, Join({.id = "a", .capacity = 100}));
    TaskOptions options{.concurrency_max = 4, .mode = Mode::kParallel};
    At(0s, Put({.every = 1h, .options = options}));
    for (int i = 0; i < 12; ++i) At(1s, TriggerOf("report"));
    options.concurrency_max = 1;
    At(2s, Put({.every = 1h, .options = options}));
    DeleteTask drop = Drop("report");
    drop.runs = RunsOfDeleted::kKeep;
    At(3s, drop);
    FinishAll(4s);
    EXPECT_EQ(HandOf("a"), 1u);
    ChangeLeader(5s);

    EXPECT_EQ(HandOf("a"), 1u);
    FinishAllFrom(6s);
    EXPECT_THAT(store.settings, IsEmpty());
}

// An old run is run again; its task has another limit by now.
TEST_F(LastLimitTest, WhatIsRunAgainDoesNotBringItsOldLimitBack) {
    At(0s, Join({.id = "a", .capacity = 100}));
    Duration at = 0s;
    for (const std::string key : {"", "K"}) {
        const std::string task = "task" + key;
        TaskOptions options{.concurrency_key = key, .concurrency_max = 5, .mode = Mode::kParallel};
        At(at, Put({.id = task, .every = 1h, .options = options}));
        At(at, TriggerOf(task));
        At(at, Failure(RunOf(task, 0), false));
        options.concurrency_max = 1;
        At(at + 1s, Put({.id = task, .every = 1h, .options = options}));
        for (int i = 0; i < 4; ++i) At(at + 2s, TriggerOf(task));
        EXPECT_EQ(HandOf("a"), 1u);
        ChangeLeader(at + 3s);
        At(at + 4s, RedriveOf(RunOf(task, 0)));
        EXPECT_EQ(HandOf("a"), 1u);
        FinishAllFrom(at + 5s);
        at += 1min;
    }
}

TEST_F(LastLimitTest, StepsAndWorkflowsFollowOneThatHasEnded) {
    At(0s, Join({.id = "a", .capacity = 100}));
    WorkflowStep keyed = MakeStep({.name = "s", .shards = 12});
    auto task = NewTaskPtr(new Task(*keyed.task));
    task->options =
        std::make_unique<TaskOptions>(TaskOptions{.concurrency_key = "K", .concurrency_max = 5});
    keyed.task = task;
    At(0s, Flow({.workflow = Workflow::Make({keyed}, {}).value()}));
    EXPECT_EQ(HandOf("a"), 5u);
    OnceSpec last = Keyed("last", 1);
    last.priority = 9;
    At(1s, Once(last));
    FinishAll(2s);
    At(3s, Success("last"));
    ChangeLeader(4s);
    EXPECT_EQ(HandOf("a"), 1u);
    FinishAllFrom(5s);
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_THAT(store.settings, IsEmpty());
    // Runs hold a permit of their own key while they go on.
    for (int i = 0; i < 4; ++i) {
        At(20s, Flow({.id = "w" + std::to_string(i),
                      .workflow = Workflow::Make({MakeStep({.name = "s"})}, {}).value(),
                      .concurrency_max = 1,
                      .concurrency_key = "W"}));
    }
    At(21s, Once({.id = "more", .concurrency_key = "W", .concurrency_max = 2}));
    At(22s, Success("more"));
    ChangeLeader(23s);

    EXPECT_EQ(HandOf("a"), 2u) << "the steps of two runs";
}

// Against a plain account of the rule, with leaders that change at any time.
TEST_F(LastLimitTest, WhateverHappensTheLimitIsThatOfTheOneAcceptedLast) {
    std::minstd_rand random(7);
    const auto below = [&](std::uint32_t bound) { return std::uint32_t(random() % bound); };
    At(0s, Join({.id = "a", .capacity = 100}));
    std::uint32_t limit = 0;
    std::size_t started = 0;
    int freed = 0;
    // It starts nobody beyond the limit, leaves nobody waiting below it, and forgets a free key.
    const auto check = [&](Duration at) {
        const std::size_t now = HandOf("a");
        if (assigns.size() > started) ASSERT_LE(now, limit) << "at " << at;
        started = assigns.size();
        const bool waiting = std::ranges::any_of(store.executions, [&](const auto& entry) {
            const Execution& row = entry.second.execution;
            return row.status == Status::kPending && row.ready_at <= WallAt(at);
        });
        if (waiting) ASSERT_GE(now, limit) << "at " << at;
        if (Count([](const Execution& row) { return !IsTerminal(row.status); }) > 0) return;
        ++freed;
        ASSERT_THAT(store.settings, IsEmpty()) << "at " << at;
    };
    for (int step = 1; step <= 1'000; ++step) {
        const Duration at = step * 1s;
        Until(at);
        ASSERT_NO_FATAL_FAILURE(check(at));
        // More come for a while, then fewer: the key is free now and then.
        const std::uint32_t kind = below(step % 100 < 50 ? 10 : 30);
        if (kind < 4) {
            limit = 1 + below(4);
            const Duration delay = below(2) == 0 ? 0s : 1s * below(20);
            At(at, Once(Keyed("x" + std::to_string(step), limit, delay)));
        } else if (kind < 6) {
            ChangeLeader(at);
        } else {
            const auto working = [](const auto& entry) {
                return IsWorking(entry.second.execution.status);
            };
            const auto first = std::ranges::find_if(store.executions, working);
            if (first != store.executions.end()) At(at, Success(first->first.text().str()));
        }
        ASSERT_NO_FATAL_FAILURE(check(at));
    }
    EXPECT_GT(freed, 10);
}

}  // namespace
}  // namespace takt::internal
