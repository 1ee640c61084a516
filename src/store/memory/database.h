// MemoryDatabase: the rows behind MemoryStore, with every operation as a plain synchronous call.
//
// It keeps the contract of store.h strictly, and more strictly than a real database can: a batch
// whose changes contradict the stored rows (an insert of an id that exists, a move of a row that is
// not where `before` says) is refused whole with kInvalid, so that a test or a simulation finds the
// bug.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

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

    Result<Term> Acquire(const Candidate& candidate);
    Result<void> Renew(const Term& term, Duration ttl);
    Result<void> Resign(const Term& term);
    Result<std::optional<LeaderRow>> Leader(Partition partition);
    Result<void> Announce(const NodeRow& node, Duration ttl);
    Result<std::vector<NodeRow>> Nodes();

    Result<void> Commit(const Batch& batch);

    Result<LoadPage> Load(Partition partition, const std::string& cursor);
    Result<std::vector<std::optional<Execution>>> FindExecutions(
        const std::vector<ExecutionId>& ids);
    Result<std::vector<Execution>> ListExecutions(const ExecutionFilter& filter);
    Result<TaskRow> FindTask(const TaskId& id);
    Result<std::vector<TaskRow>> ListTasks(const TaskFilter& filter);
    Result<std::vector<Worker>> ListWorkers();
    Result<std::vector<SettingPut>> ListSettings(const Text& key_prefix);
    Result<std::vector<LogChunk>> ReadLog(const ExecutionId& execution, Serial after,
                                          std::size_t limit);
    Result<std::vector<Event>> ReadEvents(Serial after, std::size_t limit);

  private:
    using Rows = std::map<Serial, Execution>;

    struct Leadership {
        LeaderRow leader;
        std::uint64_t nonce = 0;  // 0 when nobody leads.
        std::uint64_t sequence = 0;
        Serial last_serial = 0;
        Steady expires{};
    };

    // Rows that belong to one partition and its leader alone.
    struct PartitionRows {
        Partition partition = 0;
        Leadership leadership;
        Rows live;
        std::map<TaskId, TaskRow> tasks;
        std::map<WorkerId, Worker> workers;
        std::map<Text, Text> settings;
    };

    Result<void> Check(const PartitionRows& rows, const Batch& batch) const;
    Result<void> CheckPlace(const PartitionRows& rows, const ExecutionChange& change) const;
    void Apply(PartitionRows& rows, const ExecutionChange& change);
    void Apply(PartitionRows& rows, const TaskPut& change);
    void Apply(PartitionRows& rows, const TaskDelete& change);
    void Apply(PartitionRows& rows, const WorkerPut& change);
    void Apply(PartitionRows& rows, const WorkerDelete& change);
    void Apply(PartitionRows& rows, const SettingPut& change);
    void Apply(PartitionRows& rows, const EventAppend& change);
    void Apply(PartitionRows& rows, const LogAppend& change);
    void Apply(PartitionRows& rows, const Purge& change);
    void PurgeExecutions(Partition partition, const Purge& change);
    const Execution* Find(const ExecutionId& id) const;

    const Options options_;
    std::mutex mutex_;
    std::map<Partition, PartitionRows> partitions_;
    Rows history_;
    Time oldest_ = Time::max();  // Nothing in history_ has finished before.
    std::unordered_map<Text, Serial, TextHash, TextEqual> serials_;  // By execution id.
    std::map<std::pair<ExecutionId, Serial>, LogChunk> logs_;
    std::map<Serial, Event> events_;
    std::map<NodeId, std::pair<NodeRow, Steady>> nodes_;
    std::uint64_t terms_ = 0;
};

}  // namespace takt::internal
