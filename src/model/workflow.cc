#include "model/workflow.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>

#include "base/check.h"
#include "model/names.h"
#include "model/step_values.h"
#include "model/workflow_sharing.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 5> kWhens = {"all_success", "any_success", "all_done",
                                                    "any_failed", "none_failed"};
constexpr std::array<std::string_view, 2> kOnFailures = {"stop", "continue"};

std::string Quoted(const Text& name) {
    return "'" + name.str() + "'";
}

std::size_t BytesOf(const Pairs& pairs) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : pairs) bytes += key.size() + value.size();
    return bytes;
}

std::size_t BytesOf(const WorkflowStep& step) {
    constexpr std::size_t kFixed = 100;
    const TaskOptions& options = step.task->opt();
    std::size_t bytes = kFixed + step.task->name.size() + step.task->type.size() +
                        step.task->queue.size() + step.task->payload.size() + step.named.size() +
                        step.for_each.size() + BytesOf(options.metadata) + BytesOf(options.labels);
    for (const Text& name : step.after) bytes += name.size() + 2;
    if (step.condition) bytes += step.condition->value.size() + step.condition->equals.size();
    return bytes;
}

}  // namespace

std::string_view Name(When when) {
    return names::Find(kWhens, when);
}
std::string_view Name(OnFailure on_failure) {
    return names::Find(kOnFailures, on_failure);
}
std::optional<When> ParseWhen(std::string_view name) {
    return names::Parse<When>(kWhens, name);
}
std::optional<OnFailure> ParseOnFailure(std::string_view name) {
    return names::Parse<OnFailure>(kOnFailures, name);
}

bool operator==(const WorkflowPtr& a, const WorkflowPtr& b) {
    return a.get() == b.get() || (a && b && *a == *b);
}

bool operator==(const WorkflowStep& a, const WorkflowStep& b) {
    return SameRequest(*a.task, *b.task) && a.named == b.named && a.after == b.after &&
           a.when == b.when && a.condition == b.condition && a.shards == b.shards &&
           a.for_each == b.for_each && a.each_worker == b.each_worker &&
           a.parallel_max == b.parallel_max && a.min_success == b.min_success &&
           a.priority == b.priority && a.backfill == b.backfill;
}

Result<WorkflowPtr> Workflow::Make(std::vector<WorkflowStep> steps, const Options& options) {
    std::vector<Error> mistakes;
    WorkflowPtr made = Draw(std::move(steps), options, mistakes);
    if (!mistakes.empty()) return std::unexpected(std::move(mistakes.front()));
    return made;
}

WorkflowPtr Workflow::Draw(std::vector<WorkflowStep> steps, const Options& options,
                           std::vector<Error>& mistakes) {
    auto made = std::make_shared<Workflow>();
    made->steps_ = std::move(steps);
    made->options_ = options;
    made->LinkSteps(mistakes);
    made->FindOrder(mistakes);
    made->NoteSources();
    for (const WorkflowStep& step : made->steps_) made->bytes_ += BytesOf(step);
    WorkflowPtr drawn;
    static_cast<std::shared_ptr<const Workflow>&>(drawn) = std::move(made);
    return mistakes.empty() ? ShareWorkflow(drawn) : drawn;
}

void Workflow::LinkSteps(std::vector<Error>& mistakes) {
    std::map<std::string_view, std::uint32_t> numbers;
    bool nameless = false;
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
        TAKT_CHECK(steps_[i].task);
        const Text& name = steps_[i].task->name;
        nameless = nameless || name.empty();
        if (name.empty() || numbers.emplace(name.view(), i).second) continue;
        mistakes.push_back(
            {ErrorCode::kInvalid,
             "two steps are called " + Quoted(name) + "; give each a name of its own",
             "steps[" + std::to_string(i) + "].name"});
    }
    links_.resize(steps_.size());
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
        for (const Text& name : steps_[i].after) {
            const auto found = numbers.find(name.view());
            if (found != numbers.end()) {
                LinkStep(i, name, found->second, mistakes);
            } else if (!nameless) {
                LinkStep(i, name, std::nullopt, mistakes);
            }
        }
    }
}

