// Histories of steps with many children: shards, lists, each worker.
#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class FanOutTest : public FlowHistory {};

TEST_F(FanOutTest, ShardsHaveTheirNumbersAndTheNextStepTheirResults) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow(
                      {{.name = "map", .payload = R"({"x": 1})", .shards = 3},
                       {.name = "reduce", .after = {"map"}, .payload = R"({"$from": "map"})"}})}));
    EXPECT_THAT(AssignedIds(), ElementsAre(Child(0, 0), Child(0, 1), Child(0, 2)));
    EXPECT_EQ(assigns[1].execution.shard_index, 1);
    EXPECT_EQ(assigns[1].execution.shard_total, 3);
    EXPECT_EQ(PayloadOf(Child(0, 2)), R"({"x": 1})");
    At(2ms, Done(Child(0, 2), "3"));
    At(2ms, Done(Child(0, 0), "1"));
    At(2ms, Success(Child(0, 1)));
    EXPECT_EQ(PayloadOf(Child(1)), "[1,null,3]");
}

// A list makes what is in it one level deeper, and so does the object of several last steps.
TEST_F(FanOutTest, ResultsAsDeepAsMayBeDoNotMakeTheRunsDeeper) {
    const std::string deep = std::string(64, '[') + std::string(64, ']');
    const std::string reference = R"({"$results":{"step":"map","count":2}})";
    At(0ms, Join({.id = "w", .capacity = 9}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "map", .shards = 2}})}));
    At(1ms, Flow({.id = "two", .workflow = MakeWorkflow({{.name = "map", .shards = 2}, {"b"}})}));
    for (const char* run : {"run", "two"}) {
        At(2ms, Done(Child(0, 0, 0, run), "1"));
        At(2ms, Done(Child(0, 1, 0, run), deep));
    }
    At(2ms, Done(Child(1, 0, 0, "two"), deep));
    EXPECT_EQ(ResultOf("run"), reference);
    EXPECT_EQ(ResultOf("two"),
              R"({"map":)" + reference + R"(,"b":{"$results":{"step":"b","count":1}}})");
}

TEST_F(FanOutTest, AConditionOnWhatIsTooDeepIsNotOnNothing) {
    const std::string deep = std::string(64, '[') + std::string(64, ']');
    At(0ms, Join({.id = "w", .capacity = 9}));
    At(1ms, Flow({.workflow = MakeWorkflow(
                      {{.name = "map", .shards = 1},
                       {.name = "part",
                        .after = {"map"},
                        .condition = StepCondition{R"({"$from": "map", "pointer": "/0"})", deep}},
                       {.name = "nothing",
                        .after = {"map"},
                        .condition = StepCondition{R"({"$from": "map"})", "null"}}})}));
    At(2ms, Done(Child(0), deep));
    EXPECT_EQ(ProgressOf().steps[1].status, StepStatus::kRunning);
    EXPECT_EQ(ProgressOf().steps[2].status, StepStatus::kSkipped);
}

// One file of a thousand is broken: who looks at the run is told which, and what was said of it.
TEST_F(FanOutTest, ARunNamesTheChildThatFailedFirst) {
    config.retry.retries_max = 0;
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "each", .for_each = "[1,2,3]"}, {"other"}},
                                           OnFailure::kContinue)}));
    const auto fails = [&](std::uint32_t index, const std::string& why) {
        Report report = Broken(Child(0, index));
        report.outcome = MakeOutcome(Reason::kHandlerFailed, Text(why));
        return report;
    };
    At(2ms, fails(1, "bad header"));
    At(3ms, fails(2, std::string(1'000, 'x')));
    Restart(4ms);
    At(5ms, Join({.id = "w", .capacity = 5, .holding = {RefOf(Child(0, 0)), RefOf(Child(1))}}));
    At(6ms, Success(Child(0, 0)));
    At(7ms, Success(Child(1)));
    EXPECT_EQ(MessageOf("run"),
              "step_failed: step 'each' failed: '" + Child(0, 1) + "': bad header");
}

TEST_F(FanOutTest, AFailureThatWasNotNeededIsNotTold) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms,
       Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 2, .min_success = 1}, {"b"}})}));
    At(2ms, Broken(Child(0, 0)));
    At(3ms, Success(Child(0, 1)));
    EXPECT_EQ(ProgressOf().steps[0].note, "");
}

