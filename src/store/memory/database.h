// MemoryDatabase: the rows behind MemoryStore, with every operation as a plain synchronous call.
//
// It keeps the contract of store.h strictly, and more strictly than a real database can: a batch
// whose changes contradict the stored rows (an insert of an id that exists, a move of a row that is
// not where `before` says) is refused whole with kInvalid, so that a test or a simulation finds the
// bug.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/memory/partition_rows.h"
#include "store/store.h"

namespace takt::internal {

class MemoryDatabase {
  public:
    struct Options {
        std::function<Steady()> clock = &SteadyClock::now;  // What ttls are measured by.
        std::size_t load_page_rows = 1000;                  // Executions in one page of Load.
    };

    MemoryDatabase() : MemoryDatabase(Options{}) {}
    explicit MemoryDatabase(Options options) : options_(std::move(options)) {}

    // Everything as it is now: what a replica has that has not received more.
    struct Copy;
    std::shared_ptr<const Copy> MakeCopy();
    // The replica is promoted: whatever was written since is gone, terms and announcements included.
    // Nonces are not given twice for that, as random ones would not be.
    void PutBack(const Copy& copy);

    Result<void> Announce(const NodeRow& node, Duration ttl);
    Result<std::vector<NodeRow>> Nodes();
    Result<std::vector<LeaderRow>> Leaders();
    Result<Term> Acquire(const Candidate& candidate);
    Result<void> Resign(const Term& term, const NodeId& successor);

    Result<void> Commit(const Batch& batch);

    Result<void> DropPartition(Partition partition, std::uint64_t epoch);

    Result<LoadPage> Load(Partition partition, const std::string& cursor);
    Result<std::vector<std::optional<Execution>>> FindExecutions(
        Partition partition, const std::vector<ExecutionId>& ids);
    Result<std::vector<Execution>> ListExecutions(const ExecutionFilter& filter);
    Result<TaskRow> FindTask(Partition partition, const TaskId& id);
    Result<std::vector<TaskRow>> ListTasks(const TaskFilter& filter);
    Result<std::vector<Worker>> ListWorkers(Partition partition);
    Result<std::vector<SettingPut>> ListSettings(Partition partition, const Text& key_prefix);
    Result<std::vector<LogChunk>> ReadLog(Partition partition, const ExecutionId& execution,
                                          Serial after, std::size_t limit);
    Result<std::vector<Event>> ReadEvents(Partition partition, Serial after, std::size_t limit);
    Result<std::vector<AuditRow>> ReadAudit(Partition partition, Serial before, std::size_t limit);

  private:
    struct Leadership {
        LeaderRow last;  // Its epoch is 0 if there was no term yet.
        std::uint64_t sequence = 0;
        Serial last_serial = 0;
    };

    struct PartitionState {
        Leadership leadership;
        PartitionRows rows;
    };

    using Partitions = std::map<Partition, PartitionState>;
    using Announcements = std::map<NodeId, std::pair<NodeRow, Steady>>;  // And until when.

    bool Announced(const NodeId& node) const;

    const Options options_;
    std::mutex mutex_;
    Partitions partitions_;
    Announcements nodes_;
    std::uint64_t terms_ = 0;
};

}  // namespace takt::internal
