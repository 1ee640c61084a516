// Workflows whose leader dies at each of its commits; runs of recurring tasks; runs in runs.
#include <set>

#include "engine/flow_fixture.h"
#include "model/record.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FlowTakeoverTest : public FlowHistory {
  protected:
    // The worker does what it is given until nothing is left; before its `dies_at`th word the leader
    // dies, and the worker comes back to the next one with what it holds. Returns how many words it
    // said.
    int Work(Duration from, int dies_at) {
        Duration at = from;
        std::set<std::string> held;
        std::size_t seen = 0;
        for (int said = 0;; ++said) {
            at += 1ms;
            Until(at);
            for (; seen < assigns.size(); ++seen)
                held.insert(assigns[seen].execution.id.text().str());
            for (auto id = held.begin(); id != held.end();) {
                const bool over = store.Find(ExecutionId(Text(*id)))->place == Place::kHistory;
                id = over ? held.erase(id) : std::next(id);
            }
            if (said == dies_at) {
                Restart(at);
                at += 1ms;
                WorkerSpec back{.id = "w", .capacity = 3};
                for (const std::string& id : held) back.holding.push_back(RefOf(id));
                At(at, Join(back));
                continue;
            }
            if (held.empty()) return said;
            const std::string id = *held.begin();
            ++ended_[id];
            At(at, Done(id, "\"" + id + "\""));
        }
    }
    std::map<std::string, int> ended_;
};

// Whenever the leader dies, no step is repeated and none is forgotten.
TEST_F(FlowTakeoverTest, ATakeoverAtAnyMomentRepeatsNoStepAndForgetsNone) {
    const WorkflowPtr workflow = MakeWorkflow(
        {{"list"},
         {.name = "map", .after = {"list"}, .shards = 7, .parallel_max = 4},
         {.name = "each", .after = {"list"}, .for_each = "[1,2,3]"},
         {.name = "reduce", .after = {"map", "each"}, .payload = R"({"$from": "map"})"},
         {"never", {"reduce"}, When::kAnyFailed}});
    config.changes_per_step = 4;
    int words = 0;
    for (int dies_at = 0; dies_at <= words; ++dies_at) {
        const std::string run = "run-" + std::to_string(dies_at);
        const Duration begin = std::chrono::seconds(10 * dies_at);
        At(begin, Join({.id = "w", .capacity = 3}));
        At(begin, Flow({.id = run, .workflow = workflow}));
        if (dies_at == 0) {
            words = Work(begin, -1);
            ASSERT_EQ(words, 12);
        } else {
            Work(begin, dies_at);
        }
        ASSERT_EQ(StatusOf(run), Status::kSuccess) << dies_at;
        ASSERT_EQ(ChildrenOf(run).size(), 12) << dies_at;
        for (const std::string& child : ChildrenOf(run)) EXPECT_EQ(ended_[child], 1) << child;
        std::string list;
        for (std::uint32_t i = 0; i < 7; ++i) {
            list += (i > 0 ? ",\"" : "\"") + Child(1, i, 0, run) + "\"";
        }
        EXPECT_EQ(PayloadOf(Child(3, 0, 0, run)), "[" + list + "]") << dies_at;
        EXPECT_THAT(store.records, testing::IsEmpty());
    }
}

// While the new leader is asked to make children of a step, it has to make the rest, and only it.
TEST_F(FlowTakeoverTest, ACursorIsTakenOverWhereItStood) {
    config.changes_per_step = 6;
    At(0ms, Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 50}})}));
    tick_between = false;
    for (int i = 1; i < 30; ++i) {
        At(Duration(i), Tick{});
        Restart(Duration(i));
    }
    tick_between = true;
    Until(1s);
    EXPECT_EQ(ChildrenOf().size(), 50);
    EXPECT_EQ(ProgressOf().steps[0].cursor, 50);
}

TEST_F(FlowTakeoverTest, ARunWhoseProgressIsLostIsFailedAndItsChildrenAreCancelled) {
    At(0ms, Join({.id = "w"}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}})}));
    store.records.clear();
    for (auto& [id, row] : store.executions) {
        if (!row.execution.parent.empty()) row.execution.progress = {};
    }
    Restart(2ms);
    Until(3ms);
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_THAT(MessageOf("run"), HasSubstr("nothing is stored of its steps"));
    EXPECT_EQ(StatusOf(Child(0)), Status::kCancelled);
}