TEST_F(FanOutTest, AListGivesEachItemAChild) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow(
                      {{"list"},
                       {.name = "each",
                        .after = {"list"},
                        .payload = R"({"file": {"$item": "/path"}, "day": {"$input": "/day"}})",
                        .for_each = R"({"$from": "list", "pointer": "/files"})"},
                       {.name = "plain", .for_each = R"([1.50, "b"])"}}),
                  .payload = R"({"day": 7})"}));
    EXPECT_EQ(PayloadOf(Child(2, 0)), "1.50") << "without a payload the item is it";
    EXPECT_EQ(PayloadOf(Child(2, 1)), "\"b\"");
    At(2ms, Done(Child(0), R"({"files": [{"path": "/a"}, {"path": "/b"}]})"));
    EXPECT_EQ(PayloadOf(Child(1, 0)), R"({"file":"/a","day":7})");
    EXPECT_EQ(PayloadOf(Child(1, 1)), R"({"file":"/b","day":7})");
    EXPECT_EQ(Row(Child(1, 1)).shard_total, 2);
}

TEST_F(FanOutTest, AListThatIsNoneOrTooLongFailsTheStep) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    const WorkflowPtr workflow = MakeWorkflow(
        {{"list"}, {.name = "each", .after = {"list"}, .for_each = R"({"$from": "list"})"}});
    At(1ms, Flow({.workflow = workflow}));
    At(2ms, Done(Child(0), "5"));
    EXPECT_EQ(MessageOf(Child(1)), "step_refused: what its for_each stands for is no list");
    EXPECT_EQ(StatusOf("run"), Status::kFailed);

    At(3ms, Flow({.id = "long", .workflow = workflow}));
    std::string list = "[0";
    for (int i = 0; i < 10'000; ++i) list += ",0";
    At(4ms, Done(Child(0, 0, 0, "long"), list + "]"));
    EXPECT_THAT(MessageOf(Child(1, 0, 0, "long")), HasSubstr("more than 10000 items"));

    At(5ms, Flow({.id = "empty", .workflow = workflow}));
    At(6ms, Done(Child(0, 0, 0, "empty"), "[]"));
    EXPECT_EQ(StatusOf("empty"), Status::kSuccess);
    EXPECT_EQ(ResultOf("empty"), "[]");
}

// Ten thousand shards are made a few at a time, and no more than may exist at once.
TEST_F(FanOutTest, ChildrenAreMadeFromACursorABoundedNumberAStep) {
    At(0ms, Join({.id = "w", .capacity = 1}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 3'000}})}));
    EXPECT_LT(LiveChildren(), 40);
    Until(2ms);
    EXPECT_EQ(LiveChildren(), 1'000) << "the rest are a number";
    EXPECT_EQ(ProgressOf().steps[0].cursor, 1'000);
    EXPECT_LE(changes_in_largest_step(), config.changes_per_step + 4);
    At(3ms, Success(Child(0, 0)));
    Until(4ms);
    EXPECT_EQ(LiveChildren(), 1'000);
    EXPECT_TRUE(Exists(Child(0, 1'000)));
    // All hold one task.
    EXPECT_EQ(engine().FindExecution(ExecutionId(Text(Child(0, 5))))->task.get(),
              engine().FindExecution(ExecutionId(Text(Child(0, 900))))->task.get());
}

TEST_F(FanOutTest, ParallelMaxBoundsHowManyAreUnfinished) {
    At(0ms, Join({.id = "w", .capacity = 10}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "a",
                                             .shards = 5,
                                             .parallel_max = 2,
                                             .retry = RetryPolicy{.delay = 1h}}})}));
    EXPECT_THAT(AssignedIds(), ElementsAre(Child(0, 0), Child(0, 1)));
    At(2ms, Failure(Child(0, 0)));
    EXPECT_THAT(assigns, SizeIs(2)) << "one between attempts counts";
    At(3ms, Success(Child(0, 1)));
    EXPECT_THAT(AssignedIds(), ElementsAre(Child(0, 0), Child(0, 1), Child(0, 2)));
}

TEST_F(FanOutTest, WhenEnoughSucceededTheRestIsEnded) {
    At(0ms, Join({.id = "w", .capacity = 2}));
    At(1ms, Flow({.workflow = MakeWorkflow(
                      {{.name = "a", .shards = 5, .min_success = 2},
                       {.name = "b", .after = {"a"}, .payload = R"({"$from": "a"})"}})}));
    At(2ms, Broken(Child(0, 0)));
    At(3ms, Done(Child(0, 1), "1"));
    At(4ms, Done(Child(0, 2), "2"));
    EXPECT_EQ(StatusOf(Child(0, 3)), Status::kCancelled);
    EXPECT_EQ(MessageOf(Child(0, 4)), "run_ended: enough of its step have succeeded");
    EXPECT_EQ(StepsOf(), "success running");
    EXPECT_EQ(PayloadOf(Child(1)), "[null,1,2,null,null]");
}

TEST_F(FanOutTest, AStepThatCannotHaveEnoughSuccessesStopsTheRun) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 4, .min_success = 3}})}));
    At(2ms, Broken(Child(0, 0)));
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    At(3ms, Broken(Child(0, 1)));
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_EQ(StatusOf(Child(0, 2)), Status::kCancelled);
}

