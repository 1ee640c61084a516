// Locks: named permits with fencing tokens, held by clients for a lease or by attempts until they
// end.
//
// A lock has a number of permits, 1 unless an operator says otherwise, and one line of those who
// wait: by priority, then by age. The order is the same for all locks, nobody overtakes, and the
// free permits of a lock are kept for the first in its line. So whoever asks for several at once
// gets on: the first of all is first everywhere.
//
// - Clients ask (AcquireLock) and have a lease, counted by the steady clock. Renewals are not
//   written: a new leader counts every lease anew, longer by leader_ttl; late, never early.
// - Executions that declare locks stand in line when a worker would take them, not before. When all
//   is free for one, it is set aside (kept) while the execution goes back to its lane, and taken in
//   the step that gives it to a worker. What is kept for one whom no worker could take is given
//   back: what cannot run holds nothing.
// - Handlers ask while they run (AskLock); what they have ends with the attempt.
//
// A holding is a row (model/lock.h), written in the batch that gives it and deleted in the one that
// ends it. Those who wait are not stored: at the end of a term they are told, and ask again.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "engine/config.h"
#include "engine/draft.h"
#include "engine/input.h"
#include "engine/live.h"
#include "engine/lock_line.h"
#include "engine/lock_views.h"
#include "engine/timer_heap.h"

namespace takt::internal {

class Locks {
  public:
    static constexpr std::string_view kPrefix = "lock/";  // Of the settings that are its own.

    // Draft and config outlive it. No two terms have the same `salt`.
    Locks(Draft& draft, const EngineConfig& config, std::uint64_t epoch, std::uint64_t salt)
        : draft_(draft), config_(config), epoch_(epoch), salt_(salt) {}

    // Restoring, in this order: sizes and holdings; then time begins; then each execution at work
    // adopts what its attempt holds; what nobody adopted is over.
    void RestoreSize(std::string_view name, std::string_view value);
    void RestoreHolding(const Text& key, std::string_view value);
    void Begin(Instant now);
    void Adopt(Live& live);
    void EndUnadopted();

    // A step begins.
    void SetTime(Instant now) { now_ = now; }

    // --- Clients and operators -------------------------------------------------------------------

    void Acquire(AcquireLock& acquire);
    void Withdraw(const WithdrawLock& withdraw);
    void Renew(const RenewLock& renew);
    void Release(const ReleaseLock& release);
    void Free(const FreeLock& free);
    void Resize(const SetLock& set);

    // --- Executions that declare locks -----------------------------------------------------------

    // Why the task's locks can never be had, as they are now; empty if they can.
    std::string WhyNever(const Task& task) const;
    // Whether the execution may be given to a worker: all it declares is set aside for it. Else it
    // stands in the lines from now on. REQUIRES: WhyNever is empty; in no list.
    bool TryKeep(Live& live);
    bool Keeps(const Live& live) const;
    // It waits no longer; what is kept for it is given back.
    void Leave(Live& live);
    // Its current attempt, which a worker was just given, has what was kept for it.
    std::vector<LockGrant> Take(Live& live);

    // --- Attempts --------------------------------------------------------------------------------

    // REQUIRES: it is the execution's current attempt.
    void Ask(const AskLock& ask, Live& live);
    void Drop(const DropLock& drop, Live& live);
    // Ends all that it has and asks for.
    void EndAttempt(Live& live);
    // The same, but what it has stays held until its handler has stopped: ids, for EndLeft. A new
    // leader adopts them.
    std::vector<Text> LeaveHoldings(Live& live);
    void AdoptLeft(const ExecutionId& execution, const Text& id);
    void EndLeft(const Text& id);
    std::vector<LockGrant> HeldBy(const Live& live) const;
    bool Holds(const Live& live, const Text& name) const;

    // --- What time and others bring --------------------------------------------------------------

    bool AnyDue() const;
    // Does the next thing that is due. Returns an execution for which all is kept now: it has left
    // the lines and is in no list. REQUIRES: AnyDue.
    Live* ServeNext();
    std::optional<Steady> next_at() const;  // When time alone brings something; now if it is due.
    // The executions for which locks are kept while they wait for a worker, oldest first.
    std::vector<Live*> Kept() const;

    // --- Looking in ------------------------------------------------------------------------------

