#include "node/presence.h"

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "base/log.h"

namespace takt::internal {

Presence::Presence(Runtime& runtime, Store& store, PresenceConfig config, const RandomSeed& seed)
    : runtime_(runtime), store_(store), config_(std::move(config)), random_(seed), home_(runtime) {}

Presence::~Presence() {
    runtime_.Cancel(announce_timer_);
    runtime_.Cancel(read_timer_);
    runtime_.Cancel(nodes_timer_);
}

void Presence::Start() {
    home_.Post([this] {
        paused_ = false;
        started_ = runtime_.Now().steady;
        handed_over_ = started_;
        Announce();
        ReadNodes();
        Read();
    });
}

void Presence::Pause() {
    home_.Post([this] {
        paused_ = true;
        runtime_.Cancel(std::exchange(announce_timer_, 0));
        runtime_.Cancel(std::exchange(read_timer_, 0));
        runtime_.Cancel(std::exchange(nodes_timer_, 0));
    });
}

void Presence::Leave(Action done) {
    Pause();
    home_.Post([this, done = std::move(done)]() mutable {
        for (const auto& [partition, place] : places_) place.member.trust->Close();
        store_.Announce({.node = config_.row.node}, Duration(0),
                        home_.Here([done = std::move(done)](const Result<void>&) mutable {
                            if (done) done();
                        }));
    });
}

void Presence::Join(Member member) {
    home_.Post([this, member = std::move(member)]() mutable {
        const Partition partition = member.partition;
        member.trust->Hear(runtime_.Now().steady);
        Seat seat{.partition = partition, .name = member.name, .joined = runtime_.Now().steady};
        places_.insert_or_assign(partition, Place{std::move(member), 0, std::move(seat)});
        if (!paused_) Read();
    });
}

void Presence::Part(Partition partition) {
    home_.Post([this, partition] { places_.erase(partition); });
}

Steady Presence::announced_until() const {
    const std::lock_guard lock(mutex_);
    return announced_until_;
}

void Presence::ReadSoon() {
    home_.Post([this] {
        if (!paused_) Read();
    });
}

// --- Announcing ---------------------------------------------------------------------------------

void Presence::Announce() {
    const Steady asked = runtime_.Now().steady;
    store_.Announce(config_.row, config_.ttl, home_.Here([this, asked](const Result<void>& result) {
        OnAnnounced(asked, result);
    }));
}

void Presence::OnAnnounced(Steady asked, const Result<void>& result) {
    if (paused_) return;
    const Steady now = runtime_.Now().steady;
    const bool fresh = result && announced_until() <= now;
    if (result) {
        const std::lock_guard lock(mutex_);
        if (TAKT_MUTANT("node.trust_longer")) asked += 2 * config_.ttl;
        if (TAKT_MUTANT("node.trust_silence")) asked += config_.ttl;
        announced_until_ = std::max(announced_until_, asked + config_.ttl - config_.margin);
    }
    NoteTrouble(announce_trouble_, result ? std::string() : result.error().detail);
    // Without success the end of trust comes nearer and is not moved; asking again soon may help.
    const Duration interval = config_.renew_interval;
    announce_timer_ = runtime_.After(
        result ? Spread(interval) : std::max(interval / 10, Duration(1)), [this] { Announce(); });
    // Nothing that was read before can be trusted now.
    if (!result || !fresh) return;
    ReadNodes();
    Read();
}

void Presence::ReadNodes() {
    runtime_.Cancel(std::exchange(nodes_timer_, 0));
    store_.Nodes(home_.Here([this](const Result<std::vector<NodeRow>>& rows) {
        if (paused_) return;
        // Without an answer the last one holds: plans are only hints.
        if (rows) OnNodes(*rows);
        ReadNodesLater();
    }));
}

// Within the time that one is announced: one that goes and comes again is noticed.
void Presence::ReadNodesLater() {
    const Duration interval = std::min(2 * config_.renew_interval, config_.ttl * 3 / 5);
    runtime_.Cancel(nodes_timer_);
    nodes_timer_ = runtime_.After(Spread(interval), [this] { ReadNodes(); });
}

void Presence::OnNodes(const std::vector<NodeRow>& rows) {
    const Steady now = runtime_.Now().steady;
    std::map<NodeId, Peer> peers;
    for (const NodeRow& row : rows) {
        const auto known = peers_.find(row.node);
        const bool same = known != peers_.end() && known->second.row.started_at == row.started_at;
        peers.emplace(row.node, Peer{row, same ? known->second.since : now});
    }
    const bool left = std::ranges::any_of(
        peers_, [&](const auto& known) { return !peers.contains(known.first); });
    peers_ = std::move(peers);
    // A node that is gone takes nothing of what the last plan gave it: there is a new one at once.
    if (left && open_) Read();
}

// Spread, so that many that start together do not ask in step for ever.
Duration Presence::Spread(Duration interval) {
    const auto count = interval.count();
    return Duration(count * 3 / 4 + std::int64_t(random_.Below(std::uint64_t(count) / 2 + 1)));
}

// Below the interval: what two nodes are to notice within a second, one after the other, takes two of
// these. Not far below: this is most of what a cluster at rest asks.
Duration Presence::ReadGap() {
    const auto count = config_.acquire_interval.count();
    return Duration(count * 8 / 10 + std::int64_t(random_.Below(std::uint64_t(count) / 10 + 1)));
}

// --- Reading ------------------------------------------------------------------------------------

void Presence::Read() {
    if (std::exchange(reading_, true)) {
        read_again_ = true;
        return;
    }
    read_again_ = false;
    runtime_.Cancel(std::exchange(read_timer_, 0));
    const Steady began = runtime_.Now().steady;
    store_.Leaders(home_.Here(
        [this, began, trusted = announced_until()](const Result<std::vector<LeaderRow>>& rows) {
            OnRead(began, trusted, rows);
        }));
}

void Presence::OnRead(Steady began, Steady trusted, const Result<std::vector<LeaderRow>>& rows) {
    reading_ = false;
    if (paused_) return;
    if (rows) {
        rows_ = *rows;
        TrustRows(trusted);
        EndStrays();
        NoteTrouble(read_trouble_, {});
        TellAll(began);
    } else {
        NoteTrouble(read_trouble_, rows.error().detail);
    }
    if (read_again_) return Read();
    ReadLater(ReadGap());
}

// A loop that hangs must not keep its lead for ever because this one is well. It hangs if it was told
// where it stands long after it was last heard of; after a pause of the whole process it was not.
void Presence::TrustRows(Steady trusted) {
    for (const LeaderRow& row : rows_) {
        const auto place = places_.find(row.partition);
        if (place == places_.end() || !row.leads() || row.node != config_.row.node) continue;
        const Term term{row.partition, row.epoch, row.nonce};
        Trust& trust = *place->second.member.trust;
        if (told_at_ - trust.heard_at() < config_.ttl) {
            trust.Extend(term, trusted);
            continue;
        }
        Log(LogLevel::kError, "node", "a loop of this scheduler hangs: its lead is given up",
            {{"partition", row.partition}});
        store_.Resign(term, {}, [](const Result<void>&) {});
    }
}

// A namespace may be let go while this process is out of touch with its terms: paused, or started a
// moment ago with the terms of the process before. Nobody here ends such a term, and nobody else may
// take it as long as this node is announced, so a namespace that is being deleted would never go.
void Presence::EndStrays() {
    const Steady now = runtime_.Now().steady;
    std::map<Partition, Stray> found;
    for (const LeaderRow& row : rows_) {
        const bool own = row.leads() && row.node == config_.row.node;
        if (!own || places_.contains(row.partition)) continue;
        const Term term{row.partition, row.epoch, row.nonce};
        const auto known = strays_.find(row.partition);
        const bool same = known != strays_.end() && known->second.term == term;
        Stray& stray =
            found.emplace(row.partition, same ? known->second : Stray{term, now, {}}).first->second;
        // Its namespace may only be about to be served; a store that was asked may need its time.
        if (now - std::max(stray.since, stray.ended_at) < config_.ttl) continue;
        if (stray.ended_at == Steady{}) {
            Log(LogLevel::kWarning, "node",
                "a term of this node stands in the store that nobody here holds; it is ended",
                {{"partition", row.partition}, {"epoch", row.epoch}});
        }
        stray.ended_at = now;
        store_.Resign(term, {}, [](const Result<void>&) {});
    }
    strays_ = std::move(found);
}

void Presence::ReadLater(Duration delay) {
    runtime_.Cancel(read_timer_);
    read_timer_ = runtime_.After(delay, [this] { Read(); });
}

bool Presence::NoteSeat(Place& place, const LeaderRow* row) {
    const Steady now = runtime_.Now().steady;
    const bool own = row && row->leads() && row->node == config_.row.node;
    if (own && place.epoch != row->epoch) {
        // A new term of the same node is no move.
        if (place.epoch == 0) place.seat.led_since = now;
        place.epoch = row->epoch;
    }
    // Led by another, or handed over: what comes back because the heir did not take it is a move too.
    if (row && !own && (row->leads() || row->nonce == 0)) place.epoch = 0;
    const bool open = !row || !row->leads();
    if (!open) place.seat.open_since = {};
    if (open && place.seat.open_since == Steady{}) place.seat.open_since = now;
    return open;
}

void Presence::NoteGoing(Seat& seat, bool goes) {
    const Steady now = runtime_.Now().steady;
    if (!goes || seat.open_since == Steady{}) {
        seat.going_since = {};
    } else if (seat.going_since == Steady{} || now - seat.going_since >= config_.shares.going) {
        seat.going_since = now;
    }
}

ShareView Presence::View() const {
    ShareView view{.self = config_.row.node,
                   .leaders = rows_,
                   .now = runtime_.Now().steady,
                   .started = started_,
                   .read_gap = config_.acquire_interval * 9 / 10};  // As ReadGap spreads it.
    for (const auto& [node, peer] : peers_) {
        // One whose terms are over is on its way out, also if it was still there a moment ago.
        const bool gone = std::ranges::any_of(rows_, [&](const LeaderRow& row) {
            return row.nonce != 0 && !row.announced && row.node == node;
        });
        if (!gone && node != config_.row.node) view.peers.push_back(peer);
    }
    view.peers.push_back({config_.row, started_});
    for (const auto& [partition, place] : places_) view.seats.push_back(place.seat);
    return view;
}

void Presence::TellAll(Steady began) {
    std::map<Partition, const LeaderRow*> rows;
    for (const LeaderRow& row : rows_) rows[row.partition] = &row;
    bool open = false;
    for (auto& [partition, place] : places_) {
        open |= NoteSeat(place, rows.contains(partition) ? rows[partition] : nullptr);
    }
    // The plan for what nobody leads is as good as what is known of the others.
    open_ = open;
    if (open) ReadNodes();
    told_at_ = runtime_.Now().steady;
    const ShareView view = View();
    const bool announced = announced_until() > view.now;
    const auto plan =
        announced ? PlanCampaigns(view, config_.shares) : std::map<Partition, Duration>();
    const auto over = PlanHandOver(view, config_.shares, handed_over_);
    if (over) handed_over_ = view.now;
    for (auto& [partition, place] : places_) {
        Standing standing{.read_at = began, .trouble = trouble()};
        if (rows.contains(partition)) standing.row = *rows[partition];
        if (const auto found = plan.find(partition); found != plan.end()) {
            standing.campaign = found->second;
        }
        NoteGoing(place.seat, standing.campaign == Duration(0));
        if (over && over->partition == partition) standing.hand_over = over->to;
        place.member.tell(standing);
    }
}

const std::string& Presence::trouble() const {
    return announce_trouble_.empty() ? read_trouble_ : announce_trouble_;
}

// Said once, however often it is met: it is met twice a second while the store is away.
void Presence::NoteTrouble(std::string& what, std::string trouble) {
    if (trouble == what) return;
    const std::string before = this->trouble();
    what = std::move(trouble);
    const std::string& now = this->trouble();
    if (now == before) return;
    if (now.empty()) {
        Log(LogLevel::kInfo, "node", "the store can be asked for the lead again", {});
    } else {
        const bool leads = std::ranges::any_of(rows_, [this](const LeaderRow& row) {
            return row.leads() && row.node == config_.row.node;
        });
        Log(LogLevel::kWarning, "node",
            leads ? "the lead cannot be renewed" : "the store cannot be asked for the lead",
            {{"error", now}});
    }
    for (const auto& [partition, place] : places_) place.member.tell({.trouble = now});
}

}  // namespace takt::internal
