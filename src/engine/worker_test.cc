// Workers come, go, die, come back under the same name, and are set aside.
#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WorkerTest : public History {
  protected:
    // A worker with `capacity` running executions x1, x2, …
    void Busy(const std::string& worker, std::uint32_t capacity) {
        At(0s, Join({.id = worker, .capacity = capacity}));
        for (std::uint32_t i = 1; i <= capacity; ++i) {
            const std::string id = "x" + std::to_string(i);
            At(0s, Once({.id = id}));
            At(0s, Begun(id));
        }
        assigns.clear();
    }
    WorkerStatus StoredStatus(const std::string& id) {
        return store.workers.at(WorkerId(Text(id))).status;
    }
};

// --- Losing a worker ----------------------------------------------------------------------------

// The machine burns down. Nobody says goodbye.
TEST_F(WorkerTest, AWorkerSilentForLongerThanItsLeaseIsLostAndItsWorkGoesToAnother) {
    Busy("a", 2);
    At(10s, Beat("a"));
    At(20s, Join({.id = "b", .capacity = 2}));
    Until(40s - 1ms);
    EXPECT_THAT(assigns, IsEmpty());
    Until(40s);

    EXPECT_THAT(AssignedIds(), ElementsAre("x1", "x2"));
    EXPECT_EQ(Row("x1").losses, 1u);
    EXPECT_EQ(Row("x1").failures, 0u) << "a lost worker is no failure of the task";
    EXPECT_EQ(StoredStatus("a"), WorkerStatus::kOffline);
    EXPECT_EQ(EventCount(EventType::kWorkerOffline), 1u);
    ASSERT_EQ(closes.size(), 1u);
}

// A payload that kills whatever process touches it must not kill the whole fleet for ever.
TEST_F(WorkerTest, AnExecutionThatKeepsLosingItsWorkersFails) {
    config.losses_max = 3;
    At(0s, Once({.id = "poison"}));
    for (int i = 1; i <= 3; ++i) {
        At(i * 1s, Join({.id = "w" + std::to_string(i)}));
        Until(i * 1s + Trials::kForms);
        ASSERT_EQ(Row("poison").attempt, std::uint32_t(i));
        At(i * 1s + Trials::kForms, Set("w" + std::to_string(i), WorkerStatus::kOffline));
    }

    EXPECT_EQ(StatusOf("poison"), Status::kFailed);
    EXPECT_EQ(Row("poison").outcome->reason, Reason::kWorkerLost);
    EXPECT_EQ(Row("poison").losses, 3u);
    EXPECT_EQ(Row("poison").failures, 0u);
}

// A worker hangs for minutes in a network storage call, then goes on as if nothing had happened.
TEST_F(WorkerTest, ALostWorkerThatComesBackMustStopWhatOthersHave) {
    Busy("a", 1);
    const AttemptRef old = RefOf("x1");
    Until(30s);
    At(31s, Join({.id = "b"}));
    At(60s, Join({.id = "a", .holding = {old}}));
    At(60s, Once({.id = "next"}));

    ASSERT_EQ(stops.size(), 1u);
    EXPECT_EQ(stops[0].attempt, old);
    EXPECT_EQ(StatusOf("next"), Status::kPending) << "its room is taken until it stopped";
    At(61s, ReportOf(old, "a", true));
    EXPECT_FALSE(verdicts.at(0).accepted);
    EXPECT_EQ(Row("next").worker.text(), "a");
}

// --- Coming back --------------------------------------------------------------------------------

// A pod is restarted under its old name: what the old process ran died with it.
TEST_F(WorkerTest, ANewInstanceUnderTheSameIdCountsAsALoss) {
    Busy("a", 1);
    At(5s, Join({.id = "a", .instance = "2"}));

    EXPECT_THAT(AssignedIds(), ElementsAre("x1"));
    EXPECT_EQ(Row("x1").losses, 1u);
    EXPECT_EQ(Row("x1").attempt, 2u);
}

// A load balancer drops an idle connection; the process goes on running.
TEST_F(WorkerTest, AReconnectionOfTheSameInstanceLosesNothing) {
    Busy("a", 1);
    At(5s, Cut("a"));
    At(6s, Join({.id = "a", .holding = {RefOf("x1")}}));
    EXPECT_THAT(assigns, IsEmpty());
    At(7s, Success("x1"));

    EXPECT_EQ(StatusOf("x1"), Status::kSuccess);
    EXPECT_EQ(Row("x1").losses, 0u);
    EXPECT_EQ(Row("x1").attempt, 1u);
}