    std::optional<LockView> Find(const Text& name) const;
    // In the order of their names, those above `name`, at most so many.
    std::vector<LockView> After(const Text& name, std::size_t count_max) const;
    LockCounts counts() const;
    // So many tokens were given that the term must end before they are used up.
    bool worn_out() const { return tokens_ >= kTokensMax; }
    // The lock that the execution waits for, and how many stand before it there. Of several the
    // first that is not free for it. Nothing if it waits for none.
    struct Waiting {
        const Lock* lock = nullptr;
        std::size_t before = 0;
    };
    std::optional<Waiting> WaitingOf(const Live& live) const;
    // Whether one of these holdings has it.
    bool WaitsFor(const Live& live, const std::vector<Text>& ids) const;
    // If the attempt waits for somebody who waits, perhaps through others, for what it holds: those
    // executions in order, itself first. Empty if not.
    std::vector<const Live*> CircleOf(const Live& live) const;
    // The executions because of which one that declares locks waits for one of them: its holders
    // or, if it is kept for another one, the first in line. Null for a client, and for what is set
    // aside for one that is about to start.
    std::vector<const Live*> BlockersOf(const Live& live) const;

  private:
    static constexpr std::uint32_t kTokensMax = UINT32_MAX - (1u << 20);

    // One execution and its locks.
    struct Own {
        LockRequest* declared = nullptr;
        std::vector<LockRequest*> asks;
        std::vector<LockHeld*> held;
    };
    struct Freeing {
        Text name;
        std::uint64_t token_max = 0;  // Those given later are not meant.
        RequestId request = 0;
    };

    Lock& LockOf(const Text& name);
    void MakeDirty(Lock& lock);
    void Forget(Lock& lock);
    Own& OwnOf(Live& live);
    void TidyOwn(Live& live);

    LockRequest& Enter(std::unique_ptr<LockRequest> request);
    bool IsFirst(const LockRequest& request) const;
    bool Fits(const LockRequest& request) const;
    void Keep(LockRequest& request);
    void LeaveLines(LockRequest& request);
    void EndRequest(LockRequest& request);
    void Refuse(LockRequest& request, std::string why);
    Live* Serve(Lock& lock);

    LockHeld& Grant(LockRequest& request);
    void NoteToken(std::uint64_t seen);
    std::uint64_t NextToken();
    void PutRow(LockHeld& held);
    void EndHolding(LockHeld& held, EventType how);
    void EndPart(LockHeld& held, std::size_t index, EventType how);
    void ReturnPart(LockHeld& held, std::size_t index, EventType how);
    void TellLost(const Live& live, const LockHeld& held, const LockGrant& grant);
    void Emit(EventType type, const LockHeld& held, const LockGrant& grant);
    void BeginLease(LockHeld& held, Duration longer);
    LockHeld* FindHeld(const Text& name, const Text& id) const;
    void AnswerHeld(RequestId request, const LockHeld& held);
    void AnswerBusy(RequestId request, const Lock& lock);
    void EndPartOf(LockHeld& held, const Lock& lock);
    void ContinueFreeing();
    bool AcquireAgain(const AcquireLock& acquire);
    void KeepPlace(const LockRequest& request);
    void ForgetPlaces();
    void SetPatience(LockRequest& request, Duration wait);
    void OnLease(LockHeld& held);

    static LockHolderView ViewOf(const LockHeld& held, const LockGrant& grant);
    LockHolderView ViewOf(const LockRequest& request, std::uint32_t permits) const;
    static std::vector<LockHolderView> HoldersOf(const Lock& lock);
    LockView ViewOf(const Lock& lock) const;

    Draft& draft_;
    const EngineConfig& config_;
    const std::uint64_t epoch_;
    const std::uint64_t salt_;
    Instant now_{};
    std::uint32_t tokens_ =
        0;  // Given in this term, or in one of its epoch that the store has lost.
    LockCounts counts_;

    std::map<Text, std::unique_ptr<Lock>, std::less<>> locks_;     // By name.
    std::map<Text, std::unique_ptr<LockHeld>, std::less<>> held_;  // By id.
    std::map<Serial, std::unique_ptr<LockRequest>> requests_;      // By serial.
    std::map<Serial, LockRequest*> kept_;
    boost::unordered_flat_map<const Live*, Own> owns_;
    std::map<std::pair<Text, Text>, LockRequest*> asked_;  // By name and request_id.
    std::map<std::pair<Text, Text>, LockHeld*> held_by_request_;
    // Since when those have waited who waited in vain: who asks again soon keeps its place.
    struct Place {
        Time since{};
        Steady until{};
    };
    std::map<std::pair<Text, Text>, Place> places_;
    std::deque<std::pair<Text, Text>> places_ends_;  // In the order in which they are forgotten.
    std::deque<Lock*> dirty_;
    std::deque<Freeing> freeing_;
    TimerHeap<LockRequest, Steady> patience_;
    TimerHeap<LockHeld, Steady> leases_;

    std::vector<LockHolding> restored_;                // Until Begin.
    std::vector<Text> unreadable_;                     // Until Begin.
    std::multimap<ExecutionId, LockHeld*> unadopted_;  // Until EndUnadopted.
};

}  // namespace takt::internal
