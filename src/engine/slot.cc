#include "engine/slot.h"

#include <algorithm>

#include "engine/lanes.h"

namespace takt::internal {

bool Serves(const Worker& worker, const Lane& lane) {
    const auto lists = [](const std::vector<Text>& names, const Text& name) {
        return names.empty() || std::ranges::binary_search(names, name);
    };
    return !lane.runs && lists(worker.types, lane.type) && lists(worker.queues, lane.queue->name) &&
           std::ranges::includes(worker.labels, lane.labels) &&
           (lane.target.empty() || lane.target == worker.group || lane.target == worker.id.text());
}

bool SameOffer(const Worker& a, const Worker& b) {
    return a.types == b.types && a.queues == b.queues && a.labels == b.labels && a.group == b.group;
}

}  // namespace takt::internal
