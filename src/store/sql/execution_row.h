// Executions as rows of the tables `live` and `history`: which columns, and how they are filled and
// read. Children of runs are in `child_live` and `child_history`, so that neither lists nor purges of
// the others meet them. All four have the same columns.
//
// A Binder has Int, Text, Blob, Null (the next parameter) and Keep (bytes that must live until the
// statement has run). A Reader has Int, Bytes and IsNull (the column of a number).
#pragma once

#include <string>
#include <string_view>

#include "model/execution.h"
#include "model/record.h"
#include "store/store.h"

namespace takt::internal::sql {

// task_id is null for a one-off task, whose id is the execution's or, of a child, its run's; so that
// only the rows of recurring tasks take room in the index by task. Times are in milliseconds, 0 where
// there is none.
inline constexpr std::string_view kExecutionColumns =
    "serial, id, task_id, task_name, type, queue, priority, task_version, timeout_ms, run_at_ms, "
    "task_created_at_ms, task_updated_at_ms, origin, created_at_ms, scheduled_at_ms, "
    "status, attempt, failures, losses, epoch, token, worker, ready_at_ms, started_at_ms, "
    "finished_at_ms, outcome, options, task_payload, payload, parent, step, shard_index, "
    "shard_total, "
    "round, progress";
// The same columns for a brief list, where what may be large is not even read.
inline const std::string& BriefExecutionColumns() {
    static const std::string kColumns = [] {
        std::string columns(kExecutionColumns);
        const auto replace = [&](std::string_view last, const std::string& by) {
            const std::size_t at = columns.rfind(last);
            columns.replace(at, last.size(), by);
        };
        // Not null where there is some: that is how a run is told from other executions.
        replace(", progress", ", SUBSTR(progress, 1, 0)");
        replace(", payload", ", NULL");
        replace(", task_payload", ", NULL");
        replace(", outcome", ", CASE WHEN status = '" + std::string(Name(Status::kSuccess)) +
                                 "' THEN NULL ELSE SUBSTR(outcome, 1, " +
                                 std::to_string(kOutcomeHeadBytes + kBriefMessageBytes) + ") END");
        return columns;
    }();
    return kColumns;
}
inline constexpr std::string_view kExecutionParameters =
    "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "?, ?, "
    "?, ?";

// The columns that an attempt can change.
inline constexpr std::string_view kStateAssignments =
    "status = ?, attempt = ?, failures = ?, losses = ?, epoch = ?, token = ?, worker = ?, "
    "ready_at_ms = ?, started_at_ms = ?, finished_at_ms = ?, outcome = ?, progress = ?";

inline std::int64_t Ms(Time time) {
    return time.time_since_epoch().count();
}

// The id of the task of a row whose task_id is null.
inline const Text& ImpliedTaskId(const Execution& row) {
    return row.parent.empty() ? row.id.text() : row.parent.text();
}

template <typename Binder>
void BindTextOrNull(Binder& to, std::string_view text) {
    text.empty() ? to.Null() : to.Text(text);
}

template <typename Binder>
void BindBlobOrNull(Binder& to, std::string_view bytes) {
    bytes.empty() ? to.Null() : to.Blob(bytes);
}

// The parameters of kStateAssignments but the last.
template <typename Binder>
void BindAttempt(Binder& to, const Execution& row) {
    static constexpr Token kNoToken{};
    to.Text(Name(row.status));
    to.Int(row.attempt);
    to.Int(row.failures);
    to.Int(row.losses);
    to.Int(static_cast<std::int64_t>(row.epoch));
    if (row.token == kNoToken) {
        to.Null();
    } else {
        to.Blob({reinterpret_cast<const char*>(row.token.data()), row.token.size()});
    }
    BindTextOrNull(to, row.worker.view());
    to.Int(Ms(row.ready_at));
    to.Int(Ms(row.started_at));
    to.Int(Ms(row.finished_at));
    row.outcome ? to.Blob(to.Keep(EncodeOutcome(row.outcome))) : to.Null();
}

// The parameters of kStateAssignments.
template <typename Binder>
void BindState(Binder& to, const Execution& row) {
    BindAttempt(to, row);
    BindBlobOrNull(to, row.progress);
}

// The parameters of kExecutionParameters.
template <typename Binder>
void BindExecution(Binder& to, const Execution& row) {
    const Task& task = *row.task;
    to.Int(static_cast<std::int64_t>(row.serial));
    to.Text(row.id.view());
    task.id.text() == ImpliedTaskId(row) ? to.Null() : to.Text(task.id.view());
    to.Text(task.name);
    to.Text(task.type);
    to.Text(task.queue);
    to.Int(task.priority);
    to.Int(task.version);
    to.Int(task.timeout.count());
    to.Int(Ms(task.run_at));
    to.Int(Ms(task.created_at));
    to.Int(Ms(task.updated_at));
    to.Text(Name(row.origin));
    to.Int(Ms(row.created_at));
    to.Int(Ms(row.scheduled_at));
    BindAttempt(to, row);
    task.options ? BindBlobOrNull(to, to.Keep(EncodeOptions(*task.options))) : to.Null();
    BindBlobOrNull(to, task.payload);
    BindBlobOrNull(to, row.payload);
    BindTextOrNull(to, row.parent.view());
    BindBlobOrNull(to, row.step);
    to.Int(row.shard_index);
    to.Int(row.shard_total);
    to.Int(row.round);
    BindBlobOrNull(to, row.progress);
}

// Reads rows one after the other. Texts and tasks that equal those of the row before are shared,
// not made again: a million waiting executions are mostly of few types and queues.
class ExecutionReader {
  public:
    // `brief`: of BriefExecutionColumns.
    explicit ExecutionReader(bool brief = false) : brief_(brief) {}

