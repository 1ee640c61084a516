#include "alerts/teller_choice.h"

#include <algorithm>

namespace takt::internal {

bool TellerChoice::See(const Rows& rows, Steady now) {
    std::vector<NodeId> alive;
    for (const NodeRow& row : rows.nodes) {
        alive.push_back(row.node);
        seen_[row.node] = now;
    }
    std::erase_if(seen_, [&](const auto& entry) { return entry.second + kKept < now; });
    const auto own = seen_.find(self_);
    const bool blind = own == seen_.end() || own->second != now;
    if (blind && own != seen_.end()) {
        for (const auto& [node, at] : seen_) {
            if (at + kTogether >= own->second) alive.push_back(node);
        }
    }
    std::optional<NodeId> leader;
    if (rows.leader) {
        leader = leader_ = rows.leader->node;
    } else if (blind) {
        // Its lease has run out with the rows. It may be what died, and is left out all the same.
        leader = leader_;
    }
    const bool led = blind && leader && *leader == self_;
    return std::ranges::none_of(alive, [&](const NodeId& node) {
        const bool other = node != self_ && !(leader && *leader == node);
        return other && (led || node < self_);
    });
}

}  // namespace takt::internal
