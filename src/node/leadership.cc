#include "node/leadership.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace takt::internal {
namespace {

// After it gave up a lead a node lets others try for so many reads of who leads.
constexpr int kReadsAside = 2;

// Workers that saw different terms of a store that was lost come within seconds, and not all with
// the latest one first.
constexpr std::uint32_t kLiftsMax = 3;
constexpr Duration kLiftWindow{60'000};

}  // namespace

Leadership::Leadership(Runtime& runtime, Store& store, Presence& presence, Partition partition,
                       Text name, Events events)
    : runtime_(runtime),
      store_(store),
      presence_(presence),
      partition_(partition),
      name_(std::move(name)),
      events_(std::move(events)),
      home_(runtime) {}

Leadership::~Leadership() {
    runtime_.Cancel(timer_);
    runtime_.Cancel(watch_);
    if (!stopped_) presence_.Part(partition_);
}

void Leadership::Start() {
    presence_.Join({.partition = partition_,
                    .name = name_,
                    .tell = home_.Here([this](const Standing& now) { OnStanding(now); }),
                    .trust = trust_});
}

bool Leadership::trusted() const {
    return term_ && runtime_.Now().steady < trust_->Until(*term_);
}

std::string Leadership::WhyUntrusted() const {
    const std::string why = "the lease could not be renewed in time";
    return trouble_.empty() ? why : why + ": " + trouble_;
}

void Leadership::NoteEpoch(std::uint64_t epoch) {
    epoch_floor_ = std::max(epoch_floor_, epoch);
    if (!term_ || term_->epoch >= epoch) return;
    const Steady now = runtime_.Now().steady;
    if (now - lifting_since_ >= kLiftWindow) {
        lifting_since_ = now;
        lifts_ = 0;
    }
    if (++lifts_ > kLiftsMax) return;
    Depose("a later term was seen: this one begins anew above it");
    Campaign();
}

// --- Where it stands ----------------------------------------------------------------------------

void Leadership::OnStanding(const Standing& standing) {
    if (stopped_) return;
    trust_->Hear(runtime_.Now().steady);
    presence_trouble_ = standing.trouble;
    NoteTrouble(presence_trouble_.empty() ? acquire_trouble_ : presence_trouble_);
    if (standing.read_at <= resigned_at_) return;
    row_ = standing.row;
    CheckLoss(standing);
    // A store may lose its last writes. Of its own partition alone: what workers claim to have seen
    // raises an epoch, and those of another namespace are nothing to this one.
    if (row_) epoch_floor_ = std::max(epoch_floor_, row_->epoch);
    if (term_) return OnOwnRow(standing);
    FollowLeader(standing);
    if (standing.campaign) CampaignIn(*standing.campaign);
}

// Every node that has seen the later term says so, and not only the one that led: it may be gone.
void Leadership::CheckLoss(const Standing& standing) {
    const std::uint64_t epoch = row_ ? row_->epoch : 0;
    if (epoch == stored_epoch_ || (epoch < stored_epoch_ && standing.read_at <= stored_at_)) return;
    const std::uint64_t had = std::exchange(stored_epoch_, epoch);
    stored_at_ = runtime_.Now().steady;
    if (epoch < had && events_.on_loss) events_.on_loss(had, epoch);
}

void Leadership::OnOwnRow(const Standing& standing) {
    if (row_ && row_->Is(*term_)) {
        // If the node is not announced at the moment, trust is not prolonged and ends by itself.
        if (!standing.hand_over.empty() && events_.on_hand_over) {
            events_.on_hand_over(standing.hand_over);
        }
        return;
    }
    if (standing.read_at < won_at_) return;
    Depose(row_ && row_->leads() ? "another node leads: " + row_->node.text().str()
                                 : "the store does not know this term any more");
}

void Leadership::FollowLeader(const Standing& standing) {
    const std::uint64_t before = leader_ ? leader_->epoch : 0;
    leader_.reset();
    // A row of its own without a term is of a process before, or of an answer that was lost.
    const bool own = row_ && row_->node == presence_.config().row.node;
    if (row_ && row_->leads() && !own) leader_ = row_;
    const bool changed = before != (leader_ ? leader_->epoch : 0);
    if (leader_) runtime_.Cancel(std::exchange(timer_, 0));
    if (changed && events_.on_change) events_.on_change();
}

// Said once, however often it is met.
void Leadership::NoteTrouble(std::string trouble) {
    if (trouble == trouble_) return;
    trouble_ = std::move(trouble);
    if (events_.on_change) events_.on_change();
}

// --- Winning ------------------------------------------------------------------------------------

// The last plan counts: it knows most.
void Leadership::CampaignIn(Duration delay) {
    if (asking_) return;
    const Steady now = runtime_.Now().steady;
    const Steady due = std::max(now + delay, not_before_);
    runtime_.Cancel(std::exchange(timer_, 0));
    if (due <= now) return Campaign();
    timer_ = runtime_.After(std::chrono::ceil<Duration>(due - now), [this] { Campaign(); });
}

void Leadership::Campaign() {
    runtime_.Cancel(std::exchange(timer_, 0));
    const Steady until = presence_.announced_until();
    // A node that is not announced cannot lead; it is told again when it is.
    if (asking_ || stopped_ || term_ || runtime_.Now().steady >= until) return;
    asking_ = true;
    const Candidate candidate{.partition = partition_,
                              .node = presence_.config().row.node,
                              .address = presence_.config().row.address,
                              .epoch_floor = epoch_floor_,
                              .replaced = row_};
    store_.Acquire(candidate, home_.Here([this, until](const Result<Term>& term) {
        asking_ = false;
        OnAcquired(until, term);
    }));
}

void Leadership::OnAcquired(Steady until, const Result<Term>& term) {
    if (stopped_) {
        // Elected while stopping: nobody else should wait for its end.
        if (term) store_.Resign(*term, {}, [](const Result<void>&) {});
        return;
    }
    if (!term) {
        const bool conflict = term.error().code == ErrorCode::kConflict;
        const std::string trouble = conflict ? std::string() : term.error().detail;
        if (!conflict && trouble != acquire_trouble_) {
            Log(LogLevel::kWarning, "node", "the store does not give the lead",
                {{"partition", partition_}, {"error", trouble}});
        }
        acquire_trouble_ = trouble;
        NoteTrouble(presence_trouble_.empty() ? acquire_trouble_ : presence_trouble_);
        if (conflict) presence_.ReadSoon();
        return;
    }
    acquire_trouble_.clear();
    if (runtime_.Now().steady >= until) {
        // The answer took so long that the term may be over already. What is read next tells.
        return NoteTrouble("the store takes longer to answer than a lease lasts");
    }
    NoteTrouble(presence_trouble_);
    Win(*term, until);
}

void Leadership::Win(const Term& term, Steady until) {
    home_.NextTerm();
    term_ = term;
    trust_->Extend(term, until);
    won_at_ = runtime_.Now().steady;
    leader_ = row_ = LeaderRow{partition_, presence_.config().row.node,
                               presence_.config().row.address, term.epoch, term.nonce};
    epoch_floor_ = std::max(epoch_floor_, term.epoch);
    stored_epoch_ = std::max(stored_epoch_, term.epoch);
    stored_at_ = won_at_;
    ++elections_;
    WatchTrust();
    events_.on_elected(term);
}

// Wakes up when trust ends, and steps down if nothing has prolonged it.
void Leadership::WatchTrust() {
    runtime_.Cancel(watch_);
    const auto left = std::chrono::ceil<Duration>(trust_->Until(*term_) - runtime_.Now().steady);
    watch_ = runtime_.After(std::max(left, Duration(0)), [this] {
        watch_ = 0;
        if (!term_) return;
        if (trusted()) return WatchTrust();
        Depose(WhyUntrusted());
    });
}

// --- Ending -------------------------------------------------------------------------------------

void Leadership::Fenced(const std::string& why) {
    if (term_) Depose(why);
}

void Leadership::GiveUp(const std::string& why) {
    if (!term_) return;
    not_before_ = runtime_.Now().steady + kReadsAside * presence_.config().acquire_interval;
    // The answer to why nobody leads, until the next term is won.
    acquire_trouble_ = why;
    EndTerm({}, why);
}

void Leadership::HandOver(const NodeId& to) {
    if (!term_) return;
    EndTerm(to, "handed over to " + to.text().str());
}

// If the store cannot be told, the next read shows a term of this node that it does not hold, and it
// goes for that.
void Leadership::EndTerm(const NodeId& successor, const std::string& why) {
    resigned_at_ = Steady::max();
    store_.Resign(*term_, successor, home_.Here([this](const Result<void>&) {
        resigned_at_ = runtime_.Now().steady;
        presence_.ReadSoon();
    }));
    Depose(why);
}

void Leadership::Depose(const std::string& why) {
    home_.NextTerm();
    term_.reset();
    leader_.reset();
    runtime_.Cancel(std::exchange(watch_, 0));
    if (resigned_at_ != Steady::max()) presence_.ReadSoon();
    events_.on_deposed(why);
}

void Leadership::Resign(Action done) {
    if (!std::exchange(stopped_, true)) presence_.Part(partition_);
    runtime_.Cancel(std::exchange(timer_, 0));
    runtime_.Cancel(std::exchange(watch_, 0));
    if (!term_) return runtime_.Post(std::move(done));
    home_.NextTerm();
    const Term term = *std::exchange(term_, std::nullopt);
    leader_.reset();
    store_.Resign(term, {},
                  home_.Here([done = std::move(done)](const Result<void>&) mutable { done(); }));
}

}  // namespace takt::internal
