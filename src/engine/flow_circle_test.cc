// Runs that wait for each other: each holds what a step of another one asks for.
#include "base/failpoint.h"
#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FlowCircleTest : public FlowHistory {
  protected:
    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        config.worker_lease = config.timeout = 24h;
        At(0s, Join({.id = "w", .capacity = 9}));
    }

    // Holds a concurrency key from its start; its second step asks for another one.
    Submit Holding(const std::string& id, const std::string& key, const std::string& wanted,
                   OnFailure on_failure = OnFailure::kStop) {
        return Flow(
            {.id = id,
             .workflow = MakeWorkflow(
                 {{"a"}, {.name = "b", .after = {"a"}, .concurrency_key = wanted}}, on_failure),
             .concurrency_max = 1,
             .concurrency_key = key});
    }
    static std::string First(const std::string& run) { return Child(0, 0, 0, run); }
    static std::string Second(const std::string& run) { return Child(1, 0, 0, run); }
    std::string WhyWaits(const std::string& id) {
        const auto explanation = engine().Explain(ExecutionId(Text(id)), {});
        return explanation ? explanation->sentence : "";
    }
    // Both wait for what the other one has: as an engine that looks for no circles leaves them.
    void LeaveACircle() {
        ASSERT_TRUE(SetFailPoints("mutant.engine.wait_in_circles:error"));
        At(1s, Holding("one", "x", "y"));
        At(1s, Holding("two", "y", "x"));
        At(2s, Success(First("one")));
        At(2s, Success(First("two")));
        EXPECT_EQ(StatusOf(Second("one")), Status::kPending);
        EXPECT_EQ(StatusOf(Second("two")), Status::kPending);
        ASSERT_TRUE(SetFailPoints(""));
    }
};

// Two workflows of two teams, each careful to run alone, that use each other's system.
TEST_F(FlowCircleTest, TheStepThatClosesACircleFailsAndTheOtherRunGoesOn) {
    At(1s, Holding("one", "x", "y"));
    At(1s, Holding("two", "y", "x"));
    At(2s, Success(First("one")));
    EXPECT_EQ(StatusOf(Second("one")), Status::kPending);
    EXPECT_THAT(WhyWaits(Second("one")), HasSubstr("'two' holds it"));

    At(3s, Success(First("two")));

    EXPECT_EQ(MessageOf(Second("two")),
              "step_refused: it can never start: it waits for concurrency key 'x', which 'one' "
              "holds, of which '" +
                  Second("one") + "' waits for concurrency key 'y', which 'two' holds");
    EXPECT_EQ(StatusOf("two"), Status::kFailed);
    EXPECT_EQ(StatusOf(Second("one")), Status::kScheduled);
    At(4s, Success(Second("one")));
    EXPECT_EQ(StatusOf("one"), Status::kSuccess);
}

TEST_F(FlowCircleTest, ACircleOfThreeIsFound) {
    At(1s, Holding("one", "x", "y"));
    At(1s, Holding("two", "y", "z"));
    At(1s, Holding("three", "z", "x"));
    At(2s, Success(First("one")));
    At(2s, Success(First("two")));
    EXPECT_EQ(StatusOf("two"), Status::kRunning);

    At(3s, Success(First("three")));

    EXPECT_EQ(StatusOf("three"), Status::kFailed);
    EXPECT_THAT(
        MessageOf(Second("three")),
        AllOf(HasSubstr("'one' holds"), HasSubstr("'two' holds"), HasSubstr("'three' holds")));
    At(4s, Success(Second("two")));
    At(5s, Success(Second("one")));
    EXPECT_EQ(StatusOf("one"), Status::kSuccess);
    EXPECT_EQ(StatusOf("two"), Status::kSuccess);
}

TEST_F(FlowCircleTest, ACircleThatAnEarlierLeaderLeftIsFound) {
    LeaveACircle();
    Restart(10s);
    At(11s, Join({.id = "w", .capacity = 9}));
    const bool one = StatusOf("one") == Status::kFailed;
    EXPECT_EQ(StatusOf("two") == Status::kFailed, !one) << "one of them, and no more";
    const std::string other = one ? "two" : "one";
    At(12s, Success(Second(other)));
    EXPECT_EQ(StatusOf(other), Status::kSuccess);
}

