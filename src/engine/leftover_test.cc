// Executions that were ended while a handler was at work: what they hold until it has stopped.
#include "engine/leftover.h"

#include "base/failpoint.h"
#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LeftoverTest : public FlowHistory {
  protected:
    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        config.worker_lease = config.timeout = 24h;
        config.takeover_grace = 24h;
    }

    // The worker says that the handler of an attempt ended, which was told to stop.
    Report Stopped(const AttemptRef& attempt, const std::string& worker = "a") {
        return ReportOf(attempt, worker, false);
    }
    std::string WhyWaits(const std::string& id) {
        const auto explanation = engine().Explain(ExecutionId(Text(id)), {});
        return explanation ? explanation->sentence : "";
    }
    std::size_t StoredLeftovers() const {
        return std::size_t(std::ranges::count_if(store.settings, [](const auto& setting) {
            return setting.first.view().starts_with(Leftover::kPrefix) && !setting.second.empty();
        }));
    }
    std::string First() { return RunOf("report", 0); }
    std::string Second() { return RunOf("report", 1); }

    // Two runs of a task, of which a worker with room for more has the first, and it is cancelled.
    AttemptRef CancelTheFirstOfTwo(RecurringSpec spec = {.every = 1h}) {
        At(0s, Join({.id = "a", .capacity = 10}));
        At(0s, Put(spec));
        At(1s, TriggerOf("report"));
        At(1s, TriggerOf("report"));
        const AttemptRef attempt = RefOf(First());
        At(2s, Begun(First()));
        At(3s, CancelOf(First()));
        return attempt;
    }
    // Both need the same, in turn: the second has it when the handler of the first has stopped, also
    // under the next leader.
    void CancelOneOfTwo(OnceSpec first, OnceSpec second) {
        const std::string x = first.id, y = second.id;
        At(0s, Join({.id = "a", .capacity = 10}));
        At(0s, Once(std::move(first)));
        At(0s, Once(std::move(second)));
        const AttemptRef attempt = RefOf(x);
        At(1s, CancelOf(x));
        EXPECT_EQ(CodeOf(y), "handler_stops");
        Restart(2s);
        At(3s, Join({.id = "a", .capacity = 10, .holding = {attempt}}));
        EXPECT_EQ(StatusOf(y), Status::kPending);
        EXPECT_EQ(CodeOf(y), "handler_stops");
        At(4s, Stopped(attempt));

        EXPECT_EQ(StatusOf(y), Status::kScheduled);
    }
};

// The handler writes files: its successor must not find it at them.
TEST_F(LeftoverTest, TheNextRunOfASequentialTaskWaitsForTheHandlerOfACancelledOneToStop) {
    const AttemptRef attempt = CancelTheFirstOfTwo();
    EXPECT_EQ(StatusOf(First()), Status::kCancelled);
    ASSERT_THAT(stops, SizeIs(1));
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    EXPECT_EQ(CodeOf(Second()), "handler_stops");
    EXPECT_THAT(WhyWaits(Second()), HasSubstr("the handler of '" + First() + "'"));
    At(4s, Stopped(attempt));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
    EXPECT_EQ(StoredLeftovers(), 0u);
}

TEST_F(LeftoverTest, AHandlerThatDoesNotStopIsWaitedForNoLongerThanAfterATimeout) {
    CancelTheFirstOfTwo();
    At(4s, Beat("a"));
    Until(3s + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    Until(3s + config.timeout_grace);

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

// Its commit was still being gathered: no worker has heard of it.
TEST_F(LeftoverTest, WhatWasNotSentYetIsWaitedForByNobody) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h}));
    Gather();
    At(1s, TriggerOf("report", "", false));
    const std::string first = engine().HandOf(WorkerId("a")).front().execution.id.text().str();
    At(1s, TriggerOf("report"));
    At(1s, CancelOf(first));
    Commit();

    EXPECT_THAT(AssignedIds(), ElementsAre(Second()));
    EXPECT_THAT(stops, IsEmpty());
}

