#include "node/leadership.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace takt::internal {

Leadership::Leadership(Runtime& runtime, Store& store, LeadershipConfig config, Random& random,
                       Events events)
    : runtime_(runtime),
      store_(store),
      config_(std::move(config)),
      random_(random),
      events_(std::move(events)),
      home_(runtime) {}

Leadership::~Leadership() {
    runtime_.Cancel(timer_);
    runtime_.Cancel(watch_);
}

void Leadership::Start() {
    Campaign();
}

bool Leadership::trusted() const {
    return term_ && runtime_.Now().steady < trusted_until_;
}

void Leadership::NoteEpoch(std::uint64_t epoch) {
    epoch_floor_ = std::max(epoch_floor_, epoch);
}

void Leadership::Campaign() {
    const Steady asked = runtime_.Now().steady;
    const Candidate candidate{.partition = config_.partition,
                              .node = config_.node,
                              .address = config_.address,
                              .ttl = config_.ttl,
                              .epoch_floor = epoch_floor_};
    store_.Acquire(candidate, home_.Here([this, asked](const Result<Term>& term) {
        OnAcquired(asked, term);
    }));
}

void Leadership::OnAcquired(Steady asked, const Result<Term>& term) {
    if (stopped_) {
        // Elected while stopping: nobody else should wait for the ttl.
        if (term) store_.Resign(*term, [](const Result<void>&) {});
        return;
    }
    const bool answered = term || term.error().code == ErrorCode::kConflict;
    NoteTrouble(answered ? std::string() : term.error().detail);
    if (!term) {
        AskWhoLeads();
        return CampaignLater();
    }
    if (runtime_.Now().steady >= asked + config_.ttl - config_.margin) {
        // The answer took so long that the term may be over already.
        NoteTrouble("the store takes longer to answer than a lease lasts");
        return CampaignLater();
    }
    home_.NextTerm();
    term_ = *term;
    trusted_until_ = asked + config_.ttl - config_.margin;
    leader_ = LeaderRow{config_.node, config_.address, term->epoch};
    NoteEpoch(term->epoch);
    ++elections_;
    WatchTrust();
    RenewLater(config_.renew_interval);
    events_.on_elected(*term);
}

// Said once, however often it is met: it is met twice a second while the store is away.
void Leadership::NoteTrouble(std::string trouble) {
    if (trouble == trouble_) return;
    trouble_ = std::move(trouble);
    if (trouble_.empty()) {
        Log(LogLevel::kInfo, "node", "the store can be asked for the lead again", {});
    } else {
        Log(LogLevel::kWarning, "node",
            term_ ? "the lead cannot be renewed" : "the store cannot be asked for the lead",
            {{"error", trouble_}});
    }
    if (events_.on_change) events_.on_change();
}

void Leadership::CampaignLater() {
    // Spread, so that followers do not ask in step after a leader died.
    const auto interval = config_.acquire_interval.count();
    const auto delay = interval / 2 + std::int64_t(random_.Below(std::uint64_t(interval) + 1));
    runtime_.Cancel(timer_);
    timer_ = runtime_.After(Duration(delay), [this] { Campaign(); });
}

void Leadership::AskWhoLeads() {
    store_.Leader(config_.partition, home_.Here([this](const auto& leader) {
        if (term_ || !leader) return;
        const std::uint64_t before = leader_ ? leader_->epoch : 0;
        leader_ = *leader;
        if (leader_) NoteEpoch(leader_->epoch);
        const bool changed = before != (leader_ ? leader_->epoch : 0);
        if (changed && events_.on_change) events_.on_change();
    }));
}

void Leadership::RenewLater(Duration delay) {
    runtime_.Cancel(timer_);
    timer_ = runtime_.After(delay, [this] { Renew(); });
}

void Leadership::Renew() {
    const Steady asked = runtime_.Now().steady;
    store_.Renew(*term_, config_.ttl, home_.term().Here([this, asked](const Result<void>& result) {
        OnRenewed(asked, result);
    }));
}

void Leadership::OnRenewed(Steady asked, const Result<void>& result) {
    if (!result && result.error().code == ErrorCode::kFenced) {
        return Depose("another node leads: " + result.error().detail);
    }
    NoteTrouble(result ? std::string() : result.error().detail);
    if (result) {
        trusted_until_ = std::max(trusted_until_, asked + config_.ttl - config_.margin);
        WatchTrust();
    }
    // Without success the end of trust comes nearer and is not moved; asking again soon may help.
    RenewLater(result ? config_.renew_interval
                      : std::max(config_.renew_interval / 10, Duration(1)));
}

// Wakes up when trust ends, and steps down if nothing has prolonged it.
void Leadership::WatchTrust() {
    runtime_.Cancel(watch_);
    const auto left = std::chrono::ceil<Duration>(trusted_until_ - runtime_.Now().steady);
    watch_ = runtime_.After(std::max(left, Duration(0)), [this] {
        if (term_ && !trusted()) Depose(WhyUntrusted());
    });
}

std::string Leadership::WhyUntrusted() const {
    const std::string why = "the lease could not be renewed in time";
    return trouble_.empty() ? why : why + ": " + trouble_;
}

void Leadership::Fenced(const std::string& why) {
    if (term_) Depose(why);
}

void Leadership::GiveUp(const std::string& why) {
    if (!term_) return;
    // If the store cannot be told, the term ends with its ttl.
    store_.Resign(*term_, [](const Result<void>&) {});
    Depose(why);
}

void Leadership::Depose(const std::string& why) {
    home_.NextTerm();
    term_.reset();
    leader_.reset();
    runtime_.Cancel(watch_);
    if (!stopped_) CampaignLater();
    events_.on_deposed(why);
}

void Leadership::Resign(Action done) {
    stopped_ = true;
    runtime_.Cancel(timer_);
    runtime_.Cancel(watch_);
    if (!term_) return runtime_.Post(std::move(done));
    home_.NextTerm();
    const Term term = *std::exchange(term_, std::nullopt);
    leader_.reset();
    store_.Resign(term,
                  home_.Here([done = std::move(done)](const Result<void>&) mutable { done(); }));
}

}  // namespace takt::internal
