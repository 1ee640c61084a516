#include "node/shares.h"

#include <algorithm>

#include "base/failpoint.h"

namespace takt::internal {
namespace {

using Counts = std::map<NodeId, std::size_t>;

// Of every node that is there, also of those that lead nothing.
Counts CountLeads(const ShareView& view) {
    Counts counts;
    for (const Peer& peer : view.peers) counts[peer.row.node] = 0;
    for (const LeaderRow& row : view.leaders) {
        const auto found = counts.find(row.node);
        if (row.leads() && found != counts.end()) ++found->second;
    }
    return counts;
}

const LeaderRow* RowIn(const ShareView& view, Partition partition) {
    const auto found = std::ranges::find(view.leaders, partition, &LeaderRow::partition);
    return found == view.leaders.end() ? nullptr : &*found;
}

const Peer* PeerIn(const ShareView& view, const NodeId& node) {
    const auto found =
        std::ranges::find(view.peers, node, [](const Peer& p) { return p.row.node; });
    return found == view.peers.end() ? nullptr : &*found;
}

// The node with fewest that may lead it; of equals the one whose id comes first.
const NodeId* FewestFor(const ShareView& view, const Counts& counts, const Text& name) {
    const NodeId* best = nullptr;
    for (const auto& [node, count] : counts) {
        const Peer* peer = PeerIn(view, node);
        if (!peer || !peer->MayLead(name)) continue;
        if (!best || count < counts.at(*best)) best = &node;
    }
    return best;
}

// To whom a resigned partition is promised; empty: to nobody any more.
NodeId SuccessorOf(const ShareView& view, const Seat& seat, const LeaderRow* row,
                   const ShareTimes& times) {
    const bool named = row && row->nonce == 0 && !row->node.empty();
    if (!named || view.now - seat.open_since >= times.successor) return {};
    return PeerIn(view, row->node) ? row->node : NodeId();
}

class Planner {
  public:
    Planner(const ShareView& view, const ShareTimes& times)
        : view_(view), times_(times), counts_(CountLeads(view)), own_(counts_[view.self]) {}

    // Namespaces that it goes for already come first. Of a plan that is half done the rest would
    // else be dealt anew, and most of it to whoever was quicker.
    std::map<Partition, Duration> Run() {
        for (const Seat& seat : view_.seats) {
            if (IsGoing(seat)) plan_[seat.partition] = Duration(0);
        }
        counts_[view_.self] += plan_.size();
        for (const Seat& seat : view_.seats) {
            if (!plan_.contains(seat.partition)) PlanSeat(seat);
        }
        return std::move(plan_);
    }

  private:
    bool IsGoing(const Seat& seat) const {
        if (seat.going_since == Steady{} || view_.now - seat.going_since >= times_.going)
            return false;
        const LeaderRow* row = RowIn(view_, seat.partition);
        const Peer* self = PeerIn(view_, view_.self);
        return !(row && row->leads()) && self && self->MayLead(seat.name) &&
               !TAKT_MUTANT("node.deal_anew");
    }

    void PlanSeat(const Seat& seat) {
        const LeaderRow* row = RowIn(view_, seat.partition);
        const Peer* self = PeerIn(view_, view_.self);
        const bool may = self && self->MayLead(seat.name);
        if (row && row->leads()) {
            // A term of its own that it does not know of, of a process before or of an answer that
            // was lost, is replaced at once. Whoever holds it ignores this.
            if (may && row->node == view_.self) plan_[seat.partition] = Duration(0);
            return;
        }
        const NodeId successor = SuccessorOf(view_, seat, row, times_);
        const NodeId* fewest = FewestFor(view_, counts_, seat.name);
        if (!successor.empty()) {
            ++counts_[successor];
            if (may && successor == view_.self) plan_[seat.partition] = Duration(0);
            return;
        }
        if (!fewest) return;
        const std::size_t least = counts_[*fewest];
        ++counts_[*fewest];
        if (!may) return;
        const bool own = *fewest == view_.self;
        const Steady begin = std::max(BeginOf(seat), own ? Steady{} : OthersBegin(seat, *fewest));
        const Steady due = begin + (own ? Duration(0) : Wait(least));
        plan_[seat.partition] = std::max(std::chrono::ceil<Duration>(due - view_.now), Duration(0));
    }

    // Before it goes for what the plan gives to another.
    Duration Wait(std::size_t least) const {
        const std::size_t more = own_ > least ? own_ - least : 0;
        return view_.read_gap +
               std::min(times_.step * static_cast<Duration::rep>(more + 1), times_.step_max);
    }

    // When it was seen without a leader. The default namespace does not wait for companions to start:
    // most installations have no other.
    Steady BeginOf(const Seat& seat) const {
        if (seat.partition == 0) return seat.open_since;
        return std::max(seat.open_since, view_.started + times_.start);
    }

    // The node that made a namespace knows it before all others, and would else lead each. One that
    // has just started lets others wait for it too, but only for what is new.
    Steady OthersBegin(const Seat& seat, const NodeId& chosen) const {
        const bool fresh = view_.now - seat.joined < times_.start + times_.join;
        if (seat.partition == 0 || !fresh) return {};
        return std::max(seat.joined + times_.join, PeerIn(view_, chosen)->since + times_.start);
    }

    const ShareView& view_;
    const ShareTimes& times_;
    Counts counts_;
    const std::size_t own_;
    std::map<Partition, Duration> plan_;
};

}  // namespace

bool Peer::MayLead(const Text& name) const {
    return row.namespaces.empty() ||
           std::ranges::find(row.namespaces, name) != row.namespaces.end();
}

std::map<Partition, Duration> PlanCampaigns(const ShareView& view, const ShareTimes& times) {
    return Planner(view, times).Run();
}

std::optional<HandOver> PlanHandOver(const ShareView& view, const ShareTimes& times, Steady last) {
    Counts counts = CountLeads(view);
    const std::size_t own = counts[view.self];
    std::optional<HandOver> found;
    std::size_t least = own;
    // The last of the seats first: the default namespace moves only if nothing else does.
    for (auto seat = view.seats.rbegin(); seat != view.seats.rend(); ++seat) {
        const LeaderRow* row = RowIn(view, seat->partition);
        const bool leads = row && row->leads() && row->node == view.self;
        if (!leads) continue;
        for (const Peer& peer : view.peers) {
            // Of what it got before that one came the other has had no share yet.
            const bool kept =
                view.now - seat->led_since < times.kept_for && peer.since <= seat->led_since;
            const bool fit = peer.row.node != view.self && peer.MayLead(seat->name) && !kept &&
                             view.now - peer.since >= times.announced_for;
            const std::size_t count = counts[peer.row.node];
            if (!fit || count + 2 > own || count >= least) continue;
            least = count;
            found = HandOver{seat->partition, peer.row.node};
        }
    }
    const bool far = own - least > 2;
    const Duration pause =
        far ? std::min(times.hand_over_far, times.hand_over_every) : times.hand_over_every;
    return view.now - last < pause ? std::nullopt : found;
}

}  // namespace takt::internal
