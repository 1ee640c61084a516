// Node: its presence, if it has one of its own; what it tells of itself; how it hands over the lead and
// stops.
#include <utility>

#include "base/log.h"
#include "node/node.h"

namespace takt::internal {
namespace {

// How often a node tells of itself if nothing happens.
constexpr Duration kPublish{1'000};
// Long enough for whoever comes in the morning; a restart ends it sooner.
constexpr auto kLossShown = std::chrono::hours(24);

}  // namespace

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

void Node::Publish() {
    NodeStatus status{.node = presence_.config().row.node,
                      .role = role_,
                      .epoch = leadership_.term() ? leadership_.term()->epoch : 0,
                      .leader = leadership_.leader(),
                      .elections = leadership_.elections(),
                      .commits = committer_ ? committer_->commits() : 0,
                      .changes = committer_ ? committer_->changes() : 0,
                      .trouble = committer_ && !committer_->trouble().empty()
                                     ? committer_->trouble()
                                     : leadership_.trouble(),
                      .lost = runtime_.Now().steady - lost_at_ < kLossShown ? lost_ : "",
                      .started_at = started_at_};
    const std::scoped_lock lock(status_mutex_);
    status_ = std::move(status);
    leads_.store(role_ == Role::kLeader, std::memory_order_relaxed);
}

// A store never goes back by itself: it was emptied, restarted without its disk, or given an older
// copy. What is gone nobody else can tell.
void Node::NoteLoss(Serial last_serial) {
    if (last_serial >= stored_serial_) return;
    SayLoss((last_serial == 0 ? "the store is empty"
                              : "the store ends at " + FormatTime(TimeOf(last_serial))) +
            ", though it had taken what was written until " + FormatTime(TimeOf(stored_serial_)) +
            " (" + std::to_string(live_left_) + " executions were live then)");
    stored_serial_ = last_serial;
}

void Node::NoteLostTerm(std::uint64_t had, std::uint64_t has) {
    SayLoss((has == 0 ? "the store knows of no term"
                      : "the last term that the store knows of is " + std::to_string(has)) +
            ", though term " + std::to_string(had) + " was read there");
}

void Node::SayLoss(std::string loss) {
    lost_ = std::move(loss) + ": it was emptied, or has lost what it had";
    lost_at_ = runtime_.Now().steady;
    Log(LogLevel::kError, "node", lost_, {{"namespace", config_.leadership.name.view()}});
    Publish();
}

// So that status is never much older.
void Node::PublishLater() {
    publish_timer_ = runtime_.After(kPublish, [this] {
        Publish();
        PublishLater();
    });
}

NodeStatus Node::status() const {
    const std::scoped_lock lock(status_mutex_);
    return status_;
}

void Node::HandOver(const NodeId& to) {
    if (!engine_ || stopping_ || !heir_.empty()) return;
    Log(LogLevel::kInfo, "node", "handing over the lead",
        {{"partition", config_.leadership.partition}, {"to", to.view()}});
    heir_ = to;
    parted_ = false;
    // A store that is that slow would leave the other one waiting too: another time.
    hand_over_timer_ = runtime_.After(config_.stop_deadline, [this] {
        hand_over_timer_ = 0;
        CancelHandOver();
    });
    committer_->SendAll();
    FinishHandOver();
}

void Node::CancelHandOver() {
    heir_ = {};
    if (std::exchange(parted_, false) && sink_) sink_->OnHandOverFailed();
    DrainInbox();
}

bool Node::LeaveWord(Parting why) {
    if (!std::exchange(parted_, true) && sink_) {
        for (SettingPut& word : sink_->LeaveWord(why)) {
            StepEngine(SetSetting{.key = std::move(word.key), .value = std::move(word.value)});
        }
        committer_->SendAll();
    }
    // Effects that were released meanwhile may have brought the term to its end.
    return committer_ && committer_->idle();
}

void Node::FinishHandOver() {
    if (!committer_ || !committer_->idle() || !LeaveWord(Parting::kHandOver)) return;
    runtime_.Cancel(std::exchange(hand_over_timer_, 0));
    leadership_.HandOver(std::exchange(heir_, {}));
}

// Goes on with the stop once nothing is under way.
void Node::FinishStop() {
    if (!stopped_ || resigning_ || (committer_ && !committer_->idle())) return;
    if (engine_ && !LeaveWord(Parting::kStop)) return;
    resigning_ = true;
    EndTerm("this scheduler was stopped");
    SetRole(Role::kStopped);
    runtime_.Cancel(std::exchange(publish_timer_, 0));
    if (own_presence_) own_presence_->Leave([] {});
    leadership_.Resign([this, stay = home_.stay()] {
        if (stay.holds()) EndStop();
    });
}

// The lead is given back, or the store takes too long for that too: then its lease ends by itself.
void Node::EndStop() {
    FinishStop();
    runtime_.Cancel(std::exchange(stop_timer_, 0));
    if (stopped_) std::exchange(stopped_, {})();
}

}  // namespace takt::internal