TEST_F(LeftoverTest, AWorkerThatIsLostHasNoHandlersAnyMore) {
    config.timeout_grace = 1h;
    config.worker_lease = 30s;
    CancelTheFirstOfTwo();
    At(4s, Join({.id = "b", .capacity = 10}));
    At(20s, Beat("b"));
    Until(29s);
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    Until(31s);

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
    EXPECT_EQ(Row(Second()).worker, WorkerId("b"));
}

// So many were lost with a worker that one step cannot give all to others; one of them is cancelled.
TEST_F(LeftoverTest, WhatWasLostAndIsCancelledBeforeOthersHaveItIsWaitedForByNobody) {
    config.changes_per_step = 2;
    config.worker_forgotten = 1s;
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h}));
    for (int i = 0; i < 6; ++i) At(0s, Once({.id = "x" + std::to_string(i)}));
    At(1s, TriggerOf("report"));
    At(1s, TriggerOf("report"));
    At(2s, Join({.id = "b", .capacity = 10}));
    tick_between = false;
    At(3s, Set("a", WorkerStatus::kOffline));
    ASSERT_EQ(Row(First()).status, Status::kScheduled) << "it is still to be given to others";
    At(3s, CancelOf(First()));
    tick_between = true;
    Until(10s);

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
    EXPECT_FALSE(engine().FindWorker(WorkerId("a")));
}

// An operator puts a worker online that is cut off; it never comes back.
TEST_F(LeftoverTest, AWorkerThatIsForgottenHasNoHandlersAnyMore) {
    config.worker_lease = config.worker_forgotten = 30s;
    CancelTheFirstOfTwo();
    At(4s, Join({.id = "b", .capacity = 10}));
    At(5s, Cut("a"));
    for (Duration at = 10s; at < 100s; at += 10s) At(at, Beat("b"));

    EXPECT_FALSE(engine().FindWorker(WorkerId("a")));
    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

// It was cut off when its run was cancelled, and has not heard of it: it has its time when it is back.
TEST_F(LeftoverTest, AWorkerThatComesBackIsToldToStopAndWaitedFor) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Join({.id = "b", .capacity = 10}));
    At(0s, Put({.every = 1h}));
    At(1s, TriggerOf("report"));
    At(1s, TriggerOf("report"));
    const AttemptRef attempt = RefOf(First());
    const std::string worker = Row(First()).worker.text().str();
    At(2s, Cut(worker));
    At(3s, CancelOf(First()));
    At(60s, Beat(worker == "a" ? "b" : "a"));
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    At(61s, Join({.id = worker, .capacity = 10, .holding = {attempt}}));
    EXPECT_THAT(stops, SizeIs(1));
    Until(61s + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    At(61s + config.timeout_grace - 1ms, Stopped(attempt, worker));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

TEST_F(LeftoverTest, AWorkerThatComesBackWithoutTheAttemptHasStoppedIt) {
    CancelTheFirstOfTwo();
    At(4s, Cut("a"));
    At(60s, Join({.id = "a", .capacity = 10}));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

TEST_F(LeftoverTest, TheNextLeaderGoesOnWaiting) {
    const AttemptRef attempt = CancelTheFirstOfTwo();
    EXPECT_EQ(StoredLeftovers(), 1u);
    Restart(4s);
    At(5s, Join({.id = "b", .capacity = 10}));
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    EXPECT_EQ(CodeOf(Second()), "handler_stops");
    At(30s, Join({.id = "a", .capacity = 10, .holding = {attempt}}));
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    At(31s, Stopped(attempt));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
    EXPECT_EQ(StoredLeftovers(), 0u);
}

TEST_F(LeftoverTest, TheNextLeaderHearsFromTheWorkerThatItHasStopped) {
    CancelTheFirstOfTwo();
    Restart(4s);
    At(5s, Join({.id = "b", .capacity = 10}));
    At(6s, Join({.id = "a", .capacity = 10}));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

TEST_F(LeftoverTest, WhatReplacesARunWaitsForItsHandler) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h, .options = {.mode = Mode::kReplace}}));
    At(1s, TriggerOf("report"));
    const AttemptRef attempt = RefOf(First());
    At(2s, TriggerOf("report"));
    EXPECT_EQ(StatusOf(First()), Status::kCancelled);
    EXPECT_EQ(CodeOf(Second()), "handler_stops");
    At(3s, Stopped(attempt));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

