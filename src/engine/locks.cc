// The lines of locks: who stands in them, who is served.
#include "engine/locks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"

namespace takt::internal {
namespace {

// As much of a step's bytes as moving one execution between its lane and its locks counts for.
constexpr std::size_t kMoveBytes = 1'024;

}  // namespace

// --- Locks and those who have to do with them ---------------------------------------------------

Lock& Locks::LockOf(const Text& name) {
    auto& lock = locks_[name];
    if (!lock) {
        lock = std::make_unique<Lock>();
        lock->name = name;
    }
    return *lock;
}

// It is looked at before this step ends, or in the next one.
void Locks::MakeDirty(Lock& lock) {
    if (std::exchange(lock.dirty, true)) return;
    dirty_.push_back(&lock);
}

// A lock that nobody holds or waits for, and that has its usual size, is nothing.
void Locks::Forget(Lock& lock) {
    const bool needed = lock.dirty || lock.taken > 0 || !lock.line.empty() || lock.permits != 1;
    if (!needed) locks_.erase(locks_.find(lock.name));
}

Locks::Own& Locks::OwnOf(Live& live) {
    live.has_locks = true;
    return owns_[&live];
}

void Locks::TidyOwn(Live& live) {
    const auto found = owns_.find(&live);
    if (found == owns_.end()) return;
    const Own& own = found->second;
    if (own.declared || !own.asks.empty() || !own.held.empty()) return;
    owns_.erase(found);
    live.has_locks = false;
}

// --- The line -----------------------------------------------------------------------------------

LockRequest& Locks::Enter(std::unique_ptr<LockRequest> request) {
    LockRequest& entered = *request;
    requests_.emplace(entered.serial, std::move(request));
    for (const LockPart& part : entered.parts) part.lock->line.insert(&entered);
    entered.asked_at = now_.steady;
    if (entered.live) {
        Own& own = OwnOf(*entered.live);
        entered.declared() ? void(own.declared = &entered) : own.asks.push_back(&entered);
    }
    if (!entered.request_id.empty()) {
        asked_.emplace(std::pair(entered.parts[0].lock->name, entered.request_id), &entered);
    }
    return entered;
}

// Whether nobody is before it in any of its lines.
bool Locks::IsFirst(const LockRequest& request) const {
    return std::ranges::all_of(
        request.parts, [&](const LockPart& part) { return *part.lock->line.begin() == &request; });
}

bool Locks::Fits(const LockRequest& request) const {
    return std::ranges::all_of(request.parts,
                               [](const LockPart& part) { return part.lock->Has(part.permits); });
}

void Locks::LeaveLines(LockRequest& request) {
    for (const LockPart& part : request.parts) {
        part.lock->line.erase(&request);
        // Permits that were kept for it may be the next one's.
        MakeDirty(*part.lock);
    }
    patience_.Remove(request);
}

void Locks::Keep(LockRequest& request) {
    LeaveLines(request);
    for (const LockPart& part : request.parts) part.lock->taken += part.permits;
    request.kept = true;
    kept_.emplace(request.serial, &request);
}

// Forgets a request that is out of the lines.
void Locks::EndRequest(LockRequest& request) {
    if (request.kept) {
        kept_.erase(request.serial);
        for (const LockPart& part : request.parts) {
            part.lock->taken -= part.permits;
            MakeDirty(*part.lock);
        }
    }
    if (!request.request_id.empty()) {
        asked_.erase({request.parts[0].lock->name, request.request_id});
    }
    Live* live = request.live;
    if (live) {
        Own& own = OwnOf(*live);
        if (own.declared == &request) own.declared = nullptr;
        std::erase(own.asks, &request);
    }
    requests_.erase(request.serial);
    if (live) TidyOwn(*live);
}

// Tells a client or a handler that it does not get what it waits for.
void Locks::Refuse(LockRequest& request, std::string why) {
    LeaveLines(request);
    Lock& lock = *request.parts[0].lock;
    ++counts_.refused;
    if (request.ask != 0) {
        const Execution& row = request.live->row;
        draft_.Send(LockVerdict{.session = request.session,
                                .attempt = {row.id, row.attempt, row.token},
                                .ask = request.ask,
                                .name = lock.name,
                                .why = std::move(why)});
    } else if (why.empty()) {
        AnswerBusy(request.request, lock);
        if (request.wait > Duration(0) && !request.request_id.empty()) KeepPlace(request);
    } else {
        draft_.Reply(request.request, Fail(ErrorCode::kInvalid, std::move(why), "permits"));
    }
    EndRequest(request);
}

// --- Executions that declare locks --------------------------------------------------------------

std::string Locks::WhyNever(const Task& task) const {
    for (const LockWant& want : task.opt().locks) {
        const auto found = locks_.find(want.name);
        const std::uint32_t permits = found == locks_.end() ? 1 : found->second->permits;
        if (want.permits <= permits) continue;
        return "it asks for " + std::to_string(want.permits) + " permits of lock '" +
               want.name.str() + "', which has " + std::to_string(permits);
    }
    return {};
}

bool Locks::TryKeep(Live& live) {
    if (live.row.task->opt().locks.empty() || Keeps(live)) return true;
    draft_.Spend(kMoveBytes);
    auto request = std::make_unique<LockRequest>();
    request->priority = live.row.task->priority;
    request->since = live.row.ready_at;
    request->serial = live.row.serial;
    request->live = &live;
    for (const LockWant& want : live.row.task->opt().locks) {
        request->parts.push_back({&LockOf(want.name), want.permits});
    }
    LockRequest& entered = Enter(std::move(request));
    if (!IsFirst(entered) || !Fits(entered)) {
        live.waits = Waits::kLock;
        return false;
    }
    Keep(entered);
    return true;
}

bool Locks::Keeps(const Live& live) const {
    if (!live.has_locks) return false;
    const auto found = owns_.find(&live);
    return found != owns_.end() && found->second.declared && found->second.declared->kept;
}

void Locks::Leave(Live& live) {
    if (!live.has_locks) return;
    const auto found = owns_.find(&live);
    if (found == owns_.end() || !found->second.declared) return;
    LockRequest& request = *found->second.declared;
    if (!request.kept) {
        LeaveLines(request);
        live.waits = Waits::kNothing;
    }
    EndRequest(request);
}

std::vector<LockGrant> Locks::Take(Live& live) {
    if (live.row.task->opt().locks.empty()) return {};
    TAKT_CHECK(Keeps(live));
    LockRequest& request = *owns_.find(&live)->second.declared;
    LockHeld& held = Grant(request);
    PutRow(held);
    return held.row.locks;
}

// --- What time and others bring -----------------------------------------------------------------

bool Locks::AnyDue() const {
    return !dirty_.empty() || !freeing_.empty() ||
           (!leases_.empty() && leases_.next_at() <= now_.steady) ||
           (!patience_.empty() && patience_.next_at() <= now_.steady);
}

std::optional<Steady> Locks::next_at() const {
    if (!dirty_.empty() || !freeing_.empty()) return now_.steady;
    std::optional<Steady> next;
    if (!leases_.empty()) next = leases_.next_at();
    if (!patience_.empty() && (!next || patience_.next_at() < *next)) next = patience_.next_at();
    return next;
}

Live* Locks::ServeNext() {
    if (!leases_.empty() && leases_.next_at() <= now_.steady) {
        OnLease(*leases_.next());
        return nullptr;
    }
    if (!freeing_.empty()) {
        ContinueFreeing();
        return nullptr;
    }
    if (!dirty_.empty()) {
        Lock& lock = *dirty_.front();
        Live* live = Serve(lock);
        if (lock.dirty) return live;
        dirty_.pop_front();
        Forget(lock);
        return live;
    }
    Refuse(*patience_.next(), patience_.next()->ask == 0 ? "" : "it could not be had in time");
    return nullptr;
}

// Gives the first in line what it asks for, if it is free; the lock stays dirty until there is
// nobody to be given something.
Live* Locks::Serve(Lock& lock) {
    lock.dirty = false;
    if (lock.line.empty()) return nullptr;
    auto first = lock.line.begin();
    if (TAKT_MUTANT("engine.skip_lock_waiters") && lock.line.size() > 1) ++first;
    LockRequest& request = **first;
    const auto large = std::ranges::find_if(
        request.parts, [](const LockPart& part) { return part.permits > part.lock->permits; });
    if (large == request.parts.end() && (!Fits(request) || !IsFirst(request))) {
        return nullptr;
    }
    lock.dirty = true;
    Live* live = request.live;
    if (request.declared()) {
        draft_.Spend(kMoveBytes);
        live->waits = Waits::kNothing;
        // One that can never have what it declares goes, too: its engine finds out why.
        Keep(request);
        return live;
    }
    if (large != request.parts.end()) {
        Refuse(request, "lock '" + lock.name.str() + "' was made smaller: it has " +
                            std::to_string(lock.permits) + " permits");
        return nullptr;
    }
    const RequestId asked = request.request;
    const SessionId session = request.session;
    LockHeld& held = Grant(request);
    PutRow(held);
    if (!live) {
        AnswerHeld(asked, held);
    } else {
        draft_.Send(LockVerdict{.session = session,
                                .attempt = {live->row.id, live->row.attempt, live->row.token},
                                .ask = held.ask,
                                .name = lock.name,
                                .token = held.row.locks[0].token});
    }
    return nullptr;
}

std::vector<Live*> Locks::Kept() const {
    std::vector<Live*> kept;
    for (const auto& [serial, request] : kept_) kept.push_back(request->live);
    return kept;
}

}  // namespace takt::internal
