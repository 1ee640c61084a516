#include "model/step_decision.h"

#include <gtest/gtest.h>

#include "model/workflow_testing.h"

namespace takt::internal {
namespace {

using What = StepDecision::What;
using enum StepStatus;

// A step "c" after "a" and "b", by what became of these.
struct Situation {
    When when;
    StepStatus a;
    StepStatus b;
    What what;
    bool by_failure = false;
};

StepDecision Decide(const Situation& at, std::optional<Reason> ending = {}) {
    const WorkflowPtr workflow = MakeWorkflow({{"a"}, {"b"}, {"c", {"a", "b"}, at.when}});
    RunProgress progress = NewProgress(*workflow);
    progress.steps[0].status = at.a;
    progress.steps[1].status = at.b;
    if (ending) progress.ending = RunEnding{.status = Status::kFailed, .reason = *ending};
    return DecideBegin(*workflow, progress, 2);
}

TEST(StepDecisionTest, AStepBeginsAsItsWhenSays) {
    const Situation table[] = {
        {When::kAllSuccess, kSuccess, kSuccess, What::kBegin},
        {When::kAllSuccess, kSuccess, kRunning, What::kWait},
        {When::kAllSuccess, kFailed, kRunning, What::kSkip, true},
        {When::kAllSuccess, kCancelled, kSuccess, What::kSkip, true},
        {When::kAllSuccess, kSkipped, kSuccess, What::kSkip, false},
        {When::kAllSuccess, kSkipped, kRunning, What::kWait},
        {When::kAllSuccess, kSkipped, kFailed, What::kSkip, true},
        {When::kAnySuccess, kSuccess, kRunning, What::kBegin},
        {When::kAnySuccess, kFailed, kRunning, What::kWait},
        {When::kAnySuccess, kFailed, kSuccess, What::kBegin},
        {When::kAnySuccess, kFailed, kSkipped, What::kSkip, true},
        {When::kAnySuccess, kSkipped, kSkipped, What::kSkip, false},
        {When::kAllDone, kFailed, kSkipped, What::kBegin},
        {When::kAllDone, kFailed, kReady, What::kWait},
        {When::kAllDone, kFailed, kStopping, What::kWait},
        {When::kAnyFailed, kFailed, kRunning, What::kBegin},
        {When::kAnyFailed, kSuccess, kRunning, What::kWait},
        {When::kAnyFailed, kSuccess, kSkipped, What::kSkip, false},
        {When::kAnyFailed, kSuccess, kCancelled, What::kBegin},
        {When::kNoneFailed, kSuccess, kSkipped, What::kBegin},
        {When::kNoneFailed, kSuccess, kWaiting, What::kWait},
        {When::kNoneFailed, kFailed, kWaiting, What::kSkip, true},
    };
    for (const Situation& at : table) {
        const StepDecision decision = Decide(at);
        EXPECT_EQ(decision.what, at.what) << Name(at.when) << Name(at.a) << Name(at.b);
        EXPECT_EQ(decision.by_failure, at.by_failure) << Name(at.when);
        EXPECT_EQ(decision.why.empty(), at.what != What::kSkip);
    }
}

// A failure travels: whoever cleans up after the last of a chain hears of the first.
TEST(StepDecisionTest, WhatAFailureKeptFromRunningCountsAsFailed) {
    const WorkflowPtr workflow = MakeWorkflow(
        {{"a"}, {"b", {"a"}}, {"clean", {"b"}, When::kAnyFailed}}, OnFailure::kContinue);
    RunProgress progress = NewProgress(*workflow);
    progress.steps[0].status = kFailed;
    progress.steps[1].status = kSkipped;
    progress.steps[1].by_failure = true;
    EXPECT_EQ(DecideBegin(*workflow, progress, 2).what, What::kBegin);
    progress.steps[1].by_failure = false;
    EXPECT_EQ(DecideBegin(*workflow, progress, 2).what, What::kSkip);
}

TEST(StepDecisionTest, InARunThatEndsOnlyCleanUpBeginsAndOnlyAfterAFailure) {
    for (const When when : {When::kAllSuccess, When::kAnySuccess, When::kNoneFailed}) {
        EXPECT_EQ(Decide({when, kSuccess, kSuccess, {}}, Reason::kStepFailed).what, What::kSkip);
    }
    for (const When when : {When::kAnyFailed, When::kAllDone}) {
        EXPECT_EQ(Decide({when, kFailed, kCancelled, {}}, Reason::kStepFailed).what, What::kBegin);
        EXPECT_EQ(Decide({when, kFailed, kCancelled, {}}, Reason::kCancelled).what, What::kSkip);
        EXPECT_EQ(Decide({when, kFailed, kCancelled, {}}, Reason::kTimeout).what, What::kSkip);
    }
}

TEST(StepDecisionTest, AStepIsOverWhenAllOfItsChildrenAreOrEnoughSucceeded) {
    const struct {
        std::uint32_t min_success, success, failed, skipped;  // Of 4.
        StepVerdict verdict;
    } table[] = {
        {0, 3, 0, 0, StepVerdict::kGoesOn},    {0, 4, 0, 0, StepVerdict::kSucceeded},
        {0, 2, 1, 0, StepVerdict::kDoomed},    {0, 3, 1, 0, StepVerdict::kFailed},
        {0, 3, 0, 1, StepVerdict::kSucceeded}, {0, 0, 0, 4, StepVerdict::kFailed},
        {2, 1, 1, 0, StepVerdict::kGoesOn},    {2, 2, 0, 0, StepVerdict::kSucceeded},
        {2, 1, 2, 1, StepVerdict::kFailed},    {2, 0, 3, 0, StepVerdict::kDoomed},
        {3, 1, 0, 2, StepVerdict::kDoomed},
    };
    for (const auto& at : table) {
        WorkflowStep step = MakeStep({.name = "a", .shards = 4, .min_success = at.min_success});
        StepProgress progress;
        progress.total = 4;
        progress.success = at.success;
        progress.failed = at.failed;
        progress.skipped = at.skipped;
        EXPECT_EQ(DecideEnd(step, progress), at.verdict)
            << at.min_success << at.success << at.failed << at.skipped;
    }
    EXPECT_EQ(DecideEnd(MakeStep({.name = "a", .for_each = "[]"}), StepProgress{}),
              StepVerdict::kSucceeded);
}

TEST(StepDecisionTest, ARunFailsIfAStepDidAlsoAfterItsCleanUp) {
    const WorkflowPtr workflow =
        MakeWorkflow({{"a"}, {"clean", {"a"}, When::kAnyFailed}}, OnFailure::kContinue);
    RunProgress progress = NewProgress(*workflow);
    progress.steps[0].status = kFailed;
    progress.steps[1].status = kSuccess;
    EXPECT_EQ(DecideRun(*workflow, progress).status, Status::kFailed);
    EXPECT_EQ(DecideRun(*workflow, progress).why, "step 'a' failed");
    progress.steps[0].status = kSuccess;
    progress.steps[1].status = kSkipped;
    EXPECT_EQ(DecideRun(*workflow, progress).status, Status::kSuccess);
}

// An operator runs a failed run again: what succeeded is not done twice.
TEST(StepDecisionTest, ANewRoundKeepsWhatSucceeded) {
    const WorkflowPtr workflow = MakeWorkflow({{"a"},
                                               {.name = "b", .after = {"a"}, .shards = 4},
                                               {"c", {"b"}},
                                               {"clean", {"b"}, When::kAnyFailed}});
    RunProgress progress = NewProgress(*workflow);
    progress.ending = RunEnding{.status = Status::kFailed, .reason = Reason::kStepFailed};
    progress.steps[0] = {.status = kSuccess, .total = 1, .cursor = 1, .success = 1};
    progress.steps[1] = {.status = kFailed, .total = 4, .cursor = 4, .success = 3, .failed = 1};
    progress.steps[1].rounds = {0};
    for (const std::uint32_t i : {0, 1, 3}) progress.steps[1].succeeded.Set(i);
    progress.steps[2] = {.status = kSkipped, .by_failure = true};
    progress.steps[3] = {.status = kSuccess, .total = 1, .cursor = 1, .success = 1};
    ASSERT_TRUE(BeginRound(*workflow, {}, progress));
    EXPECT_EQ(progress.round, 1);
    EXPECT_FALSE(progress.ending);
    EXPECT_EQ(progress.steps[0].status, kSuccess);
    EXPECT_EQ(progress.steps[1].status, kWaiting);
    EXPECT_EQ(progress.steps[1].success, 3);
    EXPECT_EQ(progress.steps[1].failed, 0);
    EXPECT_TRUE(progress.steps[1].succeeded.Has(3));
    EXPECT_FALSE(progress.steps[1].succeeded.Has(2));
    EXPECT_EQ(progress.steps[2].status, kWaiting);
    EXPECT_EQ(progress.steps[3].status, kWaiting) << "it cleaned up after a failure that is undone";
    EXPECT_EQ(progress.steps[3].success, 0);
}

TEST(StepDecisionTest, ANewRoundMayBeginEarlier) {
    const WorkflowPtr workflow = MakeWorkflow({{"a"}, {"b", {"a"}}, {"c", {"b"}}});
    RunProgress progress = NewProgress(*workflow);
    for (StepProgress& step : progress.steps) step = {.status = kSuccess, .total = 1, .success = 1};
    RunProgress other = progress;
    const std::vector<Text> again{"b"};
    ASSERT_TRUE(BeginRound(*workflow, again, progress));
    EXPECT_EQ(progress.steps[0].status, kSuccess);
    EXPECT_EQ(progress.steps[1].success, 0);
    EXPECT_EQ(progress.steps[2].status, kWaiting);
    const std::vector<Text> unknown{"x"};
    EXPECT_EQ(BeginRound(*workflow, unknown, other).error().detail, "there is no step 'x'");
}

// --- Progress as it is stored -------------------------------------------------------------------

TEST(RunProgressTest, WhatWasStoredIsRead) {
    const WorkflowPtr workflow = MakeWorkflow({{"a"}, {"b"}});
    RunProgress progress = NewProgress(*workflow);
    progress.round = 3;
    progress.children = 77;
    progress.depth = 2;
    progress.ending = RunEnding{Status::kCancelled, Reason::kCancelled, "not needed", "1", true};
    progress.steps[0] = {.status = kStopping,
                         .by_failure = true,
                         .total = 9,
                         .cursor = 8,
                         .success = 2,
                         .failed = 1,
                         .cancelled = 1,
                         .skipped = 1,
                         .rounds = {0, 2},
                         .workers = {"w-1", "w-2"},
                         .started_at = Time(Duration(5)),
                         .finished_at = Time(Duration(6)),
                         .note = "why"};
    progress.steps[0].succeeded.Set(0);
    progress.steps[0].succeeded.Set(7);
    progress.steps[1] = {.status = kSuccess, .total = 3, .cursor = 3, .success = 3};
    for (const std::uint32_t i : {0, 1, 2}) progress.steps[1].succeeded.Set(i);
    EXPECT_EQ(DecodeProgress(EncodeProgress(progress), 2).value(), progress);
    // A step that is over is remembered as it would be spelled.
    std::vector<Text> over(2);
    EXPECT_EQ(EncodeProgress(progress, over), EncodeProgress(progress));
    EXPECT_TRUE(over[0].empty()) << "it goes on";
    EXPECT_FALSE(over[1].empty());
    progress.steps[0].cursor = 9;
    EXPECT_EQ(EncodeProgress(progress, over), EncodeProgress(progress));
    EXPECT_EQ(DecodeProgressHead(EncodeProgressHead(progress))->ending, progress.ending);
    EXPECT_FALSE(DecodeProgress(EncodeProgress(progress), 3));
    EXPECT_FALSE(DecodeProgress("nonsense", 2));
}

// The largest run there may be is stored in one record.
TEST(RunProgressTest, TheLargestRunFitsItsRecord) {
    RunProgress progress;
    for (int i = 0; i < 500; ++i) {
        StepProgress& step = progress.steps.emplace_back();
        step = {.status = kRunning, .total = 100, .cursor = 100, .success = 98, .failed = 1};
        step.rounds = {0, 1, 2, 3};
        step.started_at = step.finished_at = Time(Duration(1'800'000'000'000));
        for (std::uint32_t child = 0; child < 100; child += 2) step.succeeded.Set(child);
    }
    EXPECT_LT(EncodeProgress(progress).size(), 48u << 10);
}

TEST(RunProgressTest, AChildsIdIsSpelledFromItsRun) {
    const ExecutionId run("01h8xyz000000");
    EXPECT_EQ(ChildId(run, {.step = 3, .index = 17}).text(), "01h8xyz000000~3.17");
    EXPECT_EQ(ChildId(run, {.step = 3, .index = 17, .round = 2}).text(), "01h8xyz000000~3.17.2");
    const ExecutionId longest{Text(std::string(64, 'x'))};
    const ExecutionId child = ChildId(longest, {.step = 499, .index = 9999, .round = 3});
    EXPECT_TRUE(IsValidId(child.view())) << child.view();
    EXPECT_NE(child, ChildId(ExecutionId(Text(std::string(63, 'x') + "y")),
                             {.step = 499, .index = 9999, .round = 3}));
    EXPECT_TRUE(IsChildId(child.view()) && IsChildId("a~0.0") && IsChildId("a~3.1.2"));
    EXPECT_TRUE(IsChildId(BackfillId(TaskId("t"), Time(Duration(5))).view()));
    EXPECT_FALSE(IsChildId("a") || IsChildId("a~b") || IsChildId("v~1a"));
}

}  // namespace
}  // namespace takt::internal