    // Never fails: a row that cannot be decoded is a failed one with Reason::kUndecodable.
    template <typename Reader>
    Execution Read(const Reader& from);

  private:
    // A text that was read before, or a new one.
    class Shared {
      public:
        const Text& Get(std::string_view bytes) {
            if (last_.view() != bytes) last_ = Text(bytes);
            return last_;
        }

      private:
        Text last_;
    };

    struct TaskColumns {
        std::string_view id, name, type, queue, options, payload;
        std::int64_t priority, version, timeout, run_at, created_at, updated_at;
    };

    Result<void> MakeTask(const TaskColumns& columns, Execution& row);

    const bool brief_;
    Shared name_, type_, queue_, worker_, parent_, step_;
    TaskPtr last_task_;  // Of the last row that has no task of its own.
    std::string last_options_;
};

// Parts of Read that do not depend on the database.
Result<void> ReadStatus(std::string_view name, Execution& row);
Result<void> ReadOrigin(std::string_view name, Execution& row);
Result<void> ReadToken(std::string_view bytes, Execution& row);
Result<void> ReadOutcome(std::string_view bytes, bool head, Execution& row);
// Whether its columns make sense together. A run is worked on by its children, not by a worker.
Result<void> CheckState(const Execution& row, bool run);
void MakeUndecodable(Execution& row, const Error& error);

template <typename Reader>
Execution ExecutionReader::Read(const Reader& from) {
    const auto time = [&](int column) { return Time(Duration(from.Int(column))); };
    Execution row;
    row.serial = static_cast<Serial>(from.Int(0));
    row.id = ExecutionId(Text(from.Bytes(1)));
    if (!from.IsNull(29)) row.parent = ExecutionId(parent_.Get(from.Bytes(29)));
    const TaskColumns columns{.id = from.IsNull(2) ? ImpliedTaskId(row).view() : from.Bytes(2),
                              .name = from.Bytes(3),
                              .type = from.Bytes(4),
                              .queue = from.Bytes(5),
                              .options = from.Bytes(26),
                              .payload = from.Bytes(27),
                              .priority = from.Int(6),
                              .version = from.Int(7),
                              .timeout = from.Int(8),
                              .run_at = from.Int(9),
                              .created_at = from.Int(10),
                              .updated_at = from.Int(11)};
    row.created_at = time(13);
    row.scheduled_at = time(14);
    row.attempt = static_cast<std::uint32_t>(from.Int(16));
    row.failures = static_cast<std::uint32_t>(from.Int(17));
    row.losses = static_cast<std::uint32_t>(from.Int(18));
    row.epoch = static_cast<std::uint64_t>(from.Int(19));
    if (!from.IsNull(21)) row.worker = WorkerId(worker_.Get(from.Bytes(21)));
    row.ready_at = time(22);
    row.started_at = time(23);
    row.finished_at = time(24);
    row.payload = Text(from.Bytes(28));
    if (!from.IsNull(30)) row.step = step_.Get(from.Bytes(30));
    row.shard_index = static_cast<std::uint32_t>(from.Int(31));
    row.shard_total = static_cast<std::uint32_t>(from.Int(32));
    row.round = static_cast<std::uint32_t>(from.Int(33));
    row.progress = Text(from.Bytes(34));

    Result<void> read = ReadStatus(from.Bytes(15), row);
    if (read) read = ReadOrigin(from.Bytes(12), row);
    if (read) read = ReadToken(from.Bytes(20), row);
    if (read) read = ReadOutcome(from.Bytes(25), brief_, row);
    if (read) read = MakeTask(columns, row);
    if (read) read = CheckState(row, !from.IsNull(34));
    if (!read) MakeUndecodable(row, read.error());
    if (!row.task) {
        boost::intrusive_ptr<Task> task(new Task);
        task->id = TaskId(Text(columns.id));
        task->name = Text(columns.name);
        task->type = Text(columns.type);
        task->queue = Text(columns.queue.empty() ? "default" : columns.queue);
        task->payload = Text(columns.payload);
        row.task = task;
    }
    return row;
}

}  // namespace takt::internal::sql
