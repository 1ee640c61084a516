#include "model/step_decision.h"

#include <algorithm>

namespace takt::internal {
namespace {

using What = StepDecision::What;

// The steps that one waits for, counted by what became of them.
struct Before {
    std::size_t all = 0;
    std::size_t over = 0;
    std::size_t success = 0;
    std::size_t failed = 0;  // Also what a failure kept from running.
    Text failure;            // The name of one of these.
    Text dropped;            // The name of one that was skipped for another reason.
};

bool Failed(const StepProgress& progress) {
    return progress.status == StepStatus::kFailed || progress.status == StepStatus::kCancelled ||
           (progress.status == StepStatus::kSkipped && progress.by_failure);
}

Before Count(const Workflow& workflow, const RunProgress& progress, std::uint32_t step) {
    Before before;
    for (const std::uint32_t number : workflow.before(step)) {
        const StepProgress& other = progress.steps[number];
        ++before.all;
        if (!IsOver(other.status)) continue;
        ++before.over;
        if (other.status == StepStatus::kSuccess) {
            ++before.success;
        } else if (Failed(other)) {
            ++before.failed;
            if (before.failure.empty()) before.failure = workflow.steps()[number].task->name;
        } else if (before.dropped.empty()) {
            before.dropped = workflow.steps()[number].task->name;
        }
    }
    return before;
}

StepDecision Begin(bool now) {
    return {.what = now ? What::kBegin : What::kWait};
}

StepDecision Skip(bool by_failure, std::string why) {
    return {.what = What::kSkip, .by_failure = by_failure, .why = std::move(why)};
}

StepDecision SkipFor(const Before& before) {
    if (before.failed > 0) return Skip(true, "step '" + before.failure.str() + "' did not succeed");
    return Skip(false, "step '" + before.dropped.str() + "' was skipped");
}

StepDecision DecideWhen(When when, const Before& before) {
    const bool over = before.over == before.all;
    switch (when) {
        case When::kAllSuccess:
            if (before.success == before.all) return Begin(true);
            // A step after it asks whether a failure was why. That must not depend on who is over
            // first: one that was skipped for another reason does not settle it.
            return over || before.failed > 0 ? SkipFor(before) : StepDecision{};
        case When::kAnySuccess:
            if (before.success > 0) return Begin(true);
            return over ? SkipFor(before) : StepDecision{};
        case When::kAllDone:
            return Begin(over);
        case When::kAnyFailed:
            if (before.failed > 0) return Begin(true);
            return over ? Skip(false, "no step before it failed") : StepDecision{};
        case When::kNoneFailed:
            if (before.failed > 0) return SkipFor(before);
            return Begin(over);
    }
    return {};
}

bool CleansUp(When when) {
    return when == When::kAnyFailed || when == When::kAllDone;
}

}  // namespace

StepDecision DecideBegin(const Workflow& workflow, const RunProgress& progress,
                         std::uint32_t step) {
    const When when = workflow.steps()[step].when;
    const std::span<const std::uint32_t> ahead = workflow.before(step);
    const auto over = [&](std::uint32_t number) { return IsOver(progress.steps[number].status); };
    // None of those before it is over, as with most steps: it waits, whatever it demands of them.
    if (!progress.ending && !ahead.empty() && std::ranges::none_of(ahead, over)) return {};
    const Before before = Count(workflow, progress, step);
    if (!progress.ending) return DecideWhen(when, before);
    const bool failed = progress.ending->reason == Reason::kStepFailed;
    // A first step cleans up nothing: nothing has been done before it.
    if (!failed || !CleansUp(when) || before.all == 0) {
        return Skip(failed, failed ? "another step failed" : "the run was ended");
    }
    return DecideWhen(when, before);
}

StepVerdict DecideEnd(const WorkflowStep& step, const StepProgress& progress) {
    const std::uint32_t ended = progress.ended();
    const std::uint32_t left = progress.total - std::min(progress.total, ended);
    if (step.min_success > 0) {
        if (progress.success >= step.min_success) return StepVerdict::kSucceeded;
        if (progress.success + left >= step.min_success) return StepVerdict::kGoesOn;
        return left == 0 ? StepVerdict::kFailed : StepVerdict::kDoomed;
    }
    const bool failed = progress.failed + progress.cancelled > 0;
    if (left > 0) return failed ? StepVerdict::kDoomed : StepVerdict::kGoesOn;
    // Workers that went away count for neither, but if all of them did, nothing was done.
    const bool nothing = progress.total > 0 && progress.success == 0;
    return failed || nothing ? StepVerdict::kFailed : StepVerdict::kSucceeded;
}

RunDecision DecideRun(const Workflow& workflow, const RunProgress& progress) {
    if (progress.ending) return {progress.ending->status, progress.ending->message.str()};
    for (const std::uint32_t number : workflow.order()) {
        const StepProgress& step = progress.steps[number];
        if (step.status != StepStatus::kFailed && step.status != StepStatus::kCancelled) continue;
        return {Status::kFailed, DescribeFailure(workflow, progress, number)};
    }
    return {Status::kSuccess, ""};
}

std::string DescribeFailure(const Workflow& workflow, const RunProgress& progress,
                            std::uint32_t step) {
    const Text& note = progress.steps[step].note;
    return "step '" + workflow.steps()[step].task->name.str() + "' failed" +
           (note.empty() ? "" : ": " + note.str());
}

Result<void> BeginRound(const Workflow& workflow, std::span<const Text> again,
                        RunProgress& progress) {
    std::vector<bool> anew(workflow.steps().size());
    std::vector<bool> again_open(workflow.steps().size());  // It did not succeed, and may now.
    for (const Text& name : again) {
        const auto number = workflow.Find(name.view());
        if (!number) {
            return Fail(ErrorCode::kInvalid, "there is no step '" + name.str() + "'", "steps");
        }
        anew[*number] = true;
    }
    progress.ending.reset();
    ++progress.round;
    for (const std::uint32_t number : workflow.order()) {
        for (const std::uint32_t before : workflow.before(number)) {
            // A step that ran because another failed, or after it, has to be decided anew.
            if (anew[before] || again_open[before]) anew[number] = true;
        }
        StepProgress& step = progress.steps[number];
        again_open[number] = Failed(step);
        if (step.status == StepStatus::kSuccess && !anew[number]) continue;
        StepProgress next;
        // A step after one that runs again may get other values, or another number of children;
        // those who work then may be others than those who did.
        if (!anew[number] && !workflow.steps()[number].each_worker) {
            next.success = step.success;
            next.succeeded = step.succeeded;
            next.total = step.total;
            next.rounds = step.rounds;
        }
        step = std::move(next);
    }
    return {};
}

}  // namespace takt::internal
