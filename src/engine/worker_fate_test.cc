// When a worker is lost, set aside or forgotten, at the edges: restarts, sleeps, configurations.
#include "engine/history.h"

namespace takt::internal {
namespace {

class WorkerFateTest : public History {};

// A drained worker is killed and starts again within its lease, under its id.
TEST_F(WorkerFateTest, ADrainEndsWithTheProcess) {
    At(0s, Join({.id = "a", .instance = "1"}));
    At(1s, Set("a", WorkerStatus::kDraining));
    At(2s, Cut("a"));
    At(3s, Join({.id = "a", .instance = "1"}));
    At(3s, Once({.id = "x"}));
    EXPECT_EQ(CodeOf("x"), "workers_away") << "only its connection was lost";
    At(4s, Cut("a"));
    At(10s, Join({.id = "a", .instance = "2"}));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

// Its link opens a session anew whenever another order could not be delivered: nothing that it holds
// has more time for that. Only the leader ends what a service never reports.
TEST_F(WorkerFateTest, ASessionThatIsOpenedAnewGivesAServiceNoMoreTime) {
    At(0s, Join({.id = "a", .link = LinkKind::kPush}));
    At(1s, Once({.id = "x", .timeout = 10s, .retry = RetryPolicy{.retries_max = 0}}));
    At(1s, Begun("x"));
    const AttemptRef ref = RefOf("x");
    for (Duration at = 2s; at < 11s + config.timeout_grace; at += 1s) {
        At(at, Join({.id = "a", .link = LinkKind::kPush, .holding = {ref}}));
    }
    Until(11s + config.timeout_grace);

    ASSERT_EQ(StatusOf("x"), Status::kFailed);
    EXPECT_EQ(Row("x").outcome->reason, Reason::kTimeout);
}

// The leader's process was stopped for some seconds, and an executor answered meanwhile: its answer is
// read after the clock.
TEST_F(WorkerFateTest, WhatEndedWhileTheLeaderSleptIsNotTimedOut) {
    At(0s, Join({.id = "a", .capacity = 2, .link = LinkKind::kPush}));
    At(0s, Once({.id = "answered", .timeout = 5s, .retry = RetryPolicy{.retries_max = 0}}));
    At(0s, Once({.id = "silent", .timeout = 5s, .retry = RetryPolicy{.retries_max = 0}}));
    At(0s, Begun("answered"));
    At(0s, Begun("silent"));
    tick_between = false;
    At(5s + config.timeout_grace + 2s, Tick{});
    At(5s + config.timeout_grace + 2s, Success("answered"));
    tick_between = true;

    EXPECT_EQ(StatusOf("answered"), Status::kSuccess);
    EXPECT_EQ(StatusOf("silent"), Status::kRunning);
    Until(5s + config.timeout_grace + 3s);
    EXPECT_EQ(StatusOf("silent"), Status::kFailed);
    EXPECT_EQ(Row("silent").outcome->reason, Reason::kTimeout);
}

// A worker is cut off, an operator says that it is online, and the leader changes before its lease is
// over: it still has what it had.
TEST_F(WorkerFateTest, WhatIsCutOffAndSaidToBeOnlineIsNotLostToTheNextLeader) {
    At(0s, Join({.id = "a", .instance = "1"}));
    At(0s, Once({.id = "x"}));
    At(0s, Begun("x"));
    const AttemptRef ref = RefOf("x");
    At(5s, Cut("a"));
    At(6s, Set("a", WorkerStatus::kOnline));
    Restart(7s);
    At(8s, Join({.id = "a", .instance = "1", .holding = {ref}}));
    At(9s, ReportOf(ref, "a", true));

    EXPECT_EQ(StatusOf("x"), Status::kSuccess);
    EXPECT_EQ(Row("x").losses, 0u);
}

TEST_F(WorkerFateTest, MaintenanceOutlivesTheProcess) {
    At(0s, Join({.id = "a", .instance = "1"}));
    At(1s, Set("a", WorkerStatus::kMaintenance));
    At(2s, Cut("a"));
    At(10s, Join({.id = "a", .instance = "2"}));
    At(10s, Once({.id = "x"}));

    EXPECT_EQ(CodeOf("x"), "workers_away");
}

// A rolling update of what an operator has set aside.
TEST_F(WorkerFateTest, MaintenanceOutlivesAGoodbye) {
    At(0s, Join({.id = "a", .instance = "1"}));
    At(0s, Once({.id = "x"}));
    At(1s, Set("a", WorkerStatus::kMaintenance));
    At(2s, Bye("a"));
    EXPECT_EQ(store.workers.at(WorkerId("a")).status, WorkerStatus::kMaintenance);
    At(10s, Join({.id = "a", .instance = "2"}));

    EXPECT_EQ(CodeOf("x"), "workers_away");
    EXPECT_EQ(Row("x").losses, 0u);
    At(11s, Remove("a"));
    EXPECT_FALSE(store.workers.contains(WorkerId("a"))) << "an operator can let go of it";
}

// worker_forgotten: 0s, and a worker in maintenance whose process ends: a step must come to an end.
TEST_F(WorkerFateTest, AWorkerInMaintenanceThatIsGoneCostsNoMoreThanALookNowAndThen) {
    config.worker_forgotten = 0s;
    At(0s, Join({.id = "a"}));
    At(1s, Set("a", WorkerStatus::kMaintenance));
    At(2s, Cut("a"));
    Until(1min);

    ASSERT_TRUE(engine().FindWorker(WorkerId("a")));
    EXPECT_GT(*engine().NextDeadline({WallAt(1min), Steady(7h + 1min)}), 0s);
}

// The leader's process was stopped for longer than a lease. Its workers' signs of life lie in its
// inbox, and the first thing it does is to look at the clock.
TEST_F(WorkerFateTest, ALeaderThatSleptReadsItsInboxBeforeItTakesWorkersForLost) {
    config.worker_lease = 5s;
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x1"}));
    At(0s, Begun("x1"));
    At(0s, Join({.id = "b"}));
    tick_between = false;
    At(8s, Tick{});
    At(8s, Beat("a"));
    tick_between = true;
    Until(11s);

    EXPECT_EQ(Row("x1").losses, 0u);
    EXPECT_EQ(HandOf("a"), 1u);
    EXPECT_EQ(engine().FindWorker(WorkerId("b"))->row.status, WorkerStatus::kOffline)
        << "who is silent is lost all the same";
}

// An operator takes a worker that works for one that hangs. It would come back at once with what it
// has in hand, and run it beside whoever got it.
TEST_F(WorkerFateTest, AWorkerThatIsConnectedAndBusyIsNotRemovedUnlessForced) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(1s, Remove("a", false));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_TRUE(LastReply().error().detail.contains("has 1 executions in hand"));
    EXPECT_EQ(HandOf("a"), 1u);

    At(2s, Remove("a", true));
    EXPECT_TRUE(LastReply());
    EXPECT_EQ(StatusOf("x"), Status::kPending);
}

// A worker that is not connected, or has nothing in hand, can be removed as ever.
TEST_F(WorkerFateTest, AWorkerThatIsAwayOrIdleIsRemoved) {
    At(0s, Join({.id = "a"}));
    At(0s, Once({.id = "x"}));
    At(1s, Cut("a"));
    At(2s, Remove("a", false));
    EXPECT_TRUE(LastReply());
    At(3s, Join({.id = "b"}));
    At(4s, Success("x"));
    At(5s, Remove("b", false));
    EXPECT_TRUE(LastReply());
}

// A process that dies as soon as it starts: what was to be its own was never sent, and may be run by
// the next as if nothing had been.
TEST_F(WorkerFateTest, WhatWasNotSentYetIsNotLostWithItsWorker) {
    At(0s, Once({.id = "x"}));
    Gather();
    At(1s, Join({.id = "a", .instance = "1"}));
    At(1s, Join({.id = "a", .instance = "2"}));
    Commit();

    EXPECT_EQ(Row("x").losses, 0u);
    EXPECT_EQ(Row("x").status, Status::kScheduled);
}

// A process dies with more in hand than one step can give to others, and some of that is cancelled
// before the next step. The process that comes in its place does not hold it, and says nothing of
// it.
TEST_F(WorkerFateTest, WhatIsCancelledOfADeadProcessTakesNoRoomAtTheNextOne) {
    config.changes_per_step = 2;
    At(0s, Join({.id = "a", .capacity = 4, .instance = "1"}));
    for (const char* id : {"x1", "x2", "x3", "x4"}) At(0s, Once({.id = id}));
    tick_between = false;
    At(1s, Join({.id = "a", .capacity = 4, .instance = "2"}));
    ASSERT_EQ(Row("x4").losses, 0u) << "one step could not settle all";
    At(1s, CancelOf("x4"));
    tick_between = true;
    Until(2s);

    EXPECT_EQ(engine().FindWorker(WorkerId("a"))->busy, 3u);
    EXPECT_TRUE(stops.empty());
}

// An executor registers again while the batch that cancels what it has is being committed: its link has
// not heard of that. Nobody tells when a service has stopped, so nothing waits for that.
TEST_F(WorkerFateTest, WhatWasCancelledTakesNoRoomAtAServiceThatComesWithIt) {
    At(0s, Join({.id = "a", .link = LinkKind::kPush}));
    At(0s, Once({.id = "x"}));
    const AttemptRef ref = RefOf("x");
    At(1s, CancelOf("x"));
    At(1s, Join({.id = "a", .holding = {ref}, .link = LinkKind::kPush}));
    At(2s, Once({.id = "y"}));

    EXPECT_EQ(StatusOf("y"), Status::kScheduled);
}

}  // namespace
}  // namespace takt::internal