void Workflow::LinkStep(std::uint32_t step, const Text& name, std::optional<std::uint32_t> before,
                        std::vector<Error>& mistakes) {
    const WorkflowStep& waiting = steps_[step];
    const auto wrong = [&](const std::string& why) {
        const auto place = &name - waiting.after.data();
        mistakes.push_back(
            {ErrorCode::kInvalid, "step " + Quoted(waiting.task->name) + why,
             "steps[" + std::to_string(step) + "].after[" + std::to_string(place) + "]"});
    };
    if (!before) return wrong(" waits for " + Quoted(name) + ", and there is no such step");
    if (std::ranges::find(links_[step].before, *before) != links_[step].before.end()) {
        return wrong(" names " + Quoted(name) + " twice in its after");
    }
    links_[step].before.push_back(*before);
    links_[*before].behind.push_back(step);
}

void Workflow::FindOrder(std::vector<Error>& mistakes) {
    std::vector<std::size_t> open(steps_.size());
    std::deque<std::uint32_t> free;
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
        open[i] = links_[i].before.size();
        if (open[i] == 0) free.push_back(i);
    }
    for (;;) {
        while (!free.empty()) {
            const std::uint32_t step = free.front();
            free.pop_front();
            order_.push_back(step);
            for (const std::uint32_t next : links_[step].behind) {
                if (open[next] > 0 && --open[next] == 0) free.push_back(next);
            }
        }
        if (order_.size() == steps_.size()) return;
        // As if nothing in the circle waited for another: so each further circle is found too.
        const std::vector<std::uint32_t> circle = FindCircle(open);
        mistakes.push_back(DescribeCircle(circle));
        for (const std::uint32_t step : circle) {
            open[step] = 0;
            free.push_back(step);
        }
    }
}

// Going back from a step that is left, always to another one that is left, leads into a circle.
// REQUIRES: one is left, and each that is left waits for one that is.
std::vector<std::uint32_t> Workflow::FindCircle(const std::vector<std::size_t>& open) const {
    const auto left = [&](std::uint32_t step) { return open[step] > 0; };
    std::vector<std::uint32_t> path{0};
    while (!left(path[0])) ++path[0];
    for (;;) {
        const std::uint32_t before = *std::ranges::find_if(links_[path.back()].before, left);
        const auto seen = std::ranges::find(path, before);
        if (seen != path.end()) {
            path.erase(path.begin(), seen);
            return path;
        }
        path.push_back(before);
    }
}

Error Workflow::DescribeCircle(const std::vector<std::uint32_t>& circle) const {
    std::string detail = "the steps wait for each other in a circle: ";
    for (const std::uint32_t step : circle)
        detail += Quoted(steps_[step].task->name) + " waits for ";
    const WorkflowStep& first = steps_[circle.front()];
    const Text& next = steps_[circle[circle.size() > 1 ? 1 : 0]].task->name;
    const auto place = std::ranges::find(first.after, next) - first.after.begin();
    return {ErrorCode::kInvalid, detail + Quoted(first.task->name),
            "steps[" + std::to_string(circle.front()) + "].after[" + std::to_string(place) + "]"};
}

void Workflow::NoteSources() {
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
        const WorkflowStep& step = steps_[i];
        const auto note = [&](const StepReference& reference) {
            if (reference.kind != StepReference::Kind::kFrom) return;
            const auto source = Find(reference.step);
            if (!source || std::ranges::count(links_[i].sources, *source) > 0) return;
            links_[i].sources.push_back(*source);
            links_[*source].wanted = true;
        };
        for (const std::string_view json :
             {step.task->payload.view(), step.for_each.view(),
              step.condition ? step.condition->value.view() : std::string_view()}) {
            ForEachReference(json, note);
        }
        if (links_[i].behind.empty()) links_[i].wanted = true;
    }
}

std::optional<std::uint32_t> Workflow::Find(std::string_view name) const {
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
        if (steps_[i].task->name == name) return i;
    }
    return std::nullopt;
}

std::vector<bool> Workflow::Ancestors(std::size_t step) const {
    std::vector<bool> found(steps_.size());
    std::vector<std::size_t> open{step};
    found[step] = true;
    while (!open.empty()) {
        const std::size_t at = open.back();
        open.pop_back();
        for (const std::uint32_t before : links_[at].before) {
            if (found[before]) continue;
            found[before] = true;
            open.push_back(before);
        }
    }
    return found;
}

std::optional<std::uint32_t> Workflow::last() const {
    std::optional<std::uint32_t> found;
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
        if (!links_[i].behind.empty()) continue;
        if (found) return std::nullopt;
        found = i;
    }
    return found;
}

}  // namespace takt::internal