TEST_F(FlowCircleTest, WithoutTheLookBothWaitForEver) {
    LeaveACircle();
    Until(24h * 7);
    EXPECT_EQ(StatusOf("one"), Status::kRunning);
    EXPECT_EQ(StatusOf("two"), Status::kRunning);
}

// The run has other things to do, and lets go of its key when they are done.
TEST_F(FlowCircleTest, ARunThatContinuesAfterFailuresGoesOnWithoutTheStep) {
    At(1s, Holding("one", "x", "y"));
    At(1s, Holding("two", "y", "x", OnFailure::kContinue));
    At(2s, Success(First("one")));
    At(3s, Success(First("two")));
    EXPECT_EQ(StatusOf("two"), Status::kFailed);
    At(4s, Success(Second("one")));
    EXPECT_EQ(StatusOf("one"), Status::kSuccess);
}

// A holder of one of the permits is at work: when it is done, the step can start.
TEST_F(FlowCircleTest, WhatWaitsForAnAttemptIsInNoCircle) {
    const auto two_permits = [&](const std::string& id) {
        OnceSpec spec{.id = id};
        spec.concurrency_key = "y";
        spec.concurrency_max = 2;
        return Once(spec);
    };
    At(1s, Holding("one", "x", "y"));
    Submit second = Holding("two", "y", "x");
    auto options = std::make_unique<TaskOptions>(second.task->opt());
    options->concurrency_max = 2;
    second.task->options = std::move(options);
    At(1s, std::move(second));
    At(1s, two_permits("plain"));
    EXPECT_EQ(StatusOf("plain"), Status::kScheduled);
    At(2s, Success(First("two")));
    EXPECT_EQ(StatusOf(Second("two")), Status::kPending);
    At(3s, Success(First("one")));
    EXPECT_EQ(StatusOf("one"), Status::kRunning);
    EXPECT_EQ(StatusOf("two"), Status::kRunning) << "'plain' will give its permit back";
}

// Other steps of the run go on; without this one it does not succeed all the same.
TEST_F(FlowCircleTest, ARunOfWhichAnotherStepIsAtWorkIsCaughtToo) {
    At(1s, Flow({.id = "one",
                 .workflow = MakeWorkflow(
                     {{"a"}, {.name = "b", .after = {"a"}, .concurrency_key = "y"}, {"long"}}),
                 .concurrency_max = 1,
                 .concurrency_key = "x"}));
    At(1s, Holding("two", "y", "x"));
    At(2s, Success(First("two")));
    At(3s, Success(First("one")));
    EXPECT_THAT(MessageOf(Second("one")), HasSubstr("it can never start"));
    EXPECT_EQ(StatusOf("one"), Status::kFailed);
    At(4s, Success(Child(2, 0, 0, "one")));
    EXPECT_EQ(StatusOf(Second("two")), Status::kScheduled);
}

// Two parts, of which one has to succeed: while the other one may, nobody need fail.
TEST_F(FlowCircleTest, AStepThatNeedsSomeOfItsPartsIsCaughtWhenItNeedsTheOneThatWaits) {
    RecurringSpec part{.id = "part", .every = 24h};
    part.options.mode = Mode::kParallel;
    At(0s, PutFlow(part, MakeWorkflow({{.name = "a", .retry = RetryPolicy{}},
                                       {.name = "b", .after = {"a"}, .concurrency_key = "y"}})));
    At(1s, Flow({.id = "one",
                 .workflow = MakeWorkflow(
                     {{.name = "parts", .shards = 2, .min_success = 1, .named = "part"}}),
                 .concurrency_max = 1,
                 .concurrency_key = "x"}));
    At(1s, Holding("two", "y", "x"));
    At(2s, Success(First("two")));
    At(3s, Success(First(Child(0, 0, 0, "one"))));
    EXPECT_EQ(StatusOf(Second(Child(0, 0, 0, "one"))), Status::kPending);
    EXPECT_EQ(StatusOf(Second("two")), Status::kPending);

    At(4s, Broken(First(Child(0, 1, 0, "one"))));
    Until(10s);

    EXPECT_THAT(MessageOf(Second(Child(0, 0, 0, "one"))),
                HasSubstr("waits for concurrency key 'x', which 'one' holds"));
    EXPECT_EQ(StatusOf("one"), Status::kFailed);
    EXPECT_EQ(StatusOf(Second("two")), Status::kScheduled);
}

