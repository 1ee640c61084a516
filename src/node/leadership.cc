#include "node/leadership.h"

#include <algorithm>
#include <utility>

namespace takt::internal {

Leadership::Leadership(Runtime& runtime, Store& store, LeadershipConfig config, Random& random,
                       Events events)
    : runtime_(runtime),
      store_(store),
      config_(std::move(config)),
      random_(random),
      events_(std::move(events)) {}

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
    // Here and below: the answer may come when this object is gone, so what runs on the store's
    // thread must not touch it.
    store_.Acquire(candidate, [this, &runtime = runtime_, asked,
                               alive = std::weak_ptr(alive_)](Result<Term> term) {
        runtime.Post([this, asked, alive, term = std::move(term)] {
            if (!alive.lock()) return;
            if (stopped_) {
                // Elected while stopping: nobody else should wait for the ttl.
                if (term) store_.Resign(*term, [](Result<void>) {});
                return;
            }
            const bool answered = term || term.error().code == ErrorCode::kConflict;
            trouble_ = answered ? std::string() : term.error().detail;
            if (!term) {
                AskWhoLeads();
                return CampaignLater();
            }
            if (runtime_.Now().steady >= asked + config_.ttl - config_.margin) {
                // The answer took so long that the term may be over already.
                return CampaignLater();
            }
            term_ = *term;
            trusted_until_ = asked + config_.ttl - config_.margin;
            leader_ = LeaderRow{config_.node, config_.address, term->epoch};
            NoteEpoch(term->epoch);
            ++elections_;
            Watch();
            RenewLater(config_.renew_interval);
            events_.on_elected(*term);
        });
    });
}

void Leadership::CampaignLater() {
    // Spread, so that followers do not ask in step after a leader died.
    const auto interval = config_.acquire_interval.count();
    const auto delay = interval / 2 + std::int64_t(random_.Below(std::uint64_t(interval) + 1));
    runtime_.Cancel(timer_);
    timer_ = runtime_.After(Duration(delay), [this] { Campaign(); });
}

void Leadership::AskWhoLeads() {
    store_.Leader(config_.partition,
                  [this, &runtime = runtime_, alive = std::weak_ptr(alive_)](auto leader) {
                      runtime.Post([this, alive, leader = std::move(leader)] {
                          if (!alive.lock() || term_ || !leader) return;
                          const std::uint64_t before = leader_ ? leader_->epoch : 0;
                          leader_ = *leader;
                          if (leader_) NoteEpoch(leader_->epoch);
                          const bool changed = before != (leader_ ? leader_->epoch : 0);
                          if (changed && events_.on_leader) events_.on_leader();
                      });
                  });
}

void Leadership::RenewLater(Duration delay) {
    runtime_.Cancel(timer_);
    timer_ = runtime_.After(delay, [this] { Renew(); });
}

void Leadership::Renew() {
    const Steady asked = runtime_.Now().steady;
    const Term term = *term_;
    store_.Renew(
        term, config_.ttl,
        [this, &runtime = runtime_, asked, term, alive = std::weak_ptr(alive_)](auto result) {
            runtime.Post([this, asked, term, alive, result = std::move(result)] {
                if (!alive.lock() || term_ != term) return;
                if (!result && result.error().code == ErrorCode::kFenced) {
                    return Depose("another node leads: " + result.error().detail);
                }
                if (result) {
                    trusted_until_ = std::max(trusted_until_, asked + config_.ttl - config_.margin);
                    Watch();
                }
                // Without success the end of trust comes nearer and is not moved; asking again
                // soon may help.
                RenewLater(result ? config_.renew_interval
                                  : std::max(config_.renew_interval / 10, Duration(1)));
            });
        });
}

// Wakes up when trust ends, and steps down if nothing has prolonged it.
void Leadership::Watch() {
    runtime_.Cancel(watch_);
    const auto left = std::chrono::ceil<Duration>(trusted_until_ - runtime_.Now().steady);
    watch_ = runtime_.After(std::max(left, Duration(0)), [this] {
        if (term_ && !trusted()) Depose("the lease could not be renewed in time");
    });
}

void Leadership::Fenced(const std::string& why) {
    if (term_) Depose(why);
}

void Leadership::GiveUp(const std::string& why) {
    if (!term_) return;
    // If the store cannot be told, the term ends with its ttl.
    store_.Resign(*term_, [](Result<void>) {});
    Depose(why);
}

void Leadership::Depose(const std::string& why) {
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
    const Term term = *std::exchange(term_, std::nullopt);
    leader_.reset();
    store_.Resign(term, [&runtime = runtime_, alive = std::weak_ptr(alive_),
                         done = std::move(done)](Result<void>) mutable {
        runtime.Post([alive, done = std::move(done)]() mutable {
            if (alive.lock()) done();
        });
    });
}

}  // namespace takt::internal
