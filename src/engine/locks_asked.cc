// Questions of clients, handlers and operators about locks.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/locks.h"

namespace takt::internal {
namespace {

// Long enough to ask again over a slow connection.
constexpr Duration kPlaceKept{10'000};

std::string TooMany(const Text& name, std::uint32_t asked, std::uint32_t permits) {
    return "lock '" + name.str() + "' has " + std::to_string(permits) + " permits, and " +
           std::to_string(asked) + " are asked for";
}

std::unexpected<Error> NotHeld(const Text& name, const Text& id) {
    return Fail(ErrorCode::kConflict, "'" + id.str() + "' does not hold lock '" + name.str() +
                                          "' any more; acquire it again");
}

}  // namespace

// --- Clients ------------------------------------------------------------------------------------

void Locks::Acquire(AcquireLock& acquire) {
    NoteToken(acquire.token_seen);
    if (!acquire.request_id.empty() && AcquireAgain(acquire)) return;
    Lock& lock = LockOf(acquire.name);
    MakeDirty(lock);  // So that it is forgotten if nothing comes of it.
    if (acquire.permits > lock.permits) {
        return draft_.Reply(acquire.request,
                            Fail(ErrorCode::kInvalid,
                                 TooMany(lock.name, acquire.permits, lock.permits), "permits"));
    }
    if (held_.size() >= config_.lock_holders_max || requests_.size() >= config_.lock_waiters_max) {
        return draft_.Reply(
            acquire.request,
            Fail(ErrorCode::kExhausted,
                 "too many hold locks or wait for them (" + std::to_string(held_.size()) + " and " +
                     std::to_string(requests_.size()) + "); try again later"));
    }
    auto asked = std::make_unique<LockRequest>();
    asked->priority = kPriorityNormal;
    ForgetPlaces();
    const auto place = places_.find({acquire.name, acquire.request_id});
    asked->since = place == places_.end() ? now_.wall : place->second.since;
    asked->serial = draft_.NextSerial();
    asked->parts = {{&lock, acquire.permits}};
    asked->request = acquire.request;
    asked->caller = acquire.caller;
    asked->owner = std::move(acquire.owner);
    asked->request_id = std::move(acquire.request_id);
    asked->ttl = acquire.ttl;
    LockRequest& request = Enter(std::move(asked));
    if (IsFirst(request) && Fits(request)) {
        LockHeld& held = Grant(request);
        PutRow(held);
        return AnswerHeld(acquire.request, held);
    }
    SetPatience(request, acquire.wait);
}

// The same question again; false if it is the first.
bool Locks::AcquireAgain(const AcquireLock& acquire) {
    const std::pair key(acquire.name, acquire.request_id);
    const auto asks_else = [&](std::uint32_t permits, Duration ttl) {
        if (permits == acquire.permits && ttl == acquire.ttl) return false;
        draft_.Reply(
            acquire.request,
            Fail(ErrorCode::kConflict,
                 "the same request_id has asked for other permits or another ttl of lock '" +
                     acquire.name.str() + "'",
                 "request_id"));
        return true;
    };
    if (const auto found = held_by_request_.find(key); found != held_by_request_.end()) {
        LockHeld& held = *found->second;
        if (asks_else(held.row.locks[0].permits, held.row.ttl)) return true;
        BeginLease(held, Duration(0));
        AnswerHeld(acquire.request, held);
        return true;
    }
    const auto found = asked_.find(key);
    if (found == asked_.end()) return false;
    LockRequest& request = *found->second;
    if (asks_else(request.parts[0].permits, request.ttl)) return true;
    request.caller = acquire.caller;
    draft_.Reply(std::exchange(request.request, acquire.request),
                 Fail(ErrorCode::kConflict,
                      "the same request_id has asked again; that question "
                      "has taken the place of this one",
                      "request_id"));
    SetPatience(request, acquire.wait);
    return true;
}

// A client waits in slices as long as its connections allow; in between it is in no line.
void Locks::KeepPlace(const LockRequest& request) {
    std::pair key(request.parts[0].lock->name, request.request_id);
    places_[key] = {request.since, now_.steady + kPlaceKept};
    places_ends_.push_back(std::move(key));
}

void Locks::ForgetPlaces() {
    while (!places_ends_.empty()) {
        const auto found = places_.find(places_ends_.front());
        if (found != places_.end()) {
            if (found->second.until > now_.steady) return;
            places_.erase(found);
        }
        places_ends_.pop_front();
    }
}

// One in line waits for so long from now on; who does not wait is told at once.
void Locks::SetPatience(LockRequest& request, Duration wait) {
    request.wait = wait;
    if (wait <= Duration(0)) return Refuse(request, "");
    patience_.Set(request, now_.steady + wait, request.serial);
}

void Locks::Withdraw(const WithdrawLock& withdraw) {
    const std::pair key(withdraw.name, withdraw.request_id);
    if (const auto found = asked_.find(key); found != asked_.end()) {
        LockRequest& request = *found->second;
        if (request.caller != withdraw.caller) return;
        LeaveLines(request);
        // Its connection may have broken: if it asks again soon it is as old as it was.
        if (!withdraw.for_good) KeepPlace(request);
        return EndRequest(request);
    }
    const auto held = held_by_request_.find(key);
    if (!withdraw.for_good || held == held_by_request_.end()) return;
    EndHolding(*held->second, EventType::kLockReleased);
}

LockHeld* Locks::FindHeld(const Text& name, const Text& id) const {
    const auto found = held_.find(id);
    if (found == held_.end()) return nullptr;
    LockHeld& held = *found->second;
    const bool lease = held.row.execution.empty();
    return lease && held.row.locks[0].name == name ? &held : nullptr;
}

void Locks::Renew(const RenewLock& renew) {
    LockHeld* held = FindHeld(renew.name, renew.lock_id);
    if (!held) return draft_.Reply(renew.request, NotHeld(renew.name, renew.lock_id));
    BeginLease(*held, Duration(0));
    AnswerHeld(renew.request, *held);
}

void Locks::Release(const ReleaseLock& release) {
    LockHeld* held = FindHeld(release.name, release.lock_id);
    if (!held) return draft_.Reply(release.request, NotHeld(release.name, release.lock_id));
    AnswerHeld(release.request, *held);
    EndHolding(*held, EventType::kLockReleased);
}

void Locks::AnswerHeld(RequestId request, const LockHeld& held) {
    draft_.Reply(request, Answer{.lock = std::make_shared<const LockAnswer>(
                                     LockAnswer{.held = true,
                                                .lock_id = held.row.id,
                                                .token = held.row.locks[0].token,
                                                .expires_at = held.expires_at,
                                                .holders = {}})});
}

void Locks::AnswerBusy(RequestId request, const Lock& lock) {
    draft_.Reply(
        request,
        Answer{.lock = std::make_shared<const LockAnswer>(LockAnswer{.holders = HoldersOf(lock)})});
}

// --- Operators ----------------------------------------------------------------------------------

void Locks::Free(const FreeLock& free) {
    const auto lock = locks_.find(free.name);
    if (free.lock_id.empty()) {
        if (lock == locks_.end() || lock->second->holders.empty()) {
            return draft_.Reply(free.request, Fail(ErrorCode::kNotFound,
                                                   "nobody holds lock '" + free.name.str() + "'"));
        }
        draft_.Audit(free.by, {.target = {"lock", free.name.str()}});
        // There may be more than one step may end.
        freeing_.push_back({free.name, LockToken(epoch_, tokens_), free.request});
        return;
    }
    if (lock != locks_.end()) {
        for (const auto& [token, held] : lock->second->holders) {
            if (held->row.id != free.lock_id) continue;
            if (free.by) {
                draft_.Audit(free.by,
                             {.target = {"lock", free.name.str()},
                              .before = FieldsDocument({{"lock_id", held->row.id.view()},
                                                        {"owner", held->row.owner.view()}})});
            }
            draft_.Reply(free.request, Answer{});
            return EndPartOf(*held, *lock->second);
        }
    }
    draft_.Reply(free.request,
                 Fail(ErrorCode::kNotFound,
                      "'" + free.lock_id.str() + "' does not hold lock '" + free.name.str() + "'"));
}

void Locks::EndPartOf(LockHeld& held, const Lock& lock) {
    for (std::size_t i = 0; i < held.locks.size(); ++i) {
        if (held.locks[i] == &lock) return EndPart(held, i, EventType::kLockLost);
    }
}

// Ends one more of those that are to be taken away, or answers that all are.
void Locks::ContinueFreeing() {
    const Freeing& freeing = freeing_.front();
    const auto lock = locks_.find(freeing.name);
    if (lock != locks_.end() && !lock->second->holders.empty()) {
        const auto& [token, held] = *lock->second->holders.begin();
        if (token <= freeing.token_max) return EndPartOf(*held, *lock->second);
    }
    draft_.Reply(freeing.request, Answer{});
    freeing_.pop_front();
}

void Locks::Resize(const SetLock& set) {
    Lock& lock = LockOf(set.name);
    if (set.by) {
        const auto shown = [](std::uint32_t permits) {
            return JsonDocument("{\"permits\":" + std::to_string(permits) + "}");
        };
        draft_.Audit(set.by, {.target = {"lock", set.name.str()},
                              .before = shown(lock.permits),
                              .after = shown(set.permits)});
    }
    lock.permits = set.permits;
    MakeDirty(lock);
    draft_.Set({Text(std::string(kPrefix) + set.name.str()),
                set.permits == 1 ? Text() : Text(std::to_string(set.permits))});
    draft_.Reply(set.request, Answer{});
}

// --- Handlers -----------------------------------------------------------------------------------

void Locks::Ask(const AskLock& ask, Live& live) {
    Own& own = OwnOf(live);
    const auto answer = [&](std::uint64_t token, std::string why) {
        draft_.Send(LockVerdict{.session = ask.session,
                                .attempt = ask.attempt,
                                .ask = ask.ask,
                                .name = ask.name,
                                .token = token,
                                .why = Text(why)});
        TidyOwn(live);
    };
    for (LockRequest* request : own.asks) {
        // It asks again because it lost the connection over which it would have been answered.
        if (request->ask == ask.ask) return void(request->session = ask.session);
    }
    for (const LockHeld* held : own.held) {
        if (held->ask == ask.ask) return answer(held->row.locks[0].token, "");
        for (const LockGrant& grant : held->row.locks) {
            if (grant.name != ask.name) continue;
            return answer(0, "this attempt holds lock '" + ask.name.str() + "' already");
        }
    }
    Lock& lock = LockOf(ask.name);
    MakeDirty(lock);
    if (ask.permits > lock.permits) return answer(0, TooMany(lock.name, ask.permits, lock.permits));
    if (requests_.size() >= config_.lock_waiters_max) return answer(0, "too many wait for locks");
    auto asked = std::make_unique<LockRequest>();
    asked->priority = live.row.task->priority;
    asked->since = now_.wall;
    asked->serial = draft_.NextSerial();
    asked->parts = {{&lock, ask.permits}};
    asked->session = ask.session;
    asked->ask = ask.ask;
    asked->live = &live;
    asked->wait = ask.wait;
    LockRequest& request = Enter(std::move(asked));
    // It is served with the lock, which is dirty; so one that does not wait has its chance.
    patience_.Set(request, now_.steady + std::max(ask.wait, Duration(0)), request.serial);
}

void Locks::Drop(const DropLock& drop, Live& live) {
    const auto found = owns_.find(&live);
    if (found == owns_.end()) return;
    for (LockHeld* held : found->second.held) {
        if (held->ask == drop.ask) return EndHolding(*held, EventType::kLockReleased);
    }
    for (LockRequest* request : found->second.asks) {
        if (request->ask != drop.ask) continue;
        LeaveLines(*request);
        return EndRequest(*request);
    }
}

void Locks::EndAttempt(Live& live) {
    if (!live.has_locks) return;
    // Each that ends takes itself out of the list, and the last the list itself.
    while (live.has_locks) {
        Own& own = OwnOf(live);
        if (!own.held.empty()) {
            EndHolding(*own.held.back(), EventType::kLockReleased);
        } else {
            TAKT_CHECK(!own.asks.empty());
            LockRequest& request = *own.asks.back();
            LeaveLines(request);
            EndRequest(request);
        }
    }
}

std::vector<Text> Locks::LeaveHoldings(Live& live) {
    std::vector<Text> ids;
    if (!live.has_locks) return ids;
    for (LockHeld* held : std::exchange(OwnOf(live).held, {})) {
        ids.push_back(held->row.id);
        held->live = nullptr;
    }
    TidyOwn(live);
    EndAttempt(live);
    return ids;
}

void Locks::AdoptLeft(const ExecutionId& execution, const Text& id) {
    const auto [first, last] = unadopted_.equal_range(execution);
    const auto found =
        std::find_if(first, last, [&](const auto& entry) { return entry.second->row.id == id; });
    if (found != last) unadopted_.erase(found);
}

void Locks::EndLeft(const Text& id) {
    const auto found = held_.find(id);
    if (found == held_.end() || found->second->live) return;
    EndHolding(*found->second, EventType::kLockReleased);
}

}  // namespace takt::internal
