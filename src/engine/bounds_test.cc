// Bounds of steps, batches and memory; histories that can be repeated.
#include "engine/history.h"
#include "model/record.h"

namespace takt::internal {
namespace {

class BoundsTest : public History {};

// --- Steps --------------------------------------------------------------------------------------

// A large worker dies. The narrowest store takes 126 changes per commit; nobody else may wait long.
TEST_F(BoundsTest, LosingAWorkerWithAThousandAttemptsTakesManySmallSteps) {
    At(0s, Join({.id = "a", .capacity = 1000}));
    for (int i = 0; i < 1000; ++i) At(0s, Once({}));
    ASSERT_EQ(HandOf("a"), 1000u);
    At(1s, Join({.id = "b", .capacity = 1000}));
    At(20s, Beat("b"));
    Until(31s);

    EXPECT_EQ(HandOf("b"), 1000u);
    EXPECT_EQ(engine().counters().lost, 1000u);
    EXPECT_LE(changes_in_largest_step(), config.changes_per_step + 4);
}

// A flood waits, then a large worker joins.
TEST_F(BoundsTest, FillingALargeWorkerTakesManySmallSteps) {
    for (int i = 0; i < 500; ++i) At(0s, Once({}));
    At(1s, Join({.id = "a", .capacity = 400}));
    Until(1s);

    EXPECT_EQ(HandOf("a"), 400u);
    EXPECT_EQ(engine().count(Status::kPending), 100u);
    EXPECT_LE(changes_in_largest_step(), config.changes_per_step + 4);
}

// Everything that was to retry during an outage of the leader is due when the next one begins.
TEST_F(BoundsTest, TakingOverManyThatAreDueTakesManySmallSteps) {
    At(0s, Join({.id = "a", .capacity = 300}));
    for (int i = 0; i < 300; ++i) {
        const std::string id = "x" + std::to_string(i);
        At(0s, Once({.id = id, .retry = RetryPolicy{.delay = 10s}}));
        At(0s, Failure(id));
    }
    for (int i = 0; i < 300; ++i) At(1s, Once({.type = "nobody", .expires_after = 5s}));
    tick_between = false;
    Restart(20s);
    tick_between = true;
    At(20s, Join({.id = "a", .capacity = 300}));
    Until(21s);

    EXPECT_EQ(HandOf("a"), 300u);
    EXPECT_EQ(engine().counters().failed, 300u);
    EXPECT_LE(changes_in_largest_step(), config.changes_per_step + 4);
}

// Thirty images wait, then a worker comes that has room for all, and dies. etcd takes 1.5 MiB.
TEST_F(BoundsTest, AStepIsBoundedInBytesToo) {
    constexpr std::size_t kPayload = 60'000;
    config.bytes_per_step = 96u << 10;
    for (int i = 0; i < 30; ++i) At(0s, Once({.payload = std::string(kPayload, 'x')}));
    At(1s, Join({.id = "a", .capacity = 30}));
    Until(1s);
    ASSERT_EQ(HandOf("a"), 30u);
    Until(32s);

    EXPECT_EQ(engine().counters().lost, 30u);
    EXPECT_EQ(engine().count(Status::kPending), 30u);
    EXPECT_LE(bytes_in_largest_step(), config.bytes_per_step + kPayload + 4'000);
}

// --- Batches ------------------------------------------------------------------------------------

// A short task: submitted, assigned, begun and finished before the store took the batch.
TEST_F(BoundsTest, ABatchHasOneChangeOfEachRowHoweverOftenItChanged) {
    At(0s, Join({.id = "a"}));
    Gather();
    At(500ms, Once({}));
    const Execution row = engine().HandOf(engine().Workers().at(0).row.id).at(0).execution;
    const AttemptRef ref{row.id, row.attempt, row.token};
    At(500ms, Started{SessionOf("a"), ref});
    At(500ms, ReportOf(ref, "a", true));
    Commit();

    EXPECT_EQ(changes_in_last_commit(), 1u);
    ASSERT_EQ(store.executions.size(), 1u);
    EXPECT_EQ(store.executions.begin()->second.execution.status, Status::kSuccess);
    EXPECT_EQ(store.executions.begin()->second.place, Place::kHistory);
}

// That an attempt has begun goes along with a later commit, and is not written at all if the end
// comes first.
TEST_F(BoundsTest, AStartIsNotWorthACommit) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    Effects effects;
    const Started begun = Begun("x");
    const Report done = Success("x");
    engine().Step(begun, {WallAt(500ms), Steady(std::chrono::hours(7)) + 500ms}, effects);

    EXPECT_FALSE(effects.urgent);
    EXPECT_EQ(effects.changes.size(), 1u);
    engine().Step(done, {WallAt(500ms), Steady(std::chrono::hours(7)) + 500ms}, effects);
    EXPECT_TRUE(effects.urgent);
    EXPECT_EQ(effects.changes.size(), 1u);
}

// --- Memory -------------------------------------------------------------------------------------

// A client makes up a label for each task. Their lanes must not pile up for ever.
TEST_F(BoundsTest, LanesThatNothingUsesAreForgottenWhenThereAreMany) {
    At(0s, Join({.id = "a", .capacity = 10}));
    for (int i = 0; i < 6000; ++i) {
        const std::string id = "x" + std::to_string(i);
        At(0s, Once({.id = id, .labels = {{"run", std::to_string(i)}}}));
        At(0s, CancelOf(id));
    }
    EXPECT_LE(engine().lane_count(), 257u);

    At(1s, Once({.id = "last"}));
    EXPECT_EQ(StatusOf("last"), Status::kScheduled);
}

// A client makes up a queue for each customer. What an operator said of one is not forgotten.
TEST_F(BoundsTest, QueuesThatNothingUsesAreForgottenWhenThereAreMany) {
    At(0s, Limit("shut", {.paused = true}));
    At(0s, Once({.id = "waits", .queue = "kept"}));
    for (int i = 0; i < 2000; ++i) {
        const std::string id = "x" + std::to_string(i);
        At(0s, Once({.id = id, .queue = "customer-" + std::to_string(i)}));
        At(0s, CancelOf(id));
    }
    EXPECT_LE(engine().Queues().size(), 600u);
    ASSERT_TRUE(engine().FindQueue(Text("shut")));
    EXPECT_TRUE(engine().FindQueue(Text("shut"))->limits.paused);
    ASSERT_TRUE(engine().FindQueue(Text("kept")));
    EXPECT_EQ(engine().FindQueue(Text("kept"))->waiting, 1u);
}

// --- Retention ----------------------------------------------------------------------------------

TEST_F(BoundsTest, PurgingGoesAlongAboutOnceASecondWhileExecutionsFinish) {
    config.worker_lease = 1h;
    At(0s, Join({.id = "a"}));
    for (int i = 0; i < 100; ++i) {
        const std::string id = "x" + std::to_string(i);
        At(i * 100ms, Once({.id = id}));
        At(i * 100ms, Success(id));
    }
    EXPECT_GE(store.purges.size(), 9u);
    EXPECT_LE(store.purges.size(), 10u);
    EXPECT_EQ(store.purges.back().finished_before, WallAt(9s) - config.retention);
    EXPECT_GE(store.purges.back().count_max, 1000u);
}

TEST_F(BoundsTest, AnIdleSchedulerPurgesOnceInAWhile) {
    config.purge_max = 100'000;
    Until(1h);
    EXPECT_EQ(store.purges.size(), std::size_t(1h / config.cleanup_interval));
}

// etcd deletes some hundred at a time while thousands finish in a second. What is deleted must not
// fall behind, or the history outgrows its store.
TEST_F(BoundsTest, PurgesDeleteAsManyAsFinishHoweverFewOneOfThemMay) {
    config.purge_max = 100;
    At(0s, Join({.id = "a", .capacity = 10}));
    constexpr int kFinished = 5'000;
    for (int i = 0; i < kFinished; ++i) {
        const std::string id = "x" + std::to_string(i);
        At(Duration(i / 5), Once({.id = id}));
        At(Duration(i / 5), Success(id));
    }
    std::uint64_t deleted = 0;
    for (const Purge& purge : store.purges) {
        EXPECT_LE(purge.count_max, 100u);
        deleted += purge.count_max;
    }
    EXPECT_GE(deleted, std::uint64_t(kFinished - 100));
}

// One commit brings more than a purge may delete: the rest follows, also when nothing else happens.
TEST_F(BoundsTest, WhatAPurgeCouldNotDeleteIsPurgedLater) {
    config.purge_max = 100;
    config.worker_lease = 1h;
    At(0s, Join({.id = "a", .capacity = 1000}));
    for (int i = 0; i < 1000; ++i) At(0s, Once({.id = "x" + std::to_string(i)}));
    Gather();
    for (int i = 0; i < 1000; ++i) At(500ms, Success("x" + std::to_string(i)));
    Commit();
    EXPECT_EQ(store.purges.size(), 1u);
    Until(1min);

    EXPECT_GE(store.purges.size(), 9u);
    EXPECT_LE(store.purges.size(), 12u);
}

// --- Clocks -------------------------------------------------------------------------------------

// NTP steps the clock, or somebody sets it by hand.
TEST_F(BoundsTest, AWallClockThatJumpsForwardTouchesNeitherLeasesNorTimeouts) {
    At(0s, Join({.id = "a", .capacity = 2}));
    At(0s, Once({.id = "x", .timeout = 25s}));
    At(1s, Begun("x"));
    JumpWall(1h);
    Until(29s);

    EXPECT_EQ(StatusOf("x"), Status::kRunning);
    EXPECT_EQ(EventCount(EventType::kWorkerOffline), 0u);
}

TEST_F(BoundsTest, AWallClockThatJumpsBackStartsNothingEarlyAndStopsNothing) {
    config.worker_lease = 12h;
    At(0s, Join({.id = "a", .capacity = 9}));
    At(0s, Once({.id = "x", .timeout = 60s}));
    At(0s, Once({.id = "later", .run_at = 10min}));
    At(1s, Begun("x"));
    JumpWall(-1h);
    At(2s, Once({.id = "now"}));
    EXPECT_EQ(StatusOf("now"), Status::kScheduled);
    At(61s, Beat("a"));
    Until(66s);
    EXPECT_EQ(StatusOf("x"), Status::kRetrying) << "timeouts are of the steady clock";
    Until(1h + 10min - 1ms);
    EXPECT_EQ(StatusOf("later"), Status::kPending);
    Until(1h + 10min);

    EXPECT_EQ(StatusOf("later"), Status::kScheduled);
    EXPECT_EQ(EventCount(EventType::kWorkerOffline), 0u);
}

// --- Repeatable ---------------------------------------------------------------------------------

std::string Print(const Effects& effects) {
    std::string text;
    for (const Change& change : effects.changes) {
        if (const auto* execution = std::get_if<ExecutionChange>(&change)) {
            text += EncodeExecution(execution->row);
            text += char('0' + int(execution->before));
            text += char('0' + int(execution->after));
        } else if (const auto* worker = std::get_if<WorkerPut>(&change)) {
            text += EncodeWorker(worker->row);
        } else if (const auto* event = std::get_if<EventAppend>(&change)) {
            text += EncodeEvent(event->row);
        }
        text += std::to_string(change.index());
    }
    for (const Assign& assign : effects.assigns) {
        text += std::to_string(assign.session) + TokenText(assign.execution.token);
    }
    for (const StopAttempt& stop : effects.stops) text += TokenText(stop.attempt.token);
    for (const Verdict& verdict : effects.verdicts) text += verdict.accepted ? "y" : "n";
    for (const Event& event : effects.events) text += EncodeEvent(event);
    for (const Reply& reply : effects.replies) {
        text += std::to_string(reply.request) + (reply.answer ? "+" : "-");
    }
    return text;
}

// A history of random inputs; returns everything that came of it.
std::string RandomHistory(std::uint64_t seed, int inputs) {
    Random random(SeedOf(seed));
    EngineConfig config;
    config.worker_lease = 20s;
    Engine engine(config, {0, 1}, SeedOf(1));
    Effects effects;
    Instant now{Time(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)), Steady(1h)};
    engine.Begin(0, now, effects);
    std::string text;
    std::vector<AttemptRef> given;
    SessionId session = 0;
    for (int i = 0; i < inputs; ++i) {
        const Duration pass(random.Below(200));
        now = {now.wall + pass, now.steady + pass};
        Input input = Tick{};
        const auto dice = random.Below(100);
        if (dice < 40) {
            auto task = NewTaskPtr(new Task);
            task->type = "t" + std::to_string(random.Below(5));
            task->queue = "default";
            task->priority = std::uint8_t(random.Below(10));
            task->timeout = Duration(1000 + random.Below(20'000));
            input = Submit{1 + random.Below(100), task};
        } else if (dice < 45) {
            Worker worker;
            worker.id = WorkerId(Text("w" + std::to_string(random.Below(8))));
            worker.capacity = std::uint32_t(1 + random.Below(20));
            worker.instance = std::to_string(random.Below(2));
            input = Attach{++session, worker, {}};
        } else if (dice < 60 && session > 0) {
            input = Heartbeat{1 + random.Below(session), {}};
        } else if (dice < 95 && !given.empty()) {
            const AttemptRef& ref = given[random.Below(given.size())];
            const SessionId from = 1 + random.Below(session);
            if (dice < 70)
                input = Started{from, ref};
            else if (dice < 90)
                input = Report{from, ref, dice < 85, true, nullptr};
            else
                input = Cancel{1, ref.execution, "x"};
        }
        engine.Step(std::move(input), now, effects);
        for (const Assign& assign : effects.assigns) {
            given.push_back(
                {assign.execution.id, assign.execution.attempt, assign.execution.token});
        }
        text += Print(effects);
        const std::uint32_t generation = effects.generation + 1;
        effects = {};
        effects.generation = generation;
    }
    return text;
}

// The simulator, and every bug report that comes with a seed, rests on this.
TEST(DeterminismTest, EqualHistoriesGiveEqualEffects) {
    const std::string first = RandomHistory(7, 20'000);
    EXPECT_GT(first.size(), 1'000'000u);
    EXPECT_TRUE(first == RandomHistory(7, 20'000));
    EXPECT_FALSE(first == RandomHistory(8, 20'000));
}

}  // namespace
}  // namespace takt::internal
