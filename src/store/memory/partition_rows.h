// PartitionRows: everything that MemoryDatabase keeps of one partition but its leadership.
//
// Changes that contradict the rows are found by Check; Apply then takes them without looking.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/store.h"

namespace takt::internal {

class PartitionRows {
  public:
    Result<void> Check(const std::vector<Change>& changes) const;
    // REQUIRES: Check succeeds.
    void Apply(const std::vector<Change>& changes);

    // One page of Load but its last_serial, with at most `rows_max` records and executions each.
    Result<LoadPage> Load(const std::string& cursor, std::size_t rows_max) const;
    std::optional<Execution> FindExecution(const ExecutionId& id) const;
    std::vector<Execution> ListExecutions(const ExecutionFilter& filter) const;
    Result<TaskRow> FindTask(const TaskId& id) const;
    std::vector<TaskRow> ListTasks(const TaskFilter& filter) const;
    std::vector<Worker> ListWorkers() const;
    std::vector<SettingPut> ListSettings(const Text& key_prefix) const;
    std::vector<LogChunk> ReadLog(const ExecutionId& execution, Serial after,
                                  std::size_t limit) const;
    std::vector<Event> ReadEvents(Serial after, std::size_t limit) const;
    std::vector<AuditRow> ReadAudit(Serial before, std::size_t limit) const;

  private:
    using Rows = std::map<Serial, Execution>;
    using RecordKey = std::pair<RecordKind, Text>;

    Result<void> CheckPlace(const ExecutionChange& change) const;
    void Apply(const ExecutionChange& change);
    void Apply(const TaskPut& change);
    void Apply(const TaskDelete& change);
    void Apply(const WorkerPut& change);
    void Apply(const WorkerDelete& change);
    void Apply(const SettingPut& change);
    void Apply(const EventAppend& change);
    void Apply(const LogAppend& change);
    void Apply(const Purge& change);
    void Apply(const RecordPut& change);
    void Apply(const AuditAppend& change);
    void Update(const Execution& row);
    void PurgeExecutions(const Purge& change);
    void PurgeTree(const ExecutionId& root, std::uint32_t& left);
    void Forget(const ExecutionId& id);
    bool LoadRecords(std::string_view after, std::size_t rows_max, LoadPage& page) const;
    void LoadExecutions(Serial after, std::size_t rows_max, LoadPage& page) const;

    Rows live_;
    Rows history_;
    // Finished executions without a parent: the order of retention.
    std::set<std::pair<Time, Serial>> kept_;
    std::map<ExecutionId, std::set<Serial>> children_;  // By parent, live and finished.
    std::unordered_map<Text, Serial, TextHash, TextEqual> serials_;  // By execution id.
    std::map<TaskId, TaskRow> tasks_;
    std::map<WorkerId, Worker> workers_;
    std::map<Text, Text> settings_;
    std::map<RecordKey, Text> records_;
    std::map<std::pair<ExecutionId, Serial>, LogChunk> logs_;
    std::map<Serial, Event> events_;
    std::map<Serial, AuditRow> audit_;
};

}  // namespace takt::internal
