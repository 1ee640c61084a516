// Why a run has not ended: which steps go on, and what the others wait for.
#include "engine/explain.h"
#include "engine/run.h"

namespace takt::internal {
namespace {

// Steps that the sentence names of each kind; more are counted.
constexpr std::size_t kNamedMax = 5;

struct Names {
    std::string text;
    std::size_t count = 0;

    void Add(const std::string& name) {
        if (++count > kNamedMax) return;
        text += (text.empty() ? "" : ", ") + name;
    }
    std::string Listed() const {
        return count > kNamedMax ? text + " and " + std::to_string(count - kNamedMax) + " more"
                                 : text;
    }
};

std::string StepWaits(const Run& run, std::uint32_t number) {
    Names open;
    for (const std::uint32_t before : run.workflow->before(number)) {
        if (!IsOver(run.progress.steps[before].status)) {
            open.Add(Quoted(run.step(before).task->name));
        }
    }
    return Quoted(run.step(number).task->name) + " for " + open.Listed();
}

}  // namespace

Explanation ExplainRun(const Run& run) {
    const std::uint64_t children = run.children.size();
    if (run.ending()) {
        const std::string as(Name(run.progress.ending->status));
        const std::string why = run.progress.ending->message.str();
        return Explanation{"run_ends",
                           "it is being ended as " + as + (why.empty() ? "" : " (" + why + ")") +
                               "; " + Counted(children, "execution") +
                               (children == 1 ? " has" : " have") + " yet to stop",
                           {{"status", as}, {"executions", children}, {"message", why}}};
    }
    Names running, ready, waiting;
    for (std::uint32_t i = 0; i < run.steps.size(); ++i) {
        const StepProgress& step = run.progress.steps[i];
        const std::string name = Quoted(run.step(i).task->name);
        if (step.status == StepStatus::kRunning || step.status == StepStatus::kStopping) {
            running.Add(name + " (" + std::to_string(step.ended()) + " of " +
                        std::to_string(step.total) + " ended)");
        } else if (step.status == StepStatus::kReady) {
            ready.Add(name);
        } else if (step.status == StepStatus::kWaiting) {
            waiting.Add(StepWaits(run, i));
        }
    }
    std::string sentence = "its steps go on: " + running.Listed();
    if (running.count == 0)
        sentence = "the values that its next steps need are being read: " + ready.Listed();
    if (run.all_over()) sentence = "its steps are over, and its result is being read";
    if (waiting.count > 0) sentence += "; " + waiting.Listed() + " wait";
    return Explanation{
        "run_goes_on",
        sentence,
        {{"running", std::uint64_t(running.count)}, {"waiting", std::uint64_t(waiting.count)}}};
}

Explanation ExplainPinned(const Execution& row) {
    return Explanation{
        "waits_for_worker",
        "only worker " + Quoted(row.worker.text()) + " may run it, and has no room or is not there",
        {{"worker", row.worker.text().str()}}};
}

}  // namespace takt::internal