// Other shards may succeed, but there is room for one at a time.
TEST_F(FlowCircleTest, ShardsThatAreNeverMadeHelpNobody) {
    At(1s, Flow({.id = "one",
                 .workflow = MakeWorkflow({{"a"},
                                           {.name = "b",
                                            .after = {"a"},
                                            .shards = 3,
                                            .parallel_max = 1,
                                            .min_success = 1,
                                            .concurrency_key = "y"}}),
                 .concurrency_max = 1,
                 .concurrency_key = "x"}));
    At(1s, Holding("two", "y", "x"));
    At(2s, Success(First("two")));
    At(3s, Success(First("one")));
    Until(4s);
    EXPECT_EQ(StatusOf("one"), Status::kFailed);
    EXPECT_EQ(StatusOf(Second("two")), Status::kScheduled);
}

// The limit had a permit left, and the step only waited for a worker, until somebody lowered it.
TEST_F(FlowCircleTest, ALimitThatIsLoweredMayCloseACircle) {
    RecurringSpec rare{.id = "rare", .every = 24h, .queue = "shut"};
    rare.options = {.concurrency_key = "y", .concurrency_max = 2, .mode = Mode::kParallel};
    At(0s, Limit("shut", {.paused = true}));
    At(0s, Put(rare));
    At(1s, Flow({.id = "one",
                 .workflow = MakeWorkflow({{"a"}, {.name = "b", .after = {"a"}, .named = "rare"}}),
                 .concurrency_max = 1,
                 .concurrency_key = "x"}));
    Submit second = Holding("two", "y", "x");
    auto options = std::make_unique<TaskOptions>(second.task->opt());
    options->concurrency_max = 2;
    second.task->options = std::move(options);
    At(1s, std::move(second));
    At(2s, Success(First("one")));
    At(3s, Success(First("two")));
    EXPECT_EQ(StatusOf(Second("one")), Status::kPending);
    EXPECT_EQ(StatusOf(Second("two")), Status::kPending);

    rare.options.concurrency_max = 1;
    At(4s, Put(rare));
    Until(10s);

    EXPECT_THAT(MessageOf(Second("two")),
                HasSubstr("it waits for concurrency key 'x', which 'one'"));
    EXPECT_EQ(StatusOf("two"), Status::kFailed);
}

// One of the two permits was an attempt's, which ends some time. Then it has ended, but the limit was
// lowered meanwhile, and nobody begins to wait.
TEST_F(FlowCircleTest, AnAttemptThatEndsMayCloseACircle) {
    Submit wide = Holding("two", "y", "x");
    auto options = std::make_unique<TaskOptions>(wide.task->opt());
    options->concurrency_max = 2;
    wide.task->options = std::move(options);
    At(1s, std::move(wide));
    At(1s, Once({.id = "leaf", .concurrency_key = "y", .concurrency_max = 2}));
    At(1s, Holding("one", "x", "y"));
    At(2s, Success(First("one")));
    At(2s, Success(First("two")));
    At(3s, Once({.id = "later", .concurrency_key = "y", .concurrency_max = 1}));
    Until(4s);
    EXPECT_EQ(StatusOf("leaf"), Status::kScheduled);
    EXPECT_EQ(StatusOf(Second("one")), Status::kPending);
    EXPECT_EQ(StatusOf(Second("two")), Status::kPending);

    At(4s, Success("leaf"));
    Until(10s);

    EXPECT_EQ(StatusOf("two"), Status::kFailed);
    EXPECT_EQ(StatusOf(Second("one")), Status::kScheduled);
}

