// LockChecker: no lock has two holders, tokens rise, attempts at work have what they declare, no
// lease ends before its time and none outlives its release; as the committed rows show it, and what
// clients were told.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/execution.h"
#include "model/lock.h"
#include "sim/world.h"
#include "store/store.h"

namespace takt::internal::sim {

// Locks of simulations; all have one permit.
constexpr std::string_view kClientsLock = "solo";   // Only clients want it.
constexpr std::string_view kSharedLock = "ledger";  // Clients and tasks.
constexpr std::string_view kTasksLock = "gpu";      // Tasks, together with the one before.
constexpr std::string_view kHandlersLock = "tool";  // Handlers, while they run.

// A holding as its client knows it. An id alone does not tell: a store that lost some has them given
// again while a clock is behind.
struct Lease {
    Text name;
    Text id;
    std::uint64_t token = 0;

    friend auto operator<=>(const Lease&, const Lease&) = default;
};

class LockChecker {
  public:
    using Complain = std::function<void(const std::string&)>;
    using FindRow = std::function<const Execution*(const ExecutionId&)>;

    LockChecker(World& world, Complain fail) : world_(world), fail_(std::move(fail)) {}

    // The rows are those after the batch.
    void OnCommit(const Batch& batch, const FindRow& find);
    // A worker was given an attempt, with these locks.
    void OnAssign(const Execution& row, const std::vector<LockGrant>& locks, const FindRow& find);

    // The handler of an execution was told that it has a lock by this token.
    void OnGiven(const ExecutionId& execution, std::uint64_t token);

    // A client was told that it has it, now or still; by its clock until then at least.
    void OnHeld(const Lease& lease, Steady valid_until);
    // It asks to let it go: from now on it may be gone at any time.
    void OnRelease(const Lease& lease) { released_.insert(lease); }
    void OnReleased(const Lease& lease);
    // It was told that others hold it, and these are they.
    void OnBusy(std::string_view name, std::size_t holders);

    // The store went back to where it was when this was copied; see Checker::Recall.
    void Recall(const LockChecker& later);

  private:
    void OnPut(const Text& id, const Text& value);
    void OnGone(const Text& id);
    void NoteChanged(const LockHolding& holding);
    void NoteLeftover(const SettingPut& setting);
    bool IsLeftover(const Text& id) const;
    void CheckHolders(const FindRow& find);
    // Who has to hold what the execution declares: it, or the outermost run above it with locks.
    static const Execution& HolderFor(const Execution& row, const FindRow& find);
    bool Has(const Execution& holder, const Text& name) const;
    bool IsStored(const Lease& lease) const;

    World& world_;
    const Complain fail_;
    std::map<Text, LockHolding> held_;            // As stored.
    std::map<std::uint64_t, ExecutionId> given_;  // By token: all that attempts and runs ever had.
    std::set<ExecutionId> working_;  // Those with locks that are at work, or go on as runs.
    // Holdings of executions that are over, by the setting that keeps them until handlers have stopped.
    std::map<Text, std::vector<Text>> leftovers_;
    std::map<Lease, Steady> leases_;  // As clients were told.
    std::set<Lease> released_;
    std::uint64_t token_latest_ = 0;
    // Vain answers for the clients' lock since it passed on, and when the last of them was counted.
    int vain_answers_ = 0;
    Steady vain_counted_{};
};

}  // namespace takt::internal::sim
