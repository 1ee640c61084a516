// Runs of which a new leader cannot read everything.
#include <gmock/gmock.h>

#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::HasSubstr;

class FlowDamageTest : public FlowHistory {};

// The row of the child that had its progress is damaged, or gone: nothing that lives is left of it.
TEST_F(FlowDamageTest, ARunOfWhichNothingCanBeReadIsFailedAndBringsNobodyDown) {
    At(0ms, Join({.id = "w"}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}}),
                  .timeout = 1h,
                  .concurrency_max = 1,
                  .concurrency_key = "one"}));
    At(1ms, PutFlow({.id = "often", .every = 1h}, MakeWorkflow({{"a"}})));
    Until(1h + 1s);
    ASSERT_EQ(StatusOf("run"), Status::kFailed) << "its time is over";
    At(1h + 1s, Flow({.id = "next", .workflow = MakeWorkflow({{"a"}}), .timeout = 1h}));
    store.records.clear();
    std::erase_if(store.executions, [](const auto& entry) {
        return entry.second.place == Place::kLive && !entry.second.execution.parent.empty();
    });
    Restart(1h + 2s);
    Until(1h + 3s);
    EXPECT_EQ(StatusOf("next"), Status::kFailed);
    EXPECT_THAT(MessageOf("next"), HasSubstr("nothing is stored of its steps"));
    Until(3h);
}

// Nobody knows what became of a child that cannot be read, nor whether it had newer progress.
TEST_F(FlowDamageTest, ARunWithAChildThatCannotBeReadIsFailed) {
    At(0ms, Join({.id = "w", .capacity = 2}));
    At(1ms, Flow({.workflow = MakeWorkflow({{"a"}, {"b"}, {"c", {"a"}}})}));
    At(2ms, Success(Child(0)));
    store.executions.at(ExecutionId(Text(Child(2)))).execution.progress = "no progress";
    Restart(3ms);
    Until(4ms);
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_EQ(ChildrenOf().size(), 3) << "none is made twice";
}

// "In a day run send-reminder": the delay is the step's, and the task that it names has none.
TEST_F(FlowDamageTest, ADelayedStepThatRunsAnotherTaskWaitsAtTheNextLeaderToo) {
    At(0ms, Put({.id = "reminder", .every = 8760h}));
    At(0ms, Join({.id = "w"}));
    At(1ms, Flow({.workflow = MakeWorkflow({{.name = "a", .named = "reminder", .delay = 24h}})}));
    Restart(1h);
    At(23h, Join({.id = "w"}));
    EXPECT_EQ(StatusOf(Child(0)), Status::kPending);
    At(24h + 1s, Join({.id = "w"}));
    EXPECT_EQ(StatusOf(Child(0)), Status::kScheduled);
}

// A script makes a workflow, runs it, deletes it and makes a plain task of its name, all within one
// millisecond: the two tasks were made at one time and have one version. The run that goes on is still
// one of the first, also for the next leader.
TEST_F(FlowDamageTest, ARunOfADeletedTaskIsNotTakenForOneOfTheTaskThatWasMadeInItsPlaceAtOnce) {
    At(1ms, PutFlow({.every = 1h}, MakeWorkflow({{"a"}})));
    At(1ms, TriggerOf("report"));
    At(1ms, Drop("report"));
    At(1ms, Put({.every = 1h}));
    ASSERT_EQ(StatusOf(RunOf("report", 0)), Status::kRunning);
    Restart(2ms);
    At(3ms, Join({.id = "w"}));
    At(4ms, Success(Child(0, 0, 0, RunOf("report", 0))));

    EXPECT_EQ(StatusOf(RunOf("report", 0)), Status::kSuccess);
}

}  // namespace
}  // namespace takt::internal
