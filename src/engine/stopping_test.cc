// Handlers that stop while other things happen: workers are set aside, runs go on or are run again.
#include "engine/flow_fixture.h"
#include "engine/leftover.h"

namespace takt::internal {
namespace {

using ::testing::SizeIs;

class StoppingTest : public FlowHistory {
  protected:
    void SetUp() override {
        config.worker_lease = config.timeout = 24h;
        config.takeover_grace = 24h;
    }

    Report Stopped(const AttemptRef& attempt, const std::string& worker = "a") {
        return ReportOf(attempt, worker, false);
    }
    std::size_t StoredLeftovers() const {
        return std::size_t(std::ranges::count_if(store.settings, [](const auto& setting) {
            return setting.first.view().starts_with(Leftover::kPrefix) && !setting.second.empty();
        }));
    }
    // Two steps beside each other, of which each goes on without the other.
    static WorkflowPtr Two() {
        return MakeWorkflow({{.name = "one"}, {.name = "two"}}, OnFailure::kContinue);
    }
    std::string First() { return RunOf("report", 0); }
    std::string Second() { return RunOf("report", 1); }

    // Two runs of a task, of which a worker that is set aside has the first, and it is cancelled.
    void CancelOnOneThatIsSetAside() {
        config.worker_lease = 30s;
        At(0s, Join({.id = "a", .capacity = 10}));
        At(0s, Put({.every = 1h}));
        At(1s, TriggerOf("report"));
        At(1s, TriggerOf("report"));
        At(2s, Set("a", WorkerStatus::kMaintenance));
        At(3s, Cut("a"));
        At(3s, CancelOf(First()));
        ASSERT_EQ(StoredLeftovers(), 1u);
    }
};

// Its machine is taken down for maintenance, and stays down.
TEST_F(StoppingTest, AWorkerThatIsSetAsideAndGoneHasNoHandlersAnyMore) {
    CancelOnOneThatIsSetAside();
    At(4s, Join({.id = "b", .capacity = 10}));
    At(20s, Beat("b"));
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    At(40s, Beat("b"));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
    EXPECT_EQ(StoredLeftovers(), 0u);
    EXPECT_TRUE(engine().FindWorker(WorkerId("a"))) << "until an operator removes it";
}

TEST_F(StoppingTest, TheNextLeaderWaitsNoLongerForAWorkerThatIsSetAsideThanForOthers) {
    CancelOnOneThatIsSetAside();
    config.takeover_grace = 30s;
    Restart(4s);
    At(5s, Join({.id = "b", .capacity = 10}));
    At(20s, Beat("b"));
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    At(40s, Beat("b"));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

// Its worker was lost with so many others of it that the step was too short to end what it held.
TEST_F(StoppingTest, AWorkerThatComesBackWithALostHandlerIsToldToStopIt) {
    config.changes_per_step = 2;
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h}));
    for (int i = 0; i < 6; ++i) At(0s, Once({.id = "x" + std::to_string(i)}));
    At(1s, TriggerOf("report"));
    const AttemptRef attempt = RefOf(First());
    At(2s, CancelOf(First()));
    stops.clear();
    tick_between = false;
    At(3s, Set("a", WorkerStatus::kOffline));
    At(3s, Join({.id = "a", .capacity = 10, .holding = {attempt}}));
    tick_between = true;
    Until(4s);

    ASSERT_THAT(stops, SizeIs(1));
    EXPECT_EQ(stops[0].attempt, attempt);
}

// The run has the number of its old attempt again, and the lock has a permit for it.
TEST_F(StoppingTest, ARunThatIsRunAgainDoesNotAdoptUnderTheNextLeaderWhatItsOldHandlersHold) {
    At(0s, SetLock{.request = NextRequest(), .name = "ledger", .permits = 2});
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Flow({.workflow = MakeWorkflow({{.name = "one"}}), .locks = {{.name = "ledger"}}}));
    const AttemptRef old = RefOf(Child(0));
    At(1s, CancelOf("run"));
    At(2s, RedriveOf("run"));
    const AttemptRef again = RefOf(Child(0, 0, 1));
    ASSERT_EQ(engine().FindLock("ledger")->taken, 2u);
    Restart(3s);
    At(4s, Join({.id = "a", .capacity = 10, .holding = {old, again}}));
    EXPECT_EQ(engine().FindLock("ledger")->taken, 2u);
    At(5s, Stopped(old));

    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    EXPECT_EQ(engine().FindLock("ledger")->taken, 1u);
}