// A record is one more row to write with each step. The row of the next step is written anyhow.
TEST_F(FlowTakeoverTest, StepsThatFollowEachOtherNeedNoRecord) {
    At(0ms, Join({.id = "w"}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}, {"b", {"a"}}, {"c", {"b"}}})}));
    EXPECT_TRUE(store.records.empty());
    At(2ms, Success(Child(0)));
    EXPECT_TRUE(store.records.empty());
    EXPECT_EQ(StepsOf(), "success running pending");
    EXPECT_TRUE(Row(Child(0)).progress.empty());
    Restart(3ms);
    EXPECT_EQ(ChildrenOf().size(), 2);
    At(4ms, Join({.id = "w", .holding = {RefOf(Child(1))}}));
    At(5ms, Success(Child(1)));
    At(6ms, Success(Child(2)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(ChildrenOf().size(), 3);
    EXPECT_TRUE(store.records.empty());
}

// The progress that a child was made with is old when another one has ended since: then there is a
// record, and the next leader must go by that. When the run makes a child again, the record goes.
TEST_F(FlowTakeoverTest, ARecordIsNewerThanWhatAChildCarries) {
    At(0ms, Join({.id = "w", .capacity = 2}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}, {"b"}, {"c", {"a", "b"}}, {"d", {"c"}}})}));
    At(2ms, Success(Child(0)));
    EXPECT_EQ(store.records.size(), 1);
    EXPECT_FALSE(CarriedOf("run").empty());
    Restart(3ms);
    EXPECT_EQ(StepsOf(), "success running pending pending");
    At(4ms, Join({.id = "w", .capacity = 2, .holding = {RefOf(Child(1))}}));
    At(5ms, Success(Child(1)));
    EXPECT_TRUE(store.records.empty());
    Restart(6ms);
    EXPECT_EQ(StepsOf(), "success success running pending");
    At(7ms, Join({.id = "w", .capacity = 2, .holding = {RefOf(Child(2))}}));
    At(8ms, Success(Child(2)));
    At(9ms, Success(Child(3)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(ChildrenOf().size(), 4);
}

// A new leader must not write all that an earlier one left to end in one batch: no store takes it.
TEST_F(FlowTakeoverTest, TakingOverARunThatEndsIsBoundedToo) {
    config.changes_per_step = 8;
    At(0ms, Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 200}})}));
    Until(1ms);
    ASSERT_EQ(LiveChildren(), 200);
    tick_between = false;
    At(2ms, CancelOf("run"));
    ASSERT_GT(LiveChildren(), 150);
    Restart(3ms);
    EXPECT_LE(changes_in_last_commit(), 2);
    tick_between = true;
    Until(4ms);
    EXPECT_EQ(StatusOf("run"), Status::kCancelled);
    EXPECT_LE(changes_in_largest_step(), 12);
}

// --- Runs of recurring tasks --------------------------------------------------------------------

// A sequential workflow whose leader dies: its run has its turn, and its children need none.
TEST_F(FlowTakeoverTest, RunsOfASequentialWorkflowNeverOverlap) {
    At(0ms, PutFlow({.id = "report", .every = 10s}, MakeWorkflow({{"a"}, {"b", {"a"}}})));
    At(1ms, Join({.id = "w", .capacity = 5}));
    Until(10s);
    const std::string first = RunOf("report", 0);
    EXPECT_EQ(StatusOf(first), Status::kRunning);
    Until(20s);
    EXPECT_EQ(StatusOf(RunOf("report", 1)), Status::kPending);
    Restart(21s);
    At(21s, Join({.id = "w", .capacity = 5, .holding = {RefOf(Child(0, 0, 0, first))}}));
    Until(25s);
    EXPECT_EQ(StatusOf(RunOf("report", 1)), Status::kPending);
    At(26s, Success(Child(0, 0, 0, first)));
    At(27s, Success(Child(1, 0, 0, first)));
    EXPECT_EQ(StatusOf(first), Status::kSuccess);
    EXPECT_EQ(StatusOf(RunOf("report", 1)), Status::kRunning);
}

