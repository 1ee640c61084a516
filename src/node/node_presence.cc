// Node: its presence, if it has one of its own, and how it hands the lead over.
#include <utility>

#include "base/log.h"
#include "node/node.h"

namespace takt::internal {

std::unique_ptr<Presence> Node::MakePresence() {
    const LeadershipConfig& config = config_.leadership;
    RandomSeed seed{};
    random_.Fill(seed);
    return std::make_unique<Presence>(runtime_, store_,
                                      PresenceConfig{.row = {.node = config.node,
                                                             .address = config.address,
                                                             .version = config_.version,
                                                             .started_at = started_at_,
                                                             .namespaces = config.namespaces},
                                                     .ttl = config.ttl,
                                                     .renew_interval = config.renew_interval,
                                                     .acquire_interval = config.acquire_interval,
                                                     .margin = config.margin,
                                                     .shares = config.shares},
                                      seed);
}

// Takes nothing new, and gives up the lead once all that was decided is written and answered.
void Node::BeginHandOver(const NodeId& to) {
    if (!engine_ || stopping_ || !heir_.empty()) return;
    Log(LogLevel::kInfo, "node", "handing over the lead",
        {{"partition", config_.leadership.partition}, {"to", to.view()}});
    heir_ = to;
    // A store that is that slow would leave the other one waiting too: another time.
    hand_over_timer_ = runtime_.After(config_.stop_deadline, [this] {
        hand_over_timer_ = 0;
        heir_ = {};
        DrainInbox();
    });
    committer_->SendAll();
    FinishHandOver();
}

void Node::FinishHandOver() {
    if (!committer_ || !committer_->idle()) return;
    runtime_.Cancel(std::exchange(hand_over_timer_, 0));
    leadership_.HandOver(std::exchange(heir_, {}));
}

}  // namespace takt::internal