// --- Each worker --------------------------------------------------------------------------------

TEST_F(FanOutTest, ABroadcastReachesEachWorkerThatIsThereAndNoOther) {
    At(0ms, Join({.id = "a"}));
    At(0ms, Join({.id = "b"}));
    At(0ms, Join({.id = "other", .types = {"unlike"}}));
    At(1ms, Once({.id = "busy"}));
    At(2ms, Flow({.workflow = MakeWorkflow({{.name = "clear", .each_worker = true}})}));
    EXPECT_EQ(ProgressOf().steps[0].total, 2);
    EXPECT_THAT(AssignedWorkers(), ElementsAre("a", "b"));
    At(3ms, Join({.id = "late"}));
    EXPECT_EQ(StatusOf(Child(0, 0)), Status::kPending) << "it waits for its worker, not another";
    At(4ms, Success("busy"));
    EXPECT_THAT(AssignedWorkers(), ElementsAre("a", "b", "a"));
    At(5ms, Success(Child(0, 0)));
    At(6ms, Success(Child(0, 1)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
}

TEST_F(FanOutTest, AWorkerThatWentAwayCountsForNeither) {
    At(0ms, Join({.id = "a"}));
    At(0ms, Join({.id = "b"}));
    At(1ms, Once({.id = "busy"}));
    At(2ms, Flow({.workflow = MakeWorkflow({{.name = "clear", .each_worker = true}})}));
    At(3ms, Bye("a"));
    EXPECT_EQ(StatusOf(Child(0, 0)), Status::kSkipped);
    EXPECT_EQ(MessageOf(Child(0, 0)), "worker_gone: its worker went away before it began");
    At(4ms, Success(Child(0, 1)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
}

// All of them are stopped while something else keeps them busy: nothing was done, and that is said.
TEST_F(FanOutTest, ABroadcastWhoseWorkersAllWentAwayFails) {
    At(0ms, Join({.id = "a"}));
    At(0ms, Join({.id = "b"}));
    At(1ms, Once({.id = "busy"}));
    At(1ms, Once({.id = "too"}));
    At(2ms, Flow({.workflow = MakeWorkflow({{.name = "clear", .each_worker = true}})}));
    At(3ms, Bye("a"));
    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    At(3ms, Bye("b"));
    EXPECT_EQ(StatusOf(Child(0, 1)), Status::kSkipped);
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_EQ(MessageOf("run"),
              "step_failed: step 'clear' failed: every worker that it was for went away before it "
              "began");
}

TEST_F(FanOutTest, ABroadcastThatALostWorkerHadBegunFailsThere) {
    At(0ms, Join({.id = "a"}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "clear", .each_worker = true}})}));
    Until(40s);
    EXPECT_EQ(StatusOf(Child(0, 0)), Status::kFailed);
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
}