// One step is cancelled and its handler stops; the leader dies; the other step ends, and so the run.
TEST_F(StoppingTest, TheNextLeaderKnowsOfHandlersThatStopInARunThatGoesOn) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, PutFlow({.every = 1h}, Two()));
    At(1s, TriggerOf("report"));
    At(1s, TriggerOf("report"));
    const std::string two = Child(1, 0, 0, First());
    const AttemptRef stopping = RefOf(Child(0, 0, 0, First()));
    const AttemptRef going_on = RefOf(two);
    At(2s, CancelOf(Child(0, 0, 0, First())));
    Restart(3s);
    At(4s, Join({.id = "a", .capacity = 10, .holding = {stopping, going_on}}));
    At(5s, Success(two));
    ASSERT_TRUE(IsTerminal(StatusOf(First())));
    EXPECT_EQ(CodeOf(Second()), "handler_stops");
    At(6s, Stopped(stopping));

    EXPECT_EQ(StatusOf(Second()), Status::kRunning);
    EXPECT_EQ(StoredLeftovers(), 0u);
}

TEST_F(StoppingTest, NothingIsLeftStoredOfHandlersThatStopWhileTheirRunGoesOn) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, PutFlow({.every = 1h}, Two()));
    At(1s, TriggerOf("report"));
    const AttemptRef stopping = RefOf(Child(0, 0, 0, First()));
    const AttemptRef going_on = RefOf(Child(1, 0, 0, First()));
    At(2s, CancelOf(Child(0, 0, 0, First())));
    ASSERT_EQ(StatusOf(First()), Status::kRunning);
    EXPECT_EQ(StoredLeftovers(), 1u);
    Restart(3s);
    At(4s, Join({.id = "a", .capacity = 10, .holding = {stopping, going_on}}));
    At(5s, Stopped(stopping));
    At(6s, Beat("a"));
    At(6s, TriggerOf("report"));

    EXPECT_EQ(StatusOf(First()), Status::kRunning);
    EXPECT_EQ(StoredLeftovers(), 0u);
}

// An operator deletes a task, its run goes on and is cancelled; the leader dies. Of the task nothing is
// left but the turn that the handler has.
class StoppingOfDeletedTest : public StoppingTest {
  protected:
    void SetUp() override {
        StoppingTest::SetUp();
        At(0s, Join({.id = "a", .capacity = 10}));
        At(0s, Put({.every = 1h}));
        At(1s, TriggerOf("report"));
        first_ = First();
        stopping_ = RefOf(first_);
        At(2s, Drop("report"));
        At(3s, CancelOf(first_));
        Restart(4s);
        At(5s, Join({.id = "a", .capacity = 10, .holding = {stopping_}}));
    }
    std::string first_;
    AttemptRef stopping_;
};

TEST_F(StoppingOfDeletedTest, ARunOfItThatIsRunAgainWaitsUnderTheNextLeader) {
    At(6s, RedriveOf(first_));
    EXPECT_EQ(StatusOf(first_), Status::kPending);
    EXPECT_EQ(CodeOf(first_), "handler_stops");
    At(7s, Stopped(stopping_));
    EXPECT_EQ(StatusOf(first_), Status::kScheduled);
    At(8s, Success(first_));

    EXPECT_EQ(StatusOf(first_), Status::kSuccess);
    EXPECT_EQ(StoredLeftovers(), 0u);
}

TEST_F(StoppingOfDeletedTest, TheTaskMadeAgainWaitsUnderTheNextLeader) {
    At(6s, Put({.every = 1h}));
    At(6s, TriggerOf("report"));
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    EXPECT_EQ(CodeOf(Second()), "handler_stops");
    At(7s, Stopped(stopping_));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

// All that waited for it ended before it, so that nobody knows of the task any more when it stops.
TEST_F(StoppingOfDeletedTest, AHandlerMayOutliveAllThatWaitedForIt) {
    At(6s, RedriveOf(first_));
    At(6s, CancelOf(first_));
    At(7s, Stopped(stopping_));
    At(8s, Put({.every = 1h}));
    At(8s, TriggerOf("report"));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

}  // namespace
}  // namespace takt::internal