// Nothing of the task goes on, so the trigger is not skipped; but its handler is still at it.
TEST_F(LeftoverTest, WithSkipTheRunAfterACancelledOneWaitsForItsHandler) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h, .options = {.mode = Mode::kSkip}}));
    At(1s, TriggerOf("report"));
    const AttemptRef attempt = RefOf(First());
    At(2s, CancelOf(First()));
    At(2s, TriggerOf("report"));
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    At(3s, Stopped(attempt));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

TEST_F(LeftoverTest, ParallelRunsWaitForNobody) {
    CancelTheFirstOfTwo({.every = 1h, .options = {.mode = Mode::kParallel}});

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
    EXPECT_EQ(StoredLeftovers(), 0u);
}

// An operator deletes the task while it is being stopped, and makes it again.
TEST_F(LeftoverTest, ATaskThatIsMadeAgainWaitsForTheHandlerOfTheDeletedOne) {
    const AttemptRef attempt = CancelTheFirstOfTwo();
    At(4s, Drop("report"));
    At(4s, Put({.every = 1h}));
    At(4s, TriggerOf("report"));
    const std::string third = RunOf("report", 2);
    EXPECT_EQ(StatusOf(third), Status::kPending);
    At(5s, Stopped(attempt));

    EXPECT_EQ(StatusOf(third), Status::kScheduled);
}

TEST_F(LeftoverTest, ADeletedTaskIsForgottenWhenItsLastHandlerHasStopped) {
    const AttemptRef attempt = CancelTheFirstOfTwo();
    At(4s, Drop("report"));
    At(5s, Stopped(attempt));
    At(6s, Put({.every = 1h}));
    At(6s, TriggerOf("report"));

    EXPECT_EQ(StatusOf(RunOf("report", 2)), Status::kScheduled);
}

TEST_F(LeftoverTest, APermitOfANamedLimitIsReturnedWhenTheHandlerHasStopped) {
    CancelOneOfTwo({.id = "x", .concurrency_key = "db", .concurrency_max = 1},
                   {.id = "y", .concurrency_key = "db", .concurrency_max = 1});
}

TEST_F(LeftoverTest, ALockIsLetGoWhenTheHandlerHasStopped) {
    CancelOneOfTwo({.id = "x", .locks = {{.name = "ledger"}}},
                   {.id = "y", .locks = {{.name = "ledger"}}});
}

// An operator who knows better need not wait.
TEST_F(LeftoverTest, ALockOfAHandlerThatStopsCanBeTakenAway) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .locks = {{.name = "ledger"}}}));
    At(0s, Once({.id = "y", .locks = {{.name = "ledger"}}}));
    const AttemptRef attempt = RefOf("x");
    At(1s, CancelOf("x"));
    At(2s, FreeLock{.request = NextRequest(), .name = "ledger", .lock_id = {}});
    EXPECT_EQ(StatusOf("y"), Status::kScheduled);
    At(3s, Stopped(attempt));

    EXPECT_EQ(StatusOf("y"), Status::kScheduled);
    EXPECT_EQ(engine().FindLock("ledger")->holders.size(), 1u);
}

