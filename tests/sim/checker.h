// Checker: what must hold in every simulation, whatever fails. It sees every commit in the order in
// which the database applied it, every message that leaves a scheduler, and every run of a handler.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "node/node.h"
#include "sim/choice_checker.h"
#include "sim/fire_checker.h"
#include "sim/flow_checker.h"
#include "sim/handler_checker.h"
#include "sim/limit_checker.h"
#include "sim/lock_checker.h"
#include "sim/log_checker.h"
#include "sim/policy_checker.h"
#include "sim/world.h"
#include "store/memory/database.h"

namespace takt::internal::sim {

// The message of what an operator concludes, by which it is told from what a worker reported.
constexpr std::string_view kConcluded = "concluded";

class Checker {
  public:
    explicit Checker(World& world, Partition partition = kDefaultPartition)
        : fires(world, [this](const std::string& what) { Fail(what); }),
          limits(world, fires, [this](const std::string& what) { Fail(what); }),
          handlers(world, fires, [this](const std::string& what) { Fail(what); }),
          policies(world, fires, [this](const std::string& what) { Fail(what); }),
          locks(world, [this](const std::string& what) { Fail(what); }),
          flows([this](const std::string& what) { Fail(what); }),
          logs([this](const std::string& what) { Fail(what); }),
          choices(world, [this](const std::string& what) { Fail(what); }),
          world_(world),
          partition_(partition) {}

    // The first thing that went wrong; empty if nothing did.
    const std::string& failure() const { return failure_; }
    void Fail(const std::string& what);

    // The parts that look at one kind of promise each.
    FireChecker fires;
    LimitChecker limits;
    HandlerChecker handlers;
    PolicyChecker policies;
    LockChecker locks;
    FlowChecker flows;
    LogChecker logs;
    ChoiceChecker choices;

    // Workers and handlers are well: whatever fails, an attempt that has begun is not given up.
    bool workers_are_well = false;
    // Failovers of the store may lose what it has acknowledged.
    bool store_forgets = false;

    // Others who look at each batch, behind all of the above.
    std::function<void(const Batch&, const std::vector<RowMove>&, const EngineConfig&)> on_commit;

    // --- What is observed -----------------------------------------------------------------------
    void OnCommit(const Batch& batch, Instant latest, Steady sent, const EngineConfig& config);
    void OnRefused(const Batch& batch, const Error& error);
    // A scheduler sends it, having decided so at `at` by its own clock.
    void OnAssign(const Execution& execution, const Decided& decided, const EngineConfig& config);
    void OnVerdict(const AttemptRef& attempt, bool accepted);
    void OnStart(const AttemptRef& attempt, const std::string& worker, std::size_t running,
                 std::size_t capacity);
    void OnEnd(const AttemptRef& attempt, bool success);
    // Its worker was told that its end is stored. A store may lose that.
    void OnLetGo(const AttemptRef& attempt) {
        if (store_forgets) let_go_.insert(KeyOf(attempt));
    }
    // A scheduler that lives has left a client without an answer.
    void OnUnanswered(const std::string& asked);
    void OnWorker(const std::string& worker, std::uint32_t capacity);

    // A client was told so.
    void OnSubmitted(const Execution& execution);
    void OnCancelled(const Execution& execution);
    void OnRedrive(const ExecutionId& id) { redrives_.insert(id); }  // Asked for, maybe done.
    // An operator asks to end it so, and later was told that it is.
    void OnConclude(const ExecutionId& id, Status status) { concluding_[id].insert(status); }
    void OnConcluded(const Execution& execution);

    // The store went back to where it was when this checker was copied. What was committed since is
    // forgotten already; what happened in the world, as `later` saw it, did happen.
    void Recall(const Checker& later);
    const std::set<ExecutionId>& lost() const { return lost_; }

    // --- The end --------------------------------------------------------------------------------
    bool AllFinished() const { return unfinished_ == 0; }
    // After the heal. `quiet`: nothing failed at all, so everything ran exactly once.
    void CheckEnd(MemoryDatabase& database, bool quiet);

    const Execution* Find(const ExecutionId& id) const;
    bool MayBeRunAgain(const ExecutionId& id) const { return redrives_.contains(id); }
    bool WasConcluded(const Execution& row) const;
    std::vector<ExecutionId> Accepted() const;
    // All that is stored, in order of ids.
    std::vector<ExecutionId> Stored() const;
    std::size_t runs() const { return started_.size(); }
    std::size_t commits() const { return commits_; }
    std::size_t losses() const { return losses_; }

  private:
    // An attempt, by what names it: a store that has lost one gives its number again, not its token.
    using Key = std::tuple<std::string, std::uint32_t, Token>;
    static Key KeyOf(const AttemptRef& ref) {
        return {ref.execution.text().str(), ref.attempt, ref.token};
    }
    static Key KeyOf(const Execution& row) { return {row.id.text().str(), row.attempt, row.token}; }

    void OnChange(const ExecutionChange& change, const Batch& batch, Instant latest,
                  const EngineConfig& config);
    void ForgetPurged(const ExecutionId& id);
    bool MayBePurged(const Execution& row) const;
    bool HasWaited(const Execution& row) const;
    void CheckCounts(const Execution& before, const Execution& after, const EngineConfig& config);
    void CheckCapacity();

    void CheckPartition(const Batch& batch);

    World& world_;
    const Partition partition_;
    std::string failure_;
    std::uint64_t epoch_ = 0;
    std::size_t commits_ = 0;
    std::size_t losses_ = 0;
    Time purged_before_{};  // What had finished by then may be gone.
    std::map<ExecutionId, Execution> rows_;
    std::size_t unfinished_ = 0;          // Of them.
    std::map<ExecutionId, Steady> made_;  // When they were.
    std::vector<RowMove> moves_;          // Of the batch under way.
    std::set<Key> attempts_;              // Committed, also what was lost since.
    std::set<Key> started_;
    std::set<Key> let_go_;
    std::map<Key, bool> ended_;                        // By its handler; whether it succeeded.
    std::map<std::string, std::uint32_t> capacities_;  // The largest that was ever said.
    std::map<std::string, std::size_t> in_hand_;
    std::set<ExecutionId> submitted_;
    std::set<ExecutionId> redrives_;
    std::map<ExecutionId, std::set<Status>> concluding_;  // Asked for, maybe done.
    std::map<ExecutionId, std::uint32_t> cancelled_;      // The attempt at which it was.
    std::set<ExecutionId> lost_;  // Were stored, and are not since a failover.
};

}  // namespace takt::internal::sim
