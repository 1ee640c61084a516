// TellerChoice: which of the followers tells, so that one does and not all.
//
// It is the first by name of those alive, the leader left out. That they live, nodes say in the
// store. When it takes no writes, all their rows run out, and just then something has to be told:
// so a node that does not find its own row takes those for alive that it saw when it last did. Only
// for some minutes; one that died together with the store must not keep the others silent for ever.
// From then on each tells. Pure; on the node's thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "store/store.h"

namespace takt::internal {

class TellerChoice {
  public:
    // As long as the store may be without its replicas for an upgrade or a failover.
    static constexpr Duration kKept = std::chrono::minutes(10);
    // Rows of nodes that live on run out one after the other, and it is looked four times a minute.
    static constexpr Duration kTogether = std::chrono::minutes(1);

    explicit TellerChoice(NodeId self) : self_(std::move(self)) {}

    struct Rows {
        std::vector<NodeRow> nodes;
        std::optional<LeaderRow> leader;
    };
    // Takes what the store says now; leaders are to look too, they may follow next. Whether it is
    // for this node to tell, if it follows.
    bool See(const Rows& rows, Steady now);

  private:
    const NodeId self_;
    std::map<NodeId, Steady> seen_;  // When the row was last there; none older than kKept.
    std::optional<NodeId> leader_;   // The last there was.
};

}  // namespace takt::internal