TEST_F(FlowTakeoverTest, ANewRunTakesThePlaceOfTheOneBefore) {
    RecurringSpec spec{.id = "report", .every = 10s};
    spec.options.mode = Mode::kReplace;
    At(0ms, PutFlow(spec, MakeWorkflow({{.name = "a", .shards = 3}})));
    At(1ms, Join({.id = "w", .capacity = 2}));
    Until(21s);
    EXPECT_EQ(StatusOf(RunOf("report", 0)), Status::kCancelled);
    EXPECT_THAT(MessageOf(RunOf("report", 0)), HasSubstr("replaced"));
    EXPECT_EQ(CodeOf(RunOf("report", 1)), "handler_stops");
    for (const StopAttempt& stop : stops) At(22s, ReportOf(stop.attempt, "w", false));
    EXPECT_EQ(StatusOf(RunOf("report", 1)), Status::kRunning);
    EXPECT_EQ(LiveChildren(RunOf("report", 0)), 0);
}

TEST_F(FlowTakeoverTest, ADeletedTasksRunGoesOnByItsOwnSteps) {
    At(0ms, PutFlow({.id = "report", .every = 10s}, MakeWorkflow({{"a"}, {"b", {"a"}}})));
    At(1ms, Join({.id = "w", .capacity = 5}));
    Until(10s);
    const std::string run = RunOf("report", 0);
    At(11s, Drop("report"));
    At(12s, Success(Child(0, 0, 0, run)));
    At(13s, Success(Child(1, 0, 0, run)));
    EXPECT_EQ(StatusOf(run), Status::kSuccess);
}

// A store answers with a copy of the task; the engine keeps the one that all runs of the task
// share, and the copy with its steps is gone.
TEST_F(FlowTakeoverTest, ARunOfARecurringTaskThatComesFromTheStoreHasStepsThatLive) {
    At(0ms, PutFlow({.id = "report", .every = 10s}, MakeWorkflow({{"a"}, {"b", {"a"}}})));
    At(1ms, Join({.id = "w", .capacity = 5}));
    Until(10s);
    const std::string run = RunOf("report", 0);
    const auto from_store = [&] {
        Execution& row = store.executions.find(ExecutionId(Text(run)))->second.execution;
        row = DecodeExecution(EncodeExecution(row)).value();
    };
    At(10s + 1ms, Broken(Child(0, 0, 0, run)));
    ASSERT_EQ(StatusOf(run), Status::kFailed);
    from_store();
    At(10s + 2ms, RedriveOf(run));
    At(10s + 3ms, Success(Child(0, 0, 1, run)));
    EXPECT_EQ(StepsOf(run), "success running");

    from_store();
    Restart(10s + 4ms);
    At(10s + 5ms, Join({.id = "w", .capacity = 5, .holding = {RefOf(Child(1, 0, 1, run))}}));
    At(10s + 6ms, Broken(Child(1, 0, 1, run)));
    EXPECT_EQ(StatusOf(run), Status::kFailed);
    EXPECT_EQ(StepsOf(run), "success failed");
}

// --- Runs in runs -------------------------------------------------------------------------------

TEST_F(FlowTakeoverTest, AStepMayRunAnotherTaskWithSteps) {
    At(0ms, PutFlow({.id = "inner", .every = 8760h, .payload = R"({"n": 1})"},
                    MakeWorkflow({{.name = "x", .payload = R"({"$input": "/n"})"}, {"y", {"x"}}})));
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow(
                      {{.name = "a", .named = "inner"},
                       {.name = "b", .after = {"a"}, .payload = R"({"$from": "a"})"}})}));
    const std::string inner = Child(0);
    EXPECT_EQ(StatusOf(inner), Status::kRunning);
    EXPECT_EQ(Row(inner).task->id.text(), "inner");
    EXPECT_EQ(PayloadOf(Child(0, 0, 0, inner)), "1");
    Restart(2ms);
    At(3ms, Join({.id = "w", .capacity = 5, .holding = {RefOf(Child(0, 0, 0, inner))}}));
    At(4ms, Success(Child(0, 0, 0, inner)));
    At(5ms, Done(Child(1, 0, 0, inner), "\"deep\""));
    EXPECT_EQ(StatusOf(inner), Status::kSuccess);
    EXPECT_EQ(PayloadOf(Child(1)), "\"deep\"");
    At(6ms, Success(Child(1)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
}

TEST_F(FlowTakeoverTest, CancellingARunEndsTheRunsInIt) {
    At(0ms, PutFlow({.id = "inner", .every = 8760h}, MakeWorkflow({{.name = "x", .shards = 4}})));
    At(0ms, Join({.id = "w", .capacity = 2}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "a", .named = "inner"}})}));
    ASSERT_EQ(LiveChildren(Child(0)), 4);
    At(2ms, CancelOf("run"));
    Until(3ms);
    EXPECT_EQ(LiveChildren(Child(0)), 0);
    EXPECT_EQ(StatusOf(Child(0)), Status::kCancelled);
    EXPECT_EQ(StatusOf("run"), Status::kCancelled);
}