// The connection broke while an assignment was on its way.
TEST_F(WorkerTest, WhatNeverReachedTheWorkerIsSentAgainAsAnotherAttemptWithoutALoss) {
    At(0s, Join({.id = "a", .capacity = 2}));
    At(0s, Once({.id = "arrived"}));
    At(0s, Once({.id = "dropped"}));
    assigns.clear();
    At(1s, Cut("a"));
    At(2s, Join({.id = "a", .capacity = 2, .holding = {RefOf("arrived")}}));

    EXPECT_THAT(AssignedIds(), ElementsAre("dropped"));
    EXPECT_EQ(Row("dropped").attempt, 2u);
    EXPECT_EQ(Row("dropped").losses, 0u);
    EXPECT_EQ(Row("arrived").attempt, 1u);
}

// Nobody gets work over a connection that is gone, but its lease is not over either.
TEST_F(WorkerTest, ADetachedWorkerGetsNothingNewAndKeepsWhatItHas) {
    At(0s, Join({.id = "a", .capacity = 2}));
    At(0s, Once({.id = "x"}));
    At(1s, Cut("a"));
    At(2s, Once({.id = "y"}));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
    EXPECT_EQ(StatusOf("y"), Status::kPending);
}

// A half-open connection: the scheduler has not noticed the end of the old one.
TEST_F(WorkerTest, TheNewestSessionWins) {
    Busy("a", 1);
    const SessionId old = SessionOf("a");
    At(5s, Join({.id = "a", .capacity = 2, .holding = {RefOf("x1")}}));
    ASSERT_EQ(closes.size(), 1u);
    EXPECT_EQ(closes[0].session, old);
    At(6s, Detach{old});
    At(7s, Once({.id = "y"}));

    ASSERT_EQ(assigns.size(), 1u);
    EXPECT_EQ(assigns[0].session, SessionOf("a"));
}

// A worker reconnects while the store is slow: what it was about to get under its old session is
// not committed yet and must not be sent any more.
TEST_F(WorkerTest, AnAssignmentThatIsTakenBackBeforeItsCommitIsNotSent) {
    At(0s, Join({.id = "a"}));
    Gather();
    At(1s, Once({}));
    At(1s, Join({.id = "a"}));
    Commit();

    ASSERT_EQ(assigns.size(), 1u);
    EXPECT_EQ(assigns[0].execution.attempt, 2u);
    EXPECT_EQ(assigns[0].session, SessionOf("a"));
}

// Submitted and regretted before the store took it: the worker hears of neither.
TEST_F(WorkerTest, ACancelBeforeTheCommitOfTheAssignmentLeavesTheWorkerAlone) {
    At(0s, Join({.id = "a"}));
    Gather();
    At(1s, Once({}));
    const std::string id =
        engine().HandOf(engine().Workers().at(0).row.id).at(0).execution.id.text().str();
    At(1s, CancelOf(id));
    At(1s, Once({.id = "next"}));
    Commit();

    EXPECT_THAT(stops, IsEmpty());
    EXPECT_THAT(AssignedIds(), ElementsAre("next"));
}

// Somebody comes and goes under ever new names: who is gone makes way, who is there does not.
TEST_F(WorkerTest, ThereAreNoMoreWorkersThanMayBeKnown) {
    config.workers_max = 2;
    config.worker_lease = 10s;
    At(0s, Join({.id = "a"}));
    At(1s, Join({.id = "b"}));
    At(2s, Join({.id = "c"}));
    ASSERT_EQ(closes.size(), 1u);
    EXPECT_EQ(closes[0].session, SessionOf("c"));
    EXPECT_THAT(closes[0].reason.str(), ::testing::HasSubstr("scheduler.workers_max"));
    EXPECT_TRUE(closes[0].full) << "it need not try again each second";
    EXPECT_EQ(engine().Workers().size(), 2u);

    At(8s, Beat("b"));
    Until(11s);  // The lease of a has ended.
    At(12s, Join({.id = "d"}));

    EXPECT_FALSE(engine().FindWorker(WorkerId("a")));
    EXPECT_TRUE(engine().FindWorker(WorkerId("d")));
    EXPECT_EQ(store.workers.size(), 2u);
}

