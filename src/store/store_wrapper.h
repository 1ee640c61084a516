// StoreWrapper: a Store that hands everything on to another one. A class that changes a few
// operations of a store (a decorator, a store of a test) derives from it and overrides those.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace takt::internal {

class StoreWrapper : public Store {
  public:
    // `inner` outlives the wrapper. Null: whatever is not overridden is never answered, for tests
    // that answer by hand.
    explicit StoreWrapper(Store* inner) : inner_(inner) {}

    StoreLimits limits() const override { return inner() ? inner()->limits() : StoreLimits{}; }
    std::string Describe() const override { return inner() ? inner()->Describe() : "no store"; }
    std::string WhyFull() const override { return inner() ? inner()->WhyFull() : ""; }

    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override {
        if (Store* to = inner()) to->Announce(node, ttl, std::move(done));
    }
    void Nodes(Done<std::vector<NodeRow>> done) override {
        if (Store* to = inner()) to->Nodes(std::move(done));
    }
    void Leaders(Done<std::vector<LeaderRow>> done) override {
        if (Store* to = inner()) to->Leaders(std::move(done));
    }
    void Acquire(const Candidate& candidate, Done<Term> done) override {
        if (Store* to = inner()) to->Acquire(candidate, std::move(done));
    }
    void Resign(const Term& term, const NodeId& successor, Done<void> done) override {
        if (Store* to = inner()) to->Resign(term, successor, std::move(done));
    }
    void Commit(BatchPtr batch, Done<void> done) override {
        if (Store* to = inner()) to->Commit(std::move(batch), std::move(done));
    }
    void DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) override {
        if (Store* to = inner()) to->DropPartition(partition, epoch, std::move(done));
    }
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override {
        if (Store* to = inner()) to->Load(partition, cursor, std::move(done));
    }
    void FindExecutions(Partition partition, std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override {
        if (Store* to = inner()) to->FindExecutions(partition, std::move(ids), std::move(done));
    }
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override {
        if (Store* to = inner()) to->ListExecutions(filter, std::move(done));
    }
    void FindTask(Partition partition, const TaskId& id, Done<TaskRow> done) override {
        if (Store* to = inner()) to->FindTask(partition, id, std::move(done));
    }
    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override {
        if (Store* to = inner()) to->ListTasks(filter, std::move(done));
    }
    void ListWorkers(Partition partition, Done<std::vector<Worker>> done) override {
        if (Store* to = inner()) to->ListWorkers(partition, std::move(done));
    }
    void ListSettings(Partition partition, const Text& key_prefix,
                      Done<std::vector<SettingPut>> done) override {
        if (Store* to = inner()) to->ListSettings(partition, key_prefix, std::move(done));
    }
    void ReadLog(Partition partition, const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override {
        if (Store* to = inner()) to->ReadLog(partition, execution, after, limit, std::move(done));
    }
    void ReadEvents(Partition partition, Serial after, std::size_t limit,
                    Done<std::vector<Event>> done) override {
        if (Store* to = inner()) to->ReadEvents(partition, after, limit, std::move(done));
    }
    void ReadAudit(Partition partition, Serial before, std::size_t limit,
                   Done<std::vector<AuditRow>> done) override {
        if (Store* to = inner()) to->ReadAudit(partition, before, limit, std::move(done));
    }

  protected:
    // From now on everything goes there. What was handed on before stays where it is.
    void SetInner(Store* inner) { inner_ = inner; }

  private:
    Store* inner() const { return inner_.load(std::memory_order_acquire); }

    std::atomic<Store*> inner_;
};

}  // namespace takt::internal