// The steps of a task run another one, whose steps run the first: a run would never end.
TEST_F(FlowTakeoverTest, ATaskWhoseStepsRunItselfIsRefused) {
    const auto put = [this](const std::string& id, const std::string& runs) {
        PutTask made = PutFlow({.id = id, .every = 8760h},
                               MakeWorkflow({{.name = "first"}, {.name = "again", .named = runs}}));
        At(0ms, std::move(made));
        return LastReply().has_value() ? Error{} : LastReply().error();
    };
    const Error itself = put("a", "a");
    EXPECT_EQ(itself.code, ErrorCode::kInvalid);
    EXPECT_EQ(itself.field, "steps[1].task");
    EXPECT_EQ(itself.detail,
              "step 'again' runs the task that it is a step of: a run of it would never end");
    EXPECT_EQ(put("a", "b").detail, "") << "there is no 'b' yet";
    EXPECT_EQ(put("b", "c").detail, "");
    EXPECT_EQ(put("c", "a").detail,
              "step 'again' runs 'a', whose steps run this task: a run of it would never end");
    EXPECT_EQ(put("c", "d").detail, "");
    EXPECT_EQ(put("a", "c").detail, "") << "two ways to one task are no circle";
}

// The run of a run holds the key that a step far below asks for.
TEST_F(FlowTakeoverTest, AStepThatAsksForTheKeyOfARunAroundItIsRefused) {
    At(0ms, Join({.id = "w", .capacity = 9}));
    RecurringSpec inner{.id = "inner", .every = 8760h};
    At(0ms, PutFlow(std::move(inner), MakeWorkflow({{.name = "s", .concurrency_key = "k"}})));
    RecurringSpec outer{.id = "outer", .every = 8760h};
    outer.options.concurrency_key = "k";
    outer.options.concurrency_max = 1;
    At(0ms, PutFlow(std::move(outer), MakeWorkflow({{.name = "a", .named = "inner"}})));
    At(1ms, TriggerOf("outer"));
    Until(2ms);
    EXPECT_EQ(StatusOf(RunOf("outer", 0)), Status::kFailed);
}

// A queue was paused, or nobody serves the type: the run says so itself.
TEST_F(FlowTakeoverTest, ARunOfWhichNothingRunsSaysWhy) {
    At(0ms, Flow({.workflow = MakeWorkflow({{"a"}, {"b"}})}));
    EXPECT_EQ(CodeOf("run"), "run_waits");
    EXPECT_EQ(CodeOf(Child(0, 0)), "no_worker");
    At(1ms, Join({.id = "w", .capacity = 1}));
    EXPECT_EQ(CodeOf("run"), "run_goes_on") << "one of them runs";
}

