#include "sim/kinds.h"

#include <algorithm>
#include <array>

namespace takt::internal::sim {
namespace {

constexpr std::array<const char*, 3> kTypes{"work", "mail", "render"};
constexpr std::array<const char*, 2> kGroups{"east", "west"};
// Every worker may carry any of them; in order.
const std::array<std::pair<Text, Text>, 3> kLabels{
    {{Text("disk"), Text("fast")}, {Text("gpu"), Text("yes")}, {Text("zone"), Text("a")}}};

Pairs SomeLabels(World& world, double chance) {
    Pairs labels;
    for (const auto& label : kLabels) {
        if (world.Chance(chance)) labels.push_back(label);
    }
    return labels;
}

}  // namespace

Kind AnyKind(World& world) {
    Kind kind{.type = Text(kTypes[world.Below(kTypes.size())]), .labels = {}, .target = {}};
    if (world.Chance(0.3)) kind.labels = SomeLabels(world, 0.4);
    // The first worker is of the first group.
    if (world.Chance(0.2)) kind.target = Text(world.Chance(0.5) ? kGroups[0] : "worker-1");
    return kind;
}

void OfferKinds(World& world, bool all, Worker& worker) {
    worker.group = Text(kGroups[all ? 0 : world.Below(kGroups.size())]);
    worker.labels = SomeLabels(world, all ? 1 : 0.5);
    worker.types.clear();
    if (all || world.Chance(0.3)) return;
    for (const char* type : kTypes) {
        if (world.Chance(0.6)) worker.types.emplace_back(type);
    }
    std::ranges::sort(worker.types);
}

Strategy AnyStrategy(World& world) {
    return Strategy(world.Below(std::uint64_t(Strategy::kCustom)));
}

bool CanRun(const Worker& worker, const Task& task) {
    const auto serves = [](const std::vector<Text>& listed, const Text& name) {
        return listed.empty() || std::ranges::find(listed, name) != listed.end();
    };
    const bool carries = std::ranges::all_of(task.opt().labels, [&](const auto& label) {
        return std::ranges::find(worker.labels, label) != worker.labels.end();
    });
    const Text& target = task.opt().target;
    const bool meant = target.empty() || target == worker.group || target == worker.id.text();
    return carries && meant && serves(worker.types, task.type) && serves(worker.queues, task.queue);
}

bool OffersTheSame(const Worker& a, const Worker& b) {
    return a.types == b.types && a.queues == b.queues && a.labels == b.labels &&
           a.group == b.group && a.capacity == b.capacity && a.weight == b.weight;
}

}  // namespace takt::internal::sim
