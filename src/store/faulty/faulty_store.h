// FaultyStore: any store, with the faults of a plan in front of it: delays, refusals, lost requests
// and lost answers. For tests of what stands on a store. (The simulator has a network of its own.)
//
// It keeps the contract of store.h: what it does to an operation a real network could do too. Only
// the order of commits can suffer when the plan delays one of them for longer than the next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "store/store.h"

namespace takt::internal {

enum class StoreCall : std::uint8_t {
    kAcquire,
    kRenew,
    kResign,
    kLeader,
    kAnnounce,
    kNodes,
    kCommit,
    kLoad,
    kRead,  // All reads beside Load.
};

struct Fault {
    enum class Kind : std::uint8_t {
        kNone,
        kRefuse,       // Not applied; answered with kUnavailable.
        kLoseRequest,  // Not applied; a write is answered with kUnknown, a read with kUnavailable.
        kLoseReply,    // Applied; answered as above.
    };
    Kind kind = Kind::kNone;
    Duration before{0};  // Until the request reaches the store.
    Duration after{0};   // From the store's answer, or the loss, to the caller's.
};

// Decides the fate of each operation, in the order in which they are asked for. Called from the
// threads that call the store.
class FaultPlan {
  public:
    virtual ~FaultPlan() = default;
    virtual Fault Next(StoreCall call) = 0;
};

class FaultyStore final : public Store {
  public:
    // Runs the work once, after that time, never from inside the call. May outlive the store.
    using Delay = std::function<void(Duration, std::move_only_function<void()>)>;

    FaultyStore(std::unique_ptr<Store> store, std::shared_ptr<FaultPlan> plan, Delay delay);
    ~FaultyStore() override;

    StoreLimits limits() const override { return store_->limits(); }
    std::string Describe() const override { return store_->Describe() + " with faults"; }

    void Acquire(const Candidate& candidate, Done<Term> done) override;
    void Renew(const Term& term, Duration ttl, Done<void> done) override;
    void Resign(const Term& term, Done<void> done) override;
    void Leader(Partition partition, Done<std::optional<LeaderRow>> done) override;
    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override;
    void Nodes(Done<std::vector<NodeRow>> done) override;
    void Commit(BatchPtr batch, Done<void> done) override;
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override;
    void FindExecutions(std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override;
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override;
    void FindTask(const TaskId& id, Done<TaskRow> done) override;
    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override;
    void ListWorkers(Done<std::vector<Worker>> done) override;
    void ListSettings(const Text& key_prefix, Done<std::vector<SettingPut>> done) override;
    void ReadLog(const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override;
    void ReadEvents(Serial after, std::size_t limit, Done<std::vector<Event>> done) override;

  private:
    class Waiting;

    template <typename T>
    void Call(StoreCall call, std::move_only_function<void(Store&, Done<T>)> begin, Done<T> done);

    std::unique_ptr<Store> store_;
    const std::shared_ptr<FaultPlan> plan_;
    const std::shared_ptr<Waiting> waiting_;
};

}  // namespace takt::internal
