#include "engine/slot.h"

#include <algorithm>

#include "base/failpoint.h"
#include "engine/lanes.h"

namespace takt::internal {

bool Serves(const Worker& worker, const Lane& lane) {
    const auto lists = [](const std::vector<Text>& names, const Text& name) {
        return names.empty() || std::ranges::binary_search(names, name);
    };
    const bool meant =
        lane.target.empty() || lane.target == worker.group || lane.target == worker.id.text();
    return !lane.runs && lists(worker.queues, lane.queue->name) &&
           (lists(worker.types, lane.type) || TAKT_MUTANT("engine.ignore_types")) &&
           (std::ranges::includes(worker.labels, lane.labels) ||
            TAKT_MUTANT("engine.ignore_labels")) &&
           (meant || TAKT_MUTANT("engine.ignore_targets"));
}

Duration ForgottenAfter(const EngineConfig& config) {
    constexpr Duration kMin{1'000};
    return std::max(config.worker_forgotten, kMin);
}

bool SameOffer(const Worker& a, const Worker& b) {
    if (TAKT_MUTANT("engine.keep_lanes")) return true;
    return a.types == b.types && a.queues == b.queues && a.labels == b.labels && a.group == b.group;
}

}  // namespace takt::internal
