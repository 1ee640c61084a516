// A node id is one process's. Two that share it take the lead from each other for ever: the store
// gives a node that asks while its own term stands a new one. Somebody copied a configuration file.
//
// The address that each announces tells them apart before they start, and when each started from then
// on: both may announce the address of the load balancer before them. An announcement that outlasts its
// ttl is a living one's, and so is one of another process that comes in place of this one's.
#pragma once

#include <cstdint>
#include <string>

#include "node/home.h"
#include "node/runtime.h"
#include "store/store.h"

namespace takt::internal {

// Before a node starts: if another address is announced under its id, waits until that ends.
// kConflict, with the address, if it does not within `ttl` and a little. Of several that claim one id
// in the same moment one has it, and the others are refused: so it takes a moment, unless the id was
// last used at the same address, which is this process's now. Leaves `mine` announced. A store that
// does not answer says nothing against anybody.
Result<void> ClaimNodeId(Store& store, const NodeRow& mine, Duration ttl);

// Only looks: kConflict, with the address, if another one is announced under its id now. That one may
// be dead.
Result<void> CheckNodeId(Store& store, const NodeRow& mine);

// While it runs: an error in the log, now and then, as long as another process has the id too. On
// the runtime's thread, which must not outlive the store.
class NodeIdWatch {
  public:
    NodeIdWatch(Runtime& runtime, Store& store, NodeRow mine, Duration ttl);
    ~NodeIdWatch();

    void Start();

  private:
    void LookLater();
    void Look(const std::vector<NodeRow>& nodes);

    Runtime& runtime_;
    Store& store_;
    const NodeRow mine_;
    const Duration ttl_;
    bool seen_own_ = false;  // From then on, another's is a living one's.
    Steady other_since_{};   // As long as it is seen.
    Steady said_at_{};
    std::uint64_t timer_ = 0;
    Home home_;
};

}  // namespace takt::internal