// A run of a sequential task has its turn; a step of another run waits for that.
TEST_F(FlowCircleTest, TurnsAreHeldToo) {
    RecurringSpec spec{.id = "report", .every = 24h};
    spec.options.mode = Mode::kSequential;
    At(0s,
       PutFlow(spec, MakeWorkflow({{"a"}, {.name = "b", .after = {"a"}, .concurrency_key = "x"}})));
    At(1s, TriggerOf("report"));
    const std::string report = LastReply()->id.text().str();
    At(2s,
       Flow({.id = "one",
             .workflow = MakeWorkflow({{"a"}, {.name = "r", .after = {"a"}, .named = "report"}}),
             .concurrency_max = 1,
             .concurrency_key = "x"}));
    At(3s, Success(First("one")));
    EXPECT_EQ(CodeOf(Second("one")), "previous_run");

    At(4s, Success(First(report)));

    EXPECT_THAT(MessageOf(Second(report)),
                HasSubstr("it waits for concurrency key 'x', which 'one' holds, of which '" +
                          Second("one") + "' waits for a turn of task 'report', which '" + report +
                          "' holds"));
    EXPECT_EQ(StatusOf(report), Status::kFailed);
    EXPECT_EQ(StatusOf(Second("one")), Status::kRunning);
}

// Locks that a run declares are held like its key.
TEST_F(FlowCircleTest, LocksOfRunsAreHeldToo) {
    At(1s, Flow({.id = "one",
                 .workflow =
                     MakeWorkflow({{"a"}, {.name = "b", .after = {"a"}, .concurrency_key = "x"}}),
                 .locks = {{.name = "ledger"}}}));
    At(1s, Flow({.id = "two",
                 .workflow = MakeWorkflow(
                     {{"a"}, {.name = "b", .after = {"a"}, .locks = {{.name = "ledger"}}}}),
                 .concurrency_max = 1,
                 .concurrency_key = "x"}));
    At(2s, Success(First("one")));
    EXPECT_EQ(StatusOf(Second("one")), Status::kPending);

    At(3s, Success(First("two")));

    EXPECT_THAT(MessageOf(Second("two")),
                HasSubstr("it waits for lock 'ledger', which 'one' holds, of which '" +
                          Second("one") + "' waits for concurrency key 'x', which 'two' holds"));
    EXPECT_EQ(StatusOf(Second("one")), Status::kScheduled);
}

// A permit comes free and is kept for the first in line, who waits for another lock as well: whoever is
// behind it waits for the run that has that one.
TEST_F(FlowCircleTest, ACircleThroughTheLineOfALockIsFound) {
    At(0s, SetLock{.request = NextRequest(), .name = "gpu", .permits = 2});
    At(1s, Once({.id = "plain", .locks = {{.name = "gpu"}}}));
    At(1s, Flow({.id = "one",
                 .workflow =
                     MakeWorkflow({{"a"}, {.name = "b", .after = {"a"}, .concurrency_key = "x"}}),
                 .locks = {{.name = "gpu"}, {.name = "ledger"}}}));
    At(1s, Flow({.id = "two",
                 .workflow = MakeWorkflow(
                     {{"a"}, {.name = "b", .after = {"a"}, .locks = {{.name = "gpu"}}}}),
                 .concurrency_max = 1,
                 .concurrency_key = "x"}));
    At(2s, Once({.id = "urgent", .priority = 9, .locks = {{.name = "gpu"}, {.name = "ledger"}}}));
    At(3s, Success(First("two")));
    At(3s, Success(First("one")));
    EXPECT_EQ(StatusOf(Second("one")), Status::kPending);
    EXPECT_EQ(StatusOf(Second("two")), Status::kPending);

    At(4s, Success("plain"));
    Until(10s);

    EXPECT_EQ(StatusOf("one"), Status::kFailed);
    EXPECT_THAT(MessageOf(Second("one")),
                HasSubstr("it waits for concurrency key 'x', which 'two' holds"));
    EXPECT_EQ(StatusOf("urgent"), Status::kScheduled);
    EXPECT_EQ(StatusOf(Second("two")), Status::kScheduled);
}

// Nobody fails for a wait that ends by itself.
TEST_F(FlowCircleTest, WhoWaitsForARunThatGoesOnWaits) {
    At(1s, Holding("one", "x", "y"));
    At(1s, Holding("two", "y", "z"));
    At(2s, Success(First("one")));
    EXPECT_EQ(StatusOf(Second("one")), Status::kPending);
    At(3s, Success(First("two")));
    At(4s, Success(Second("two")));
    EXPECT_EQ(StatusOf("two"), Status::kSuccess);
    EXPECT_EQ(StatusOf(Second("one")), Status::kScheduled);
    EXPECT_THAT(MessageOf(Second("one")), Not(HasSubstr("never")));
}

}  // namespace
}  // namespace takt::internal
