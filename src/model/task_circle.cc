#include "model/task_circle.h"

#include <set>
#include <utility>

#include "model/workflow.h"

namespace takt::internal {
namespace {

Error WouldNeverEnd(const std::string& task, const NamingStep& step) {
    const std::string why = step.named == task
                                ? "runs the task that it is a step of"
                                : "runs '" + step.named + "', whose steps run this task";
    return {ErrorCode::kInvalid,
            "step '" + step.name + "' " + why + ": a run of it would never end",
            "steps[" + std::to_string(step.number) + "].task"};
}

}  // namespace

std::vector<NamingStep> NamingStepsOf(const Task& task) {
    std::vector<NamingStep> steps;
    if (!task.workflow()) return steps;
    std::size_t number = 0;
    for (const WorkflowStep& step : task.workflow()->steps()) {
        if (!step.named.empty()) steps.push_back({number, step.task->name.str(), step.named.str()});
        ++number;
    }
    return steps;
}

Result<void> CheckCircle(const std::string& task, const FindNamingSteps& find) {
    const std::vector<NamingStep> own = find(task);
    std::set<std::string> seen;
    for (const NamingStep& first : own) {
        std::vector<std::string> open;
        if (seen.insert(first.named).second) open.push_back(first.named);
        while (!open.empty()) {
            const std::string name = std::move(open.back());
            open.pop_back();
            if (name == task) return std::unexpected(WouldNeverEnd(task, first));
            for (const NamingStep& step : find(name)) {
                if (seen.insert(step.named).second) open.push_back(step.named);
            }
        }
    }
    return {};
}

}  // namespace takt::internal
