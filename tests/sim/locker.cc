#include "sim/locker.h"

#include <algorithm>
#include <utility>

namespace takt::internal::sim {

void SimLocker::LockSomething() {
    World& world = cluster_.world;
    auto holder = std::make_shared<Holder>();
    holder->name = world.Chance(0.6) ? kClientsLock : kSharedLock;
    holder->request_id = "ask-" + std::to_string(++last_);
    holder->ttl = Duration(1'000 + world.Below(5'000));
    if (world.Chance(0.8)) holder->wait = Duration(world.Below(1'500));
    holder->tries_left = int(world.Below(12));
    holder->dies = world.Chance(0.2);
    holder->token_before = token_seen_;
    ++pending_;
    Acquire(holder);
}

// With the same request_id until it has it: then an answer that got lost does no harm.
void SimLocker::Acquire(const HolderPtr& holder) {
    const Steady sent = cluster_.world.now();
    client_.Ask(
        AcquireLock{.name = holder->name,
                    .ttl = holder->ttl,
                    .wait = holder->wait,
                    .request_id = holder->request_id,
                    .token_seen = token_seen_},
        [this, holder, sent](const Result<Answer>& result) {
            LockChecker& checker = cluster_.checker.locks;
            if (result && result->lock->held) {
                holder->lock_id = result->lock->lock_id;
                holder->token = result->lock->token;
                if (holder->token <= holder->token_before) {
                    cluster_.checker.Fail("a client was given a lock token below one that it had");
                }
                token_seen_ = std::max(token_seen_, holder->token);
                holder->until = cluster_.world.now() + cluster_.world.Between(10ms, 12s);
                checker.OnHeld(holder->lease(), sent + holder->ttl);
                return Go(holder);
            }
            if (result) checker.OnBusy(holder->name, result->lock->holders.size());
            if (--holder->tries_left < 0) return void(--pending_);
            AcquireLater(holder);
        },
        token_seen_);
}

void SimLocker::AcquireLater(const HolderPtr& holder) {
    cluster_.world.After(cluster_.world.Between(10ms, 800ms), nullptr,
                         [this, holder] { Acquire(holder); });
}

// Renews until its time is over, then releases or dies.
void SimLocker::Go(const HolderPtr& holder) {
    cluster_.world.After(holder->ttl / 3, nullptr, [this, holder] {
        if (cluster_.world.now() < holder->until) return Renew(holder);
        if (holder->dies) return void(--pending_);
        Release(holder);
    });
}

void SimLocker::Renew(const HolderPtr& holder) {
    const Steady sent = cluster_.world.now();
    client_.Ask(RenewLock{.name = holder->name, .lock_id = holder->lock_id},
                [this, holder, sent](const Result<Answer>& result) {
                    if (result) {
                        cluster_.checker.locks.OnHeld(holder->lease(), sent + holder->ttl);
                    }
                    const bool lost = !result && result.error().code == ErrorCode::kConflict;
                    if (lost) return void(--pending_);
                    Go(holder);
                });
}

void SimLocker::Release(const HolderPtr& holder) {
    cluster_.checker.locks.OnRelease(holder->lease());
    client_.Ask(ReleaseLock{.name = holder->name, .lock_id = holder->lock_id},
                [this, holder](const Result<Answer>& result) {
                    if (result || result.error().code == ErrorCode::kConflict) {
                        cluster_.checker.locks.OnReleased(holder->lease());
                        return void(--pending_);
                    }
                    cluster_.world.After(300ms, nullptr, [this, holder] { Release(holder); });
                });
}

}  // namespace takt::internal::sim