// --- A new leader -------------------------------------------------------------------------------

TEST_F(WorkerTest, ALeaderChangeDoesNotDisturbWhatRuns) {
    Busy("a", 2);
    Restart(5s);
    At(6s, Join({.id = "a", .capacity = 2, .holding = {RefOf("x1"), RefOf("x2")}}));
    EXPECT_THAT(assigns, IsEmpty());
    At(7s, Success("x1"));
    At(8s, Success("x2"));

    EXPECT_EQ(Row("x1").attempt, 1u);
    EXPECT_EQ(StatusOf("x2"), Status::kSuccess);
    EXPECT_EQ(EventCount(EventType::kWorkerJoined), 1u);
}

TEST_F(WorkerTest, AWorkerThatDoesNotComeToTheNewLeaderInTimeIsLost) {
    config.takeover_grace = config.worker_lease + 5s;
    Busy("a", 1);
    Restart(5s);
    At(20s, Join({.id = "b"}));
    Until(5s + config.takeover_grace - 1ms);
    EXPECT_THAT(assigns, IsEmpty());
    Until(5s + config.takeover_grace);

    EXPECT_THAT(AssignedWorkers(), ElementsAre("b"));
    EXPECT_EQ(Row("x1").losses, 1u);
}

// The leader's machine lost its power: its workers see only silence, and look for another leader
// when their lease has passed.
TEST_F(WorkerTest, AWorkerHasItsLeaseToNoticeThatTheLeaderIsGone) {
    config.takeover_grace = 1s;
    Busy("a", 1);
    Restart(5s);
    At(6s, Join({.id = "b"}));
    At(5s + config.worker_lease - 1ms, Join({.id = "a", .holding = {RefOf("x1")}}));
    At(60s, Success("x1"));

    EXPECT_THAT(assigns, IsEmpty());
    EXPECT_EQ(Row("x1").losses, 0u);
    EXPECT_EQ(StatusOf("x1"), Status::kSuccess);
}

// The old leader lost a worker with much in hand and died before all of it was given away.
TEST_F(WorkerTest, WhatALostWorkerHadInHandIsGivenAwayByTheNextLeaderToo) {
    Busy("a", 100);
    tick_between = false;
    At(config.worker_lease, Tick{});
    Restart(41s);
    tick_between = true;
    At(42s, Join({.id = "b", .capacity = 100}));
    Until(43s);

    EXPECT_EQ(HandOf("b"), 100u);
    EXPECT_LE(changes_in_largest_step(), config.changes_per_step + 4);
    for (int i = 1; i <= 100; ++i) {
        EXPECT_EQ(Row("x" + std::to_string(i)).losses, 1u) << "whoever gave it away";
    }
}

// --- Operators ----------------------------------------------------------------------------------

TEST_F(WorkerTest, ADrainingWorkerFinishesWhatItHasAndGetsNothingNew) {
    At(0s, Join({.id = "a", .capacity = 2}));
    At(0s, Once({.id = "x"}));
    At(1s, Set("a", WorkerStatus::kDraining));
    ASSERT_EQ(drains.size(), 1u);
    EXPECT_TRUE(drains[0].draining);
    At(2s, Once({.id = "y"}));
    At(3s, Success("x"));
    EXPECT_EQ(StatusOf("x"), Status::kSuccess);
    EXPECT_EQ(StatusOf("y"), Status::kPending);
    At(4s, Set("a", WorkerStatus::kOnline));

    EXPECT_EQ(StatusOf("y"), Status::kScheduled);
    EXPECT_FALSE(drains.back().draining);
}

// An operator's word outlives the worker's connection and the leader.
TEST_F(WorkerTest, MaintenanceHoldsOverReconnectionAndLeaderChange) {
    At(0s, Join({.id = "a"}));
    At(1s, Set("a", WorkerStatus::kMaintenance));
    At(2s, Join({.id = "a", .instance = "2"}));
    At(3s, Once({.id = "x"}));
    EXPECT_THAT(assigns, IsEmpty());
    EXPECT_TRUE(drains.back().draining);
    Restart(4s);
    At(5s, Join({.id = "a", .instance = "2"}));
    EXPECT_THAT(assigns, IsEmpty());
    At(6s, Set("a", WorkerStatus::kOnline));

    EXPECT_THAT(AssignedIds(), ElementsAre("x"));
}