// A run is over with its steps; the handlers of these hold what it had.
TEST_F(LeftoverTest, TheNextRunOfAWorkflowWaitsForTheHandlersOfItsSteps) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, PutFlow({.every = 1h}, MakeWorkflow({{.name = "one"}, {.name = "two"}})));
    At(1s, TriggerOf("report"));
    At(1s, TriggerOf("report"));
    const std::string one = Child(0, 0, 0, First());
    const std::string two = Child(1, 0, 0, First());
    const AttemptRef first = RefOf(one);
    const AttemptRef second = RefOf(two);
    At(2s, CancelOf(First()));
    EXPECT_EQ(StatusOf(First()), Status::kCancelled);
    At(3s, Stopped(first));
    EXPECT_EQ(CodeOf(Second()), "handler_stops");
    Restart(4s);
    At(5s, Join({.id = "a", .capacity = 10, .holding = {second}}));
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    At(6s, Stopped(second));

    EXPECT_EQ(StatusOf(Second()), Status::kRunning);
}

// Nobody tells a service, and it may tell nobody.
TEST_F(LeftoverTest, AServiceHasTheSameTimeToStop) {
    At(0s, Join({.id = "a", .capacity = 10, .link = LinkKind::kPush}));
    At(0s, Put({.every = 1h}));
    At(1s, TriggerOf("report"));
    At(1s, TriggerOf("report"));
    At(2s, CancelOf(First()));
    At(3s, Join({.id = "a", .capacity = 10, .link = LinkKind::kPush}));
    Until(2s + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    Until(2s + config.timeout_grace);

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

TEST_F(LeftoverTest, AServiceThatReportsHasStopped) {
    At(0s, Join({.id = "a", .capacity = 10, .link = LinkKind::kPush}));
    At(0s, Put({.every = 1h}));
    At(1s, TriggerOf("report"));
    At(1s, TriggerOf("report"));
    const AttemptRef attempt = RefOf(First());
    At(2s, CancelOf(First()));
    ASSERT_TRUE(engine().FindStopping(attempt.execution, attempt.token));
    At(3s, Stopped(attempt));

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

// The batch that tells the worker hangs in the store: the worker's time has not begun.
TEST_F(LeftoverTest, TheTimeToStopBeginsWhenTheWorkerCanBeTold) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Put({.every = 1h}));
    At(1s, TriggerOf("report"));
    At(1s, TriggerOf("report"));
    Gather();
    At(2s, CancelOf(First()));
    const Duration released = 2s + 2 * config.timeout_grace;
    At(released, Beat("a"));
    Commit();
    Until(released + config.timeout_grace - 1ms);
    EXPECT_EQ(StatusOf(Second()), Status::kPending);
    Until(released + config.timeout_grace);

    EXPECT_EQ(StatusOf(Second()), Status::kScheduled);
}

TEST(StoredLeftoverTest, WhatIsWrittenIsReadAgain) {
    const StoredLeftover leftover{
        .execution = ExecutionId("x \"1\""),
        .since = Time(Duration(1'767'225'600'000)),
        .turn_of = "report",
        .limit = "key/db main",
        .locks = {"l-1", "l-2"},
        .handlers = {{WorkerId("a"), {ExecutionId("x"), 3, Token{1, 2, 3}}}}};
    const auto read = ReadLeftover(WriteLeftover(leftover));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->execution, leftover.execution);
    EXPECT_EQ(read->since, leftover.since);
    EXPECT_EQ(read->turn_of, leftover.turn_of);
    EXPECT_EQ(read->limit, leftover.limit);
    EXPECT_EQ(read->locks, leftover.locks);
    ASSERT_THAT(read->handlers, SizeIs(1));
    EXPECT_EQ(read->handlers[0].worker, WorkerId("a"));
    EXPECT_EQ(read->handlers[0].attempt, leftover.handlers[0].attempt);
    EXPECT_FALSE(ReadLeftover("{}"));
    EXPECT_FALSE(ReadLeftover(R"({"since": 1, "handlers": [["a", "x", -1, "00"]]})"));
}

}  // namespace
}  // namespace takt::internal
