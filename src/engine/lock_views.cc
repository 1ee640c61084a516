// Locks as others see them, and what is told of those who wait.
#include "engine/lock_views.h"

#include <algorithm>
#include <set>

#include "engine/locks.h"
#include "engine/run.h"

namespace takt::internal {
namespace {

// A longer circle is not told: nobody would read it.
constexpr std::size_t kCircleMax = 100;

}  // namespace

LockHolderView Locks::ViewOf(const LockHeld& held, const LockGrant& grant) {
    return {.lock_id = held.row.id,
            .owner = held.row.owner,
            .permits = grant.permits,
            .token = grant.token,
            .since = held.row.since,
            .expires_at = held.expires_at,
            .execution = held.row.execution,
            .attempt = held.row.attempt,
            .worker = held.live ? held.live->row.worker : WorkerId()};
}

LockHolderView Locks::ViewOf(const LockRequest& request, std::uint32_t permits) const {
    const Duration waited = std::chrono::duration_cast<Duration>(now_.steady - request.asked_at);
    return {.lock_id = {},
            .owner = request.owner,
            .permits = permits,
            .since = now_.wall - waited,
            .expires_at = request.declared() ? Time{} : now_.wall - waited + request.wait,
            .execution = request.live ? request.live->row.id : ExecutionId(),
            .attempt = request.ask != 0 ? request.live->row.attempt : 0,
            .worker = request.ask != 0 ? request.live->row.worker : WorkerId()};
}

std::vector<LockHolderView> Locks::HoldersOf(const Lock& lock) {
    std::vector<LockHolderView> views;
    for (const auto& [token, held] : lock.holders) {
        if (views.size() == kLockViewMax) break;
        const auto grant = std::ranges::find(held->row.locks, token, &LockGrant::token);
        if (grant != held->row.locks.end()) views.push_back(ViewOf(*held, *grant));
    }
    return views;
}

LockView Locks::ViewOf(const Lock& lock) const {
    LockView view{.name = lock.name,
                  .permits = lock.permits,
                  .taken = 0,
                  .waiting = lock.line.size(),
                  .holders = HoldersOf(lock),
                  .waiters = {}};
    for (const auto& [token, held] : lock.holders) {
        const auto grant = std::ranges::find(held->row.locks, token, &LockGrant::token);
        if (grant != held->row.locks.end()) view.taken += grant->permits;
    }
    for (const LockRequest* request : lock.line) {
        if (view.waiters.size() == kLockViewMax) break;
        const auto part = std::ranges::find(request->parts, &lock, &LockPart::lock);
        view.waiters.push_back(ViewOf(*request, part->permits));
    }
    return view;
}

std::optional<LockView> Locks::Find(const Text& name) const {
    const auto found = locks_.find(name);
    if (found == locks_.end()) return std::nullopt;
    return ViewOf(*found->second);
}

std::vector<LockView> Locks::After(const Text& name, std::size_t count_max) const {
    std::vector<LockView> views;
    for (auto at = locks_.upper_bound(name); at != locks_.end(); ++at) {
        if (views.size() == count_max) break;
        views.push_back(ViewOf(*at->second));
    }
    return views;
}

LockCounts Locks::counts() const {
    LockCounts counts = counts_;
    counts.held = held_.size();
    counts.waiting = requests_.size() - kept_.size();
    return counts;
}

std::vector<LockGrant> Locks::HeldBy(const Live& live) const {
    std::vector<LockGrant> grants;
    const auto found = owns_.find(&live);
    if (found == owns_.end()) return grants;
    for (const LockHeld* held : found->second.held) {
        grants.insert(grants.end(), held->row.locks.begin(), held->row.locks.end());
    }
    return grants;
}

bool Locks::Holds(const Live& live, const Text& name) const {
    const std::vector<LockGrant> grants = HeldBy(live);
    return std::ranges::find(grants, name, &LockGrant::name) != grants.end();
}

std::optional<Locks::Waiting> Locks::WaitingOf(const Live& live) const {
    const auto found = owns_.find(&live);
    if (found == owns_.end()) return std::nullopt;
    const Own& own = found->second;
    const LockRequest* request = own.declared       ? own.declared
                                 : own.asks.empty() ? nullptr
                                                    : own.asks.front();
    if (!request || request->kept) return std::nullopt;
    const auto before = [&](const Lock& lock) {
        return std::size_t(
            std::distance(lock.line.begin(), lock.line.find(const_cast<LockRequest*>(request))));
    };
    for (const LockPart& part : request->parts) {
        const std::size_t ahead = before(*part.lock);
        if (ahead > 0 || !part.lock->Has(part.permits)) return Waiting{part.lock, ahead};
    }
    return Waiting{request->parts[0].lock, 0};
}

bool Locks::WaitsFor(const Live& live, const std::vector<Text>& ids) const {
    const auto waiting = ids.empty() ? std::nullopt : WaitingOf(live);
    return waiting && std::ranges::any_of(waiting->lock->holders, [&](const auto& entry) {
               return std::ranges::find(ids, entry.second->row.id) != ids.end();
           });
}

std::vector<const Live*> Locks::BlockersOf(const Live& live) const {
    const auto found = owns_.find(&live);
    const LockRequest* request = found == owns_.end() ? nullptr : found->second.declared;
    if (!request || request->kept) return {};
    for (const auto& [lock, permits] : request->parts) {
        const LockRequest* first = *lock->line.begin();
        if (lock->Has(permits) && first == request) continue;
        if (lock->Has(permits)) return {first->live};
        std::vector<const Live*> blockers;
        for (const auto& [token, held] : lock->holders) blockers.push_back(held->live);
        const bool set_aside = std::ranges::any_of(kept_, [&](const auto& kept) {
            return std::ranges::find(kept.second->parts, lock, &LockPart::lock) !=
                   kept.second->parts.end();
        });
        if (set_aside) blockers.push_back(nullptr);
        return blockers;
    }
    return {};
}

std::vector<const Live*> Locks::CircleOf(const Live& live) const {
    const auto comes_back = [&](const Live* holder) {
        for (const Run* run = ParentOf(live); run; run = run->parent) {
            if (run->live == holder) return true;
        }
        return holder == &live;
    };
    // Depth first through who waits for whom; the path so far is the circle, once it comes back. A
    // run waits for what its children wait for.
    std::vector<const Live*> path;
    std::set<const Live*> seen;
    const auto search = [&](const auto& self, const Live& from) -> bool {
        if (path.size() == kCircleMax) return false;
        path.push_back(&from);
        const auto found = owns_.find(&from);
        if (found != owns_.end()) {
            for (const LockRequest* request : found->second.asks) {
                for (const auto& [token, held] : request->parts[0].lock->holders) {
                    if (!held->live) continue;
                    if (comes_back(held->live)) return true;
                    if (seen.insert(held->live).second && self(self, *held->live)) return true;
                }
            }
        }
        if (IsRun(from)) {
            for (const Live* child : from.flow->children) {
                if (seen.insert(child).second && self(self, *child)) return true;
            }
        }
        path.pop_back();
        return false;
    };
    if (!search(search, live)) path.clear();
    return path;
}

}  // namespace takt::internal