TEST_F(WorkerTest, AWorkerInMaintenanceIsNotForgottenWhileItIsAway) {
    config.worker_forgotten = 1h;
    At(0s, Join({.id = "a"}));
    At(1s, Set("a", WorkerStatus::kMaintenance));
    At(2s, Cut("a"));
    Until(5h);

    ASSERT_TRUE(engine().FindWorker(WorkerId("a")));
    EXPECT_EQ(StoredStatus("a"), WorkerStatus::kMaintenance);
}

TEST_F(WorkerTest, AnAbsentWorkerCannotBePutOnline) {
    At(0s, Join({.id = "a"}));
    At(1s, Cut("a"));
    At(60s, Set("a", WorkerStatus::kOnline));

    EXPECT_EQ(StoredStatus("a"), WorkerStatus::kOffline);
}

TEST_F(WorkerTest, AnUnknownWorkerIsNotFound) {
    At(0s, Set("nobody", WorkerStatus::kDraining));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
    At(0s, Remove("nobody"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
}

// A rolling update: each worker leaves in order.
TEST_F(WorkerTest, GoodbyeGivesTheRestToOthersWithoutALossAndForgetsTheWorker) {
    Busy("a", 2);
    At(1s, Join({.id = "b", .capacity = 2}));
    At(2s, Success("x1"));
    At(3s, Bye("a"));

    EXPECT_THAT(AssignedIds(), ElementsAre("x2"));
    EXPECT_EQ(Row("x2").losses, 0u);
    EXPECT_FALSE(engine().FindWorker(WorkerId("a")));
    EXPECT_FALSE(store.workers.contains(WorkerId("a")));
    EXPECT_EQ(EventCount(EventType::kWorkerLeft), 1u);
}

TEST_F(WorkerTest, RemovingAWorkerGivesItsWorkToOthers) {
    Busy("a", 1);
    At(1s, Join({.id = "b"}));
    At(2s, Remove("a"));

    EXPECT_TRUE(LastReply());
    EXPECT_THAT(AssignedWorkers(), ElementsAre("b"));
    EXPECT_FALSE(store.workers.contains(WorkerId("a")));
    ASSERT_EQ(closes.size(), 1u);
}

TEST_F(WorkerTest, AnOfflineWorkerIsForgottenAfterAWhile) {
    At(0s, Join({.id = "a"}));
    Until(30s + config.worker_forgotten - 1ms);
    EXPECT_TRUE(store.workers.contains(WorkerId("a")));
    Until(30s + config.worker_forgotten);

    EXPECT_FALSE(store.workers.contains(WorkerId("a")));
    EXPECT_FALSE(engine().FindWorker(WorkerId("a")));
}

// A worker leaves and joins again before the batch is committed: one row, one change.
TEST_F(WorkerTest, LeavingAndJoiningWithinOneBatchIsOneChange) {
    At(0s, Join({.id = "a"}));
    Gather();
    At(1s, Bye("a"));
    At(1s, Join({.id = "a", .instance = "2"}));
    Commit();

    EXPECT_TRUE(store.workers.contains(WorkerId("a")));
}

// --- Capacity -----------------------------------------------------------------------------------

// Fifty tasks, timeouts, cancels and reports in any order: a worker never has more than it said.
TEST_F(WorkerTest, CapacityIsNeverExceededWhateverIsCancelledOrTimesOut) {
    At(0s, Join({.id = "a", .capacity = 3}));
    for (int i = 0; i < 50; ++i) At(0s, Once({.id = "x" + std::to_string(i), .timeout = 5s}));
    std::set<std::string> in_worker;
    std::size_t seen = 0;
    for (int step = 1; step <= 120; ++step) {
        const Duration now = step * 500ms;
        Until(now);
        for (; seen < assigns.size(); ++seen) {
            in_worker.insert(assigns[seen].execution.id.text().str());
        }
        ASSERT_LE(in_worker.size(), 3u) << "at " << now.count();
        if (in_worker.empty()) continue;
        const std::string id = *in_worker.begin();
        const AttemptRef ref = RefOf(id);
        if (step % 3 == 0) At(now, CancelOf(id));
        if (step % 2 == 0) {
            in_worker.erase(id);
            At(now, ReportOf(ref, "a", true));
        }
    }
    EXPECT_GT(seen, 20u) << "one is reported each second, and the next one comes";
}

}  // namespace
}  // namespace takt::internal
