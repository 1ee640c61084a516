#include "store/embedded/applier.h"

#include <vector>

#include "model/record.h"
#include "store/refusals.h"
#include "store/sql/execution_row.h"

namespace takt::internal::embedded {
namespace {

std::string InsertInto(std::string_view table) {
    return "INSERT INTO " + std::string(table) + " (" + std::string(sql::kExecutionColumns) +
           ") VALUES (" + std::string(sql::kExecutionParameters) + ")";
}

std::unexpected<Error> Contradiction(const Execution& row, std::string_view what) {
    return Fail(ErrorCode::kInvalid, "execution " + row.id.text().str() + " " + std::string(what));
}

}  // namespace

Applier::Applier(Connection& connection)
    : connection_(connection),
      fence_(
          connection.Prepare("UPDATE terms SET sequence = ?, last_serial = max(last_serial, ?) "
                             "WHERE partition = ? AND epoch = ? AND nonce = ? AND sequence = ?")),
      term_(connection.Prepare(
          "SELECT sequence FROM terms WHERE partition = ? AND epoch = ? AND nonce = ?")),
      insert_live_(connection.Prepare(InsertInto("live"))),
      insert_history_(connection.Prepare(InsertInto("history"))),
      update_live_(connection.Prepare("UPDATE live SET " + std::string(sql::kStateAssignments) +
                                      " WHERE serial = ?")),
      delete_live_(connection.Prepare("DELETE FROM live WHERE serial = ?")),
      delete_history_(connection.Prepare("DELETE FROM history WHERE serial = ?")),
      put_task_(connection.Prepare(
          "INSERT INTO tasks (id, partition, name, record) VALUES (?, ?, ?, ?) "
          "ON CONFLICT (id) DO UPDATE SET name = excluded.name, record = excluded.record")),
      delete_task_(connection.Prepare("DELETE FROM tasks WHERE id = ? AND partition = ?")),
      put_worker_(
          connection.Prepare("INSERT INTO workers (partition, id, record) VALUES (?, ?, ?) "
                             "ON CONFLICT (partition, id) DO UPDATE SET record = excluded.record")),
      delete_worker_(connection.Prepare("DELETE FROM workers WHERE partition = ? AND id = ?")),
      put_setting_(
          connection.Prepare("INSERT INTO settings (partition, key, value) VALUES (?, ?, ?) "
                             "ON CONFLICT (partition, key) DO UPDATE SET value = excluded.value")),
      delete_setting_(connection.Prepare("DELETE FROM settings WHERE partition = ? AND key = ?")),
      append_event_(
          connection.Prepare("INSERT INTO events (serial, type, record) VALUES (?, ?, ?)")),
      append_log_(connection.Prepare(
          "INSERT INTO logs (execution, chunk, attempt, at_ms, lines) VALUES (?, ?, ?, ?, ?)")),
      old_executions_(connection.Prepare(
          "SELECT serial, id FROM history INDEXED BY history_finished WHERE finished_at_ms < ? "
          "AND (serial >> 14) & 255 = ? ORDER BY finished_at_ms, serial LIMIT ?")),
      delete_log_(connection.Prepare("DELETE FROM logs WHERE execution = ?")),
      delete_events_(connection.Prepare(
          "DELETE FROM events WHERE serial IN (SELECT serial FROM events WHERE serial < ? "
          "AND (serial >> 14) & 255 = ? ORDER BY serial LIMIT ?)")) {}

Result<void> Applier::Apply(const Batch& batch) {
    in_purge_ = false;
    const Result<bool> pass = PassFence(batch);
    if (!pass) return std::unexpected(pass.error());
    if (!*pass) return {};
    // Last, so that it takes nothing away from under another change of the batch.
    const Purge* purge = nullptr;
    for (const Change& change : batch.changes) {
        if (const auto* found = std::get_if<Purge>(&change)) {
            purge = found;
            continue;
        }
        Result<void> applied =
            std::visit([&](const auto& kind) { return Apply(batch.term.partition, kind); }, change);
        if (!applied) return applied;
    }
    if (!purge || SteadyClock::now() < purge_after_) return {};
    in_purge_ = true;
    Result<void> purged = Apply(batch.term.partition, *purge);
    in_purge_ = false;
    return purged;
}

Result<bool> Applier::PassFence(const Batch& batch) {
    const auto bind_term = [&](Statement& statement) {
        statement.Int(batch.term.partition);
        statement.Int(static_cast<std::int64_t>(batch.term.epoch));
        statement.Int(static_cast<std::int64_t>(batch.term.nonce));
    };
    fence_.Int(static_cast<std::int64_t>(batch.sequence));
    fence_.Int(static_cast<std::int64_t>(batch.last_serial));
    bind_term(fence_);
    fence_.Int(static_cast<std::int64_t>(batch.sequence) - 1);
    fence_.Run();
    if (connection_.changes() == 1) return true;

    bind_term(term_);
    const Rows rows(term_);
    if (!term_.Step()) return Fail(ErrorCode::kFenced, "the term is over");
    if (static_cast<std::uint64_t>(term_.row().Int(0)) >= batch.sequence) return false;
    return Fail(ErrorCode::kUnavailable, "an earlier batch was not applied");
}

Result<void> Applier::Apply(Partition, const ExecutionChange& change) {
    const Execution& row = change.row;
    if (change.before == Place::kLive && change.after == Place::kLive) {
        sql::BindState(update_live_, row);
        update_live_.Int(static_cast<std::int64_t>(row.serial));
        update_live_.Run();
        if (connection_.changes() != 1) return Contradiction(row, "is not live");
        return {};
    }
    if (change.before != Place::kNone) {
        Statement& remove = change.before == Place::kLive ? delete_live_ : delete_history_;
        remove.Int(static_cast<std::int64_t>(row.serial));
        remove.Run();
        if (connection_.changes() != 1) return Contradiction(row, "is not where it should be");
    }
    Statement& insert = change.after == Place::kLive ? insert_live_ : insert_history_;
    sql::BindExecution(insert, row);
    insert.Run();
    return {};
}

Result<void> Applier::Apply(Partition partition, const TaskPut& change) {
    const Task& task = *change.row.task;
    put_task_.Text(task.id.view());
    put_task_.Int(partition);
    put_task_.Text(task.name);
    put_task_.Blob(put_task_.Keep(EncodeTaskRow(change.row)));
    put_task_.Run();
    return {};
}

Result<void> Applier::Apply(Partition partition, const TaskDelete& change) {
    delete_task_.Text(change.id.view());
    delete_task_.Int(partition);
    delete_task_.Run();
    return {};
}

Result<void> Applier::Apply(Partition partition, const WorkerPut& change) {
    put_worker_.Int(partition);
    put_worker_.Text(change.row.id.view());
    put_worker_.Blob(put_worker_.Keep(EncodeWorker(change.row)));
    put_worker_.Run();
    return {};
}

Result<void> Applier::Apply(Partition partition, const WorkerDelete& change) {
    delete_worker_.Int(partition);
    delete_worker_.Text(change.id.view());
    delete_worker_.Run();
    return {};
}

Result<void> Applier::Apply(Partition partition, const SettingPut& change) {
    Statement& statement = change.value.empty() ? delete_setting_ : put_setting_;
    statement.Int(partition);
    statement.Text(change.key);
    if (!change.value.empty()) statement.Blob(change.value);
    statement.Run();
    return {};
}

Result<void> Applier::Apply(Partition, const EventAppend& change) {
    append_event_.Int(static_cast<std::int64_t>(change.row.serial));
    append_event_.Text(Name(change.row.type));
    append_event_.Blob(append_event_.Keep(EncodeEvent(change.row)));
    append_event_.Run();
    return {};
}

Result<void> Applier::Apply(Partition, const LogAppend& change) {
    append_log_.Text(change.row.execution.view());
    append_log_.Int(static_cast<std::int64_t>(change.row.index));
    append_log_.Int(change.row.attempt);
    append_log_.Int(sql::Ms(change.row.at));
    append_log_.Blob(change.row.lines);
    append_log_.Run();
    return {};
}

Result<void> Applier::Apply(Partition partition, const Purge& change) {
    std::vector<std::pair<std::int64_t, Text>> old;
    {
        old_executions_.Int(sql::Ms(change.finished_before));
        old_executions_.Int(partition);
        old_executions_.Int(change.count_max);
        const Rows rows(old_executions_);
        while (old_executions_.Step()) {
            old.emplace_back(old_executions_.row().Int(0), Text(old_executions_.row().Bytes(1)));
        }
    }
    for (const auto& [serial, id] : old) {
        delete_log_.Text(id);
        delete_log_.Run();
        delete_history_.Int(serial);
        delete_history_.Run();
    }
    delete_events_.Int(static_cast<std::int64_t>(SerialAt(change.events_before)));
    delete_events_.Int(partition);
    delete_events_.Int(change.count_max);
    delete_events_.Run();
    return {};
}

Result<void> Applier::Apply(Partition, const RecordPut&) {
    return HasNoSuchRows();
}

Result<void> Applier::Apply(Partition, const AuditAppend&) {
    return HasNoSuchRows();
}

}  // namespace takt::internal::embedded
