// Holdings: restored, given, written, ended.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "engine/locks.h"
#include "engine/numbers.h"
#include "engine/run.h"
#include "engine/slot.h"

namespace takt::internal {
namespace {

// A lease that is looked at later than this was not looked at in time: its renewal may lie unread in
// the inbox.
constexpr Duration kTickLate{1'000};

// A serial comes again if the store has lost it and a clock is behind: by the last digits whoever
// holds what was lost is not taken for whoever has been given a lock since.
constexpr std::size_t kSaltDigits = 3;

Text IdOf(Serial serial, std::uint64_t salt) {
    const std::string text = SerialText(TAKT_MUTANT("engine.reuse_lock_ids") ? 0 : salt);
    return Text(SerialText(serial) + text.substr(text.size() - kSaltDigits));
}

}  // namespace

// --- Restoring ----------------------------------------------------------------------------------

void Locks::RestoreSize(std::string_view name, std::string_view value) {
    std::array<std::int64_t, 1> numbers{};
    if (!ReadNumbers(value, numbers) || numbers[0] < 1 || numbers[0] > kLockPermitsMax) return;
    LockOf(Text(name)).permits = static_cast<std::uint32_t>(numbers[0]);
}

void Locks::RestoreHolding(const Text& key, std::string_view value) {
    auto holding = DecodeLockHolding(key, value);
    if (holding) {
        restored_.push_back(std::move(*holding));
    } else {
        Log(LogLevel::kError, "engine", "the holder of a lock cannot be read; it is let go",
            {{"lock_id", key.view()}, {"error", holding.error().detail}});
        unreadable_.push_back(key);
    }
}

void Locks::Begin(Instant now) {
    now_ = now;
    for (const Text& key : unreadable_) draft_.Append(RecordPut{RecordKind::kLock, key, Text()});
    if (!unreadable_.empty()) draft_.MakeUrgent();
    for (LockHolding& holding : restored_) {
        auto held = std::make_unique<LockHeld>();
        held->row = std::move(holding);
        held->order = held_.size() + 1;
        for (const LockGrant& grant : held->row.locks) {
            Lock& lock = LockOf(grant.name);
            lock.taken += grant.permits;
            lock.holders.emplace(grant.token, held.get());
            held->locks.push_back(&lock);
        }
        if (held->row.execution.empty()) {
            // A leader of the past may have renewed it until it noticed that it is one.
            BeginLease(*held, config_.leader_ttl);
            if (!held->row.request_id.empty()) {
                held_by_request_.emplace(std::pair(held->row.locks[0].name, held->row.request_id),
                                         held.get());
            }
        } else {
            unadopted_.emplace(held->row.execution, held.get());
        }
        held_.emplace(held->row.id, std::move(held));
    }
    restored_ = {};
    unreadable_ = {};
}

void Locks::Adopt(Live& live) {
    const auto [first, last] = unadopted_.equal_range(live.row.id);
    for (auto at = first; at != last;) {
        LockHeld& held = *at->second;
        if (held.row.attempt != live.row.attempt) {
            ++at;
            continue;
        }
        held.live = &live;
        held.ask = std::uint64_t{0};
        std::from_chars(held.row.request_id.view().begin(), held.row.request_id.view().end(),
                        held.ask);
        OwnOf(live).held.push_back(&held);
        at = unadopted_.erase(at);
    }
}

void Locks::EndUnadopted() {
    for (const auto& [execution, held] : std::exchange(unadopted_, {})) {
        EndHolding(*held, EventType::kLockReleased);
    }
}

// --- Holdings -----------------------------------------------------------------------------------

// A store that lost a term in a failover may give its epoch again. Who had a token of that term is
// not given a lower one by this. Whatever anybody says, half of the numbers are left.
void Locks::NoteToken(std::uint64_t seen) {
    if (seen >> 32 != epoch_ || TAKT_MUTANT("engine.forget_lock_tokens")) return;
    const auto number = static_cast<std::uint32_t>(seen);
    if (number <= kTokensMax / 2) tokens_ = std::max(tokens_, number);
}

std::uint64_t Locks::NextToken() {
    ++tokens_;
    TAKT_CHECK(tokens_ != 0);
    return LockToken(TAKT_MUTANT("engine.reuse_lock_tokens") ? 1 : epoch_, tokens_);
}

// Gives a request, first in its lines or kept, what it asks for. The caller writes the row.
LockHeld& Locks::Grant(LockRequest& request) {
    if (!request.kept) Keep(request);
    auto made = std::make_unique<LockHeld>();
    LockHeld& held = *made;
    held.order = request.declared() ? draft_.NextSerial() : request.serial;
    held.live = request.live;
    held.ask = request.ask;
    held.row = {.id = IdOf(held.order, salt_),
                .locks = {},
                .owner = request.owner,
                .request_id = held.ask != 0 ? Text(std::to_string(held.ask)) : request.request_id,
                .ttl = request.ttl,
                .since = now_.wall,
                .execution = held.live ? held.live->row.id : ExecutionId(),
                .attempt = held.live ? held.live->row.attempt : 0};
    for (const LockPart& part : request.parts) {
        const std::uint64_t token = NextToken();
        held.row.locks.push_back({part.lock->name, part.permits, token});
        held.locks.push_back(part.lock);
        part.lock->taken += part.permits;
        part.lock->holders.emplace(token, &held);
    }
    held_.emplace(held.row.id, std::move(made));
    if (held.live) {
        OwnOf(*held.live).held.push_back(&held);
    } else {
        BeginLease(held, Duration(0));
        if (!held.row.request_id.empty()) {
            held_by_request_.emplace(std::pair(held.row.locks[0].name, held.row.request_id), &held);
        }
    }
    ++counts_.acquired;
    draft_.NoteLockWait(std::chrono::duration_cast<Duration>(now_.steady - request.asked_at));
    for (const LockGrant& grant : held.row.locks) Emit(EventType::kLockAcquired, held, grant);
    EndRequest(request);
    return held;
}

void Locks::PutRow(LockHeld& held) {
    draft_.MakeUrgent();
    draft_.Put(held.mark,
               RecordPut{RecordKind::kLock, held.row.id,
                         held.row.locks.empty() ? Text() : Text(EncodeLockHolding(held.row))});
}

void Locks::BeginLease(LockHeld& held, Duration longer) {
    const Duration lease = held.row.ttl + longer;
    leases_.Set(held, now_.steady + lease, held.order);
    held.expires_at = now_.wall + held.row.ttl;
}

void Locks::ReturnPart(LockHeld& held, std::size_t index, EventType how) {
    Lock& lock = *held.locks[index];
    const LockGrant& grant = held.row.locks[index];
    lock.taken -= grant.permits;
    lock.holders.erase(grant.token);
    MakeDirty(lock);
    if (how == EventType::kLockLost) {
        ++counts_.lost;
        if (held.live) TellLost(*held.live, held, grant);
    }
    Emit(how, held, grant);
}

// Handlers that go on without the lock are told: whoever has it, or is in the run that had it.
void Locks::TellLost(const Live& live, const LockHeld& held, const LockGrant& grant) {
    if (IsRun(live)) {
        for (const Live* child : live.flow->children) TellLost(*child, held, grant);
    } else if (live.slot && live.slot->session != 0) {
        draft_.Send(LockVerdict{.session = live.slot->session,
                                .attempt = {live.row.id, live.row.attempt, live.row.token},
                                .ask = held.ask,
                                .name = grant.name,
                                .why = "an operator took it away"});
    }
}

void Locks::EndHolding(LockHeld& held, EventType how) {
    for (std::size_t i = 0; i < held.locks.size(); ++i) ReturnPart(held, i, how);
    if (held.live) {
        std::erase(OwnOf(*held.live).held, &held);
        TidyOwn(*held.live);
    } else if (held.row.execution.empty() && !held.row.request_id.empty()) {
        held_by_request_.erase({held.row.locks[0].name, held.row.request_id});
    }
    leases_.Remove(held);
    // Given to a handler and ended within one batch, it was never stored: nobody hears of it.
    if (held.ask != 0) draft_.RecallLock(held.mark, held.row.locks[0].token);
    held.row.locks.clear();
    if (!TAKT_MUTANT("engine.keep_released_locks") || how == EventType::kLockLost) PutRow(held);
    held_.erase(Text(held.row.id));
}

// Of several that one attempt has, one is taken away.
void Locks::EndPart(LockHeld& held, std::size_t index, EventType how) {
    if (held.locks.size() == 1) return EndHolding(held, how);
    ReturnPart(held, index, how);
    held.locks.erase(held.locks.begin() + std::ptrdiff_t(index));
    held.row.locks.erase(held.row.locks.begin() + std::ptrdiff_t(index));
    PutRow(held);
}

void Locks::Emit(EventType type, const LockHeld& held, const LockGrant& grant) {
    draft_.Emit(Event{.type = type,
                      .task = held.live ? held.live->row.task->id : TaskId(),
                      .execution = held.row.execution,
                      .worker = held.live ? held.live->row.worker : WorkerId(),
                      .attempt = held.row.attempt,
                      .detail = grant.name});
}

void Locks::OnLease(LockHeld& held) {
    // This process slept, or was kept busy.
    if (now_.steady - leases_.next_at() > kTickLate) {
        return leases_.Set(held, now_.steady + kTickLate, held.order);
    }
    EndHolding(held, EventType::kLockLost);
}

}  // namespace takt::internal