// Two steps for each worker, one of which kills it. Each of them may be what does: they begin one after
// the other, and the innocent one is not failed with it.
TEST_F(FanOutTest, BroadcastsThatMayKillTheirWorkerBeginOneAfterTheOther) {
    config.losses_max = 3;
    const auto join = [&](Duration at, const char* instance) {
        At(at, Join({.id = "a", .capacity = 5, .instance = instance}));
    };
    join(0s, "1");
    At(0s, Flow({.workflow = MakeWorkflow({{.name = "pay", .each_worker = true},
                                           {.name = "poison", .each_worker = true}})}));
    join(1s, "2");
    join(2s, "3");
    Until(2s + Trials::kForms);
    EXPECT_EQ(Row(Child(0, 0)).losses, 2u);
    EXPECT_EQ(StatusOf(Child(0, 0)), Status::kScheduled);
    EXPECT_EQ(StatusOf(Child(1, 0)), Status::kPending);
    Until(12s + Trials::kForms - 1ms);
    EXPECT_EQ(StatusOf(Child(1, 0)), Status::kPending);
    Until(12s + Trials::kForms);
    EXPECT_EQ(StatusOf(Child(1, 0)), Status::kScheduled);

    join(13s, "4");
    EXPECT_EQ(StatusOf(Child(1, 0)), Status::kFailed);
    EXPECT_EQ(Row(Child(0, 0)).losses, 2u) << "it was beside the one that is blamed";
}

// The new leader knows the workers from the store and waits for them.
TEST_F(FanOutTest, ABroadcastSurvivesATakeover) {
    At(0ms, Join({.id = "a"}));
    At(0ms, Join({.id = "b"}));
    At(1ms, Once({.id = "busy"}));
    At(2ms, Flow({.workflow = MakeWorkflow({{.name = "clear", .each_worker = true}})}));
    Restart(3ms);
    At(4ms, Join({.id = "b", .holding = {RefOf(Child(0, 1))}}));
    At(5ms, Success(Child(0, 1)));
    EXPECT_EQ(StatusOf(Child(0, 0)), Status::kPending);
    At(6ms, Join({.id = "a", .holding = {RefOf("busy")}}));
    At(7ms, Success("busy"));
    At(8ms, Success(Child(0, 0)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
}

TEST_F(FanOutTest, ABroadcastToNobodyFails) {
    At(0ms, Flow({.workflow = MakeWorkflow({{.name = "clear", .each_worker = true}})}));
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_EQ(MessageOf(Child(0, 0)), "step_refused: no worker that is online serves it");
}

// --- Large results ------------------------------------------------------------------------------

TEST_F(FanOutTest, ResultsBeyondWhatARunKeepsAreAskedOfTheStore) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    const std::string big = "\"" + std::string(50'000, 'x') + "\"";
    At(1ms, Flow({.workflow = MakeWorkflow(
                      {{.name = "a", .shards = 2},
                       {.name = "b", .after = {"a"}, .payload = R"({"$from": "a"})"}})}));
    lookups.clear();
    At(2ms, Done(Child(0, 0), big));
    At(3ms, Done(Child(0, 1), big));
    EXPECT_THAT(lookups, SizeIs(1));
    EXPECT_EQ(PayloadOf(Child(1)), "[" + big + "," + big + "]");
}

TEST_F(FanOutTest, AListOfResultsThatIsTooLargeGoesByReference) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    const std::string big = "\"" + std::string(100'000, 'x') + "\"";
    At(1ms, Flow({.workflow = MakeWorkflow(
                      {{.name = "a", .shards = 3},
                       {.name = "b", .after = {"a"}, .payload = R"({"all": {"$from": "a"}})"}})}));
    for (std::uint32_t i = 0; i < 3; ++i) At(2ms, Done(Child(0, i), big));
    EXPECT_EQ(PayloadOf(Child(1)), R"({"all":{"$results":{"step":"a","count":3}}})");
}

// --- Steps on each worker that name a task -------------------------------------------------------

// The task that the step names has come to have a limit, which nobody who is meant by name would obey.
TEST_F(FanOutTest, ATaskWithALimitIsNotRunOnEachWorker) {
    At(0ms, Join({.id = "a"}));
    At(0ms, Join({.id = "b"}));
    At(0ms, Put({.id = "rare",
                 .every = 1h,
                 .options = {.mode = Mode::kParallel, .concurrency_max = 1}}));
    At(1ms,
       Flow({.workflow = MakeWorkflow({{.name = "a", .each_worker = true, .named = "rare"}})}));

    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_THAT(assigns, ::testing::IsEmpty());
    EXPECT_EQ(
        MessageOf(Child(0, 0)),
        "step_refused: its task has a concurrency or rate limit, and cannot run on each worker");
}

}  // namespace
}  // namespace takt::internal
