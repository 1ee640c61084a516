// Shares: which scheduler should lead what. Pure: all nodes that see the same rows come to the same
// plan, so that they spread partitions evenly without a word between them.
//
// A partition without a leader goes to the node that leads fewest. Each node goes for its own part of
// that plan at once, and for the others' after a while, should they not come. A leader that has at
// least two more than the node with fewest hands one over, now and then; when all is even, nothing
// moves.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "store/store.h"

namespace takt::internal {

// How slowly the lead is moved. All but the first two are to keep a node that comes and goes, or a
// store that is slow for a while, from moving everything to and fro.
struct ShareTimes {
    // Waited, beyond the time in which others read too, before a node goes for what the plan gives to
    // another that may be dead: for each partition more than the node with fewest has, and at most.
    Duration step{25};
    Duration step_max{100};
    Duration start{2'000};      // A node that starts leaves its companions so long to start too.
    Duration join{1'500};       // A namespace that was just made: all have read of it by then.
    Duration going{1'000};      // What this node goes for counts as its own for so long.
    Duration successor{2'000};  // The one to whom a lead was handed is given so long.
    Duration hand_over_every{10'000};
    Duration hand_over_far{3'000};   // The same, while another has at least three fewer.
    Duration announced_for{60'000};  // Only to nodes that were there for so long without a gap.
    Duration kept_for{300'000};  // What a node got while that one was there it keeps for so long.
};

// A scheduler as another one sees it.
struct Peer {
    NodeRow row;
    Steady since{};  // Seen announced without a gap.

    bool MayLead(const Text& name) const;
};

// A partition of this process.
struct Seat {
    Partition partition = 0;
    Text name;             // Of the namespace.
    Steady joined{};       // When this node learned of it.
    Steady led_since{};    // By this node; counts while the row says that it leads.
    Steady open_since{};   // Since when it was seen without a leader.
    Steady going_since{};  // When this node went for it; 0: it has not, or knows what came of it.
};

struct ShareView {
    NodeId self;
    std::vector<Peer> peers;         // All that are announced, this one too.
    std::vector<LeaderRow> leaders;  // As Leaders gave them.
    std::vector<Seat> seats;         // By rising partition.
    Steady now{};
    Steady started{};
    Duration read_gap{0};  // Between two reads of a node, at most: so much later others may see it.
};

// For each of the seats that this node may go for: after which time.
std::map<Partition, Duration> PlanCampaigns(const ShareView& view, const ShareTimes& times);

struct HandOver {
    Partition partition = 0;
    NodeId to;
};
// The namespace that this node should hand over now, and to whom. `last` is when it last did.
std::optional<HandOver> PlanHandOver(const ShareView& view, const ShareTimes& times, Steady last);

}  // namespace takt::internal