TEST_F(FlowTakeoverTest, RunsThatAreNestedTooDeepAreStopped) {
    for (int i = 0; i < 8; ++i) {
        RecurringSpec spec{.id = i == 0 ? "self" : "self" + std::to_string(i), .every = 8760h};
        spec.options.mode = Mode::kParallel;
        const std::string next = "self" + std::to_string(i + 1);
        At(0ms, PutFlow(std::move(spec), MakeWorkflow({{.name = "a", .named = next}})));
    }
    At(1ms, TriggerOf("self"));
    Until(2ms);
    EXPECT_EQ(StatusOf(RunOf("self", 0)), Status::kFailed);
    std::string deepest = RunOf("self", 0);
    int depth = 1;
    while (Exists(Child(0, 0, 0, deepest))) {
        deepest = Child(0, 0, 0, deepest);
        ++depth;
    }
    EXPECT_EQ(MessageOf(deepest), "step_refused: runs are nested deeper than 5");
    EXPECT_EQ(depth, 6);
    At(3ms, Flow({.workflow = MakeWorkflow({{.name = "a", .named = "nobody"}})}));
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_EQ(ProgressOf().steps[0].note, "there is no recurring task 'nobody'");
}

// Two workflows and somebody by hand pay at once.
TEST_F(FlowTakeoverTest, ASequentialTaskRunsOneAtATimeWhoeverRunsIt) {
    At(0ms, Put({.id = "pay", .every = 8760h}));
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, TriggerOf("pay"));
    At(1ms, Flow({.id = "one", .workflow = MakeWorkflow({{.name = "a", .named = "pay"}})}));
    At(1ms, Flow({.id = "two", .workflow = MakeWorkflow({{.name = "a", .named = "pay"}})}));
    const std::string first = Child(0, 0, 0, "one");
    const std::string second = Child(0, 0, 0, "two");
    EXPECT_THAT(AssignedIds(), testing::ElementsAre(RunOf("pay", 0)));
    EXPECT_EQ(CodeOf(first), "previous_run");
    At(2ms, Success(RunOf("pay", 0)));
    EXPECT_EQ(StatusOf(first), Status::kScheduled);
    EXPECT_EQ(StatusOf(second), Status::kPending);
    Restart(3ms);
    At(4ms, Join({.id = "w", .capacity = 5, .holding = {RefOf(first)}}));
    At(5ms, TriggerOf("pay"));
    EXPECT_EQ(StatusOf(second), Status::kPending) << "the first one has the turn still";
    At(6ms, Success(first));
    EXPECT_EQ(StatusOf(second), Status::kScheduled) << "it has waited longest";
    EXPECT_EQ(StatusOf("one"), Status::kSuccess);
    At(7ms, Success(second));
    EXPECT_EQ(StatusOf(RunOf("pay", 1)), Status::kScheduled);
}

// A task that runs itself was stored by a version that took it.
TEST_F(FlowTakeoverTest, ARunDoesNotWaitForItsOwnTurn) {
    At(0ms, Put({.id = "self", .every = 8760h}));
    const PutTask circle =
        PutFlow({.id = "self", .every = 8760h}, MakeWorkflow({{.name = "a", .named = "self"}}));
    store.tasks.at(TaskId("self")).task = circle.task;
    Restart(1ms);
    At(1ms, TriggerOf("self"));
    Until(2ms);
    EXPECT_EQ(StatusOf(RunOf("self", 0)), Status::kFailed);
    EXPECT_EQ(MessageOf(Child(0, 0, 0, RunOf("self", 0))),
              "step_refused: 'self' runs one at a time, and the run that this step is part of is "
              "one of its runs");
}

TEST_F(FlowTakeoverTest, ALongRunThatIsRunAgainAfterATakeoverKeepsItsPlaceInLine) {
    At(0ms, Join({.id = "w", .capacity = 5}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}, {"b", {"a"}}}), .concurrency_max = 1}));
    At(2ms, Success(Child(0)));
    At(3ms, Broken(Child(1)));
    At(4ms, Flow({.id = "second", .workflow = MakeWorkflow({{"a"}}), .concurrency_max = 1}));
    At(5ms, RedriveOf("run"));
    EXPECT_EQ(StatusOf("run"), Status::kPending) << "the other one has the permit";
    Restart(6ms);
    At(7ms, Join({.id = "w", .capacity = 5, .holding = {RefOf(Child(0, 0, 0, "second"))}}));
    EXPECT_EQ(StatusOf("run"), Status::kPending);
    At(8ms, Success(Child(0, 0, 0, "second")));
    EXPECT_EQ(StepsOf(), "success running");
    At(9ms, Success(Child(1, 0, 1)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
}

}  // namespace
}  // namespace takt::internal
