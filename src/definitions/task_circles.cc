#include "definitions/task_circles.h"

#include <map>
#include <utility>

#include "model/task_circle.h"

namespace takt::internal {
namespace {

std::vector<NamingStep> NamingStepsIn(const std::string& shown) {
    std::vector<NamingStep> found;
    const auto steps = MemberOf(JsonView(shown), "steps");
    if (!steps || steps->kind() != JsonView::Kind::kArray) return found;
    JsonView::Elements elements(*steps);
    for (std::size_t number = 0; elements.Next(); ++number) {
        const JsonView& step = elements.value();
        std::string named = TextOf(step, "task");
        if (!named.empty()) found.push_back({number, TextOf(step, "name"), std::move(named)});
    }
    return found;
}

}  // namespace

std::vector<TaskCircle> FindTaskCircles(const PlanInput& input) {
    std::map<ThingKey, std::vector<NamingStep>> after;
    for (const DefinedThing& thing : input.defined) {
        if (thing.key.kind == "task") after[thing.key] = NamingStepsIn(thing.shown);
    }
    for (const auto& [key, thing] : input.standing) {
        if (key.kind == "task" && !after.contains(key)) after[key] = NamingStepsIn(thing.shown);
    }
    std::vector<TaskCircle> circles;
    for (const DefinedThing& thing : input.defined) {
        if (thing.key.kind != "task") continue;
        const auto apart = CheckCircle(thing.key.name, [&](const std::string& name) {
            const auto found = after.find({"task", thing.key.space, name});
            return found == after.end() ? std::vector<NamingStep>() : found->second;
        });
        if (!apart) circles.push_back({thing.key, apart.error()});
    }
    return circles;
}

}  // namespace takt::internal
