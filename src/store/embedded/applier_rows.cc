// How each kind of change is written.
#include <algorithm>
#include <vector>

#include "base/failpoint.h"
#include "model/record.h"
#include "store/embedded/applier.h"
#include "store/embedded/schema.h"
#include "store/sql/execution_row.h"

namespace takt::internal::embedded {
namespace {

std::unexpected<Error> Contradiction(const Execution& row, std::string_view what) {
    return Fail(ErrorCode::kInvalid, "execution " + row.id.text().str() + " " + std::string(what));
}

// A statement in which every # stands for the prefix of the partition's tables.
Statement Prepare(Connection& connection, Partition partition, std::string_view sql) {
    const std::string prefix = TablePrefix(partition);
    std::string text;
    for (const char c : sql) c == '#' ? text += prefix : text += c;
    return connection.Prepare(text);
}

}  // namespace

Applier::Executions::Executions(Connection& connection, const std::string& prefix)
    : insert_live(connection, prefix + "live"),
      insert_history(connection, prefix + "history"),
      update_live(connection.Prepare("UPDATE " + prefix + "live SET " +
                                     std::string(sql::kStateAssignments) + " WHERE serial = ?")),
      delete_live(connection.Prepare("DELETE FROM " + prefix + "live WHERE serial = ?")),
      delete_history(connection.Prepare("DELETE FROM " + prefix + "history WHERE serial = ?")) {}

Result<void> Applier::Executions::Apply(const Connection& connection,
                                        const ExecutionChange& change) {
    const Execution& row = change.row;
    if (change.before == Place::kLive && change.after == Place::kLive) {
        sql::BindState(update_live, row);
        update_live.Int(static_cast<std::int64_t>(row.serial));
        update_live.Run();
        if (connection.changes() != 1) return Contradiction(row, "is not live");
        return {};
    }
    if (change.before != Place::kNone) {
        Statement& remove = change.before == Place::kLive ? delete_live : delete_history;
        remove.Int(static_cast<std::int64_t>(row.serial));
        remove.Run();
        if (connection.changes() != 1) return Contradiction(row, "is not where it should be");
    }
    (change.after == Place::kLive ? insert_live : insert_history).Add(row);
    return {};
}

void Applier::Executions::Begin() {
    insert_live.Begin();
    insert_history.Begin();
}

void Applier::Executions::Flush() {
    insert_live.Flush();
    insert_history.Flush();
}

Applier::Tables::Tables(Connection& to, Partition of)
    : connection(to),
      partition(of),
      roots(to, TablePrefix(of)),
      children(to, TablePrefix(of) + "child_"),
      put_task(
          Prepare(to, of,
                  "INSERT INTO #tasks (id, partition, name, record) VALUES (?, ?, ?, ?) "
                  "ON CONFLICT (id) DO UPDATE SET name = excluded.name, record = excluded.record")),
      delete_task(Prepare(to, of, "DELETE FROM #tasks WHERE id = ? AND partition = ?")),
      put_worker(Prepare(to, of,
                         "INSERT INTO #workers (partition, id, record) VALUES (?, ?, ?) "
                         "ON CONFLICT (partition, id) DO UPDATE SET record = excluded.record")),
      delete_worker(Prepare(to, of, "DELETE FROM #workers WHERE partition = ? AND id = ?")),
      put_setting(Prepare(to, of,
                          "INSERT INTO #settings (partition, key, value) VALUES (?, ?, ?) "
                          "ON CONFLICT (partition, key) DO UPDATE SET value = excluded.value")),
      delete_setting(Prepare(to, of, "DELETE FROM #settings WHERE partition = ? AND key = ?")),
      put_record(Prepare(to, of,
                         "INSERT INTO #records (kind, key, value) VALUES (?, ?, ?) "
                         "ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value")),
      delete_record(Prepare(to, of, "DELETE FROM #records WHERE kind = ? AND key = ?")),
      append_event(Prepare(to, of, "INSERT INTO #events (serial, type, record) VALUES (?, ?, ?)")),
      append_audit(Prepare(to, of, "INSERT INTO #audit (serial, at_ms, body) VALUES (?, ?, ?)")),
      append_log(Prepare(
          to, of,
          "INSERT INTO #logs (execution, chunk, attempt, at_ms, lines) VALUES (?, ?, ?, ?, ?)")),
      old_executions(Prepare(to, of,
                             "SELECT serial, id FROM #history INDEXED BY #history_finished "
                             "WHERE finished_at_ms < ? ORDER BY finished_at_ms, serial LIMIT ?")),
      any_children(Prepare(to, of, "SELECT 1 FROM #child_history LIMIT 1")),
      children_of(Prepare(to, of,
                          "SELECT serial, id FROM #child_history INDEXED BY "
                          "#child_history_parent WHERE parent = ? ORDER BY serial LIMIT ?")),
      delete_log(Prepare(to, of, "DELETE FROM #logs WHERE execution = ?")),
      delete_events(Prepare(to, of,
                            "DELETE FROM #events WHERE serial IN (SELECT serial FROM #events "
                            "WHERE serial < ? ORDER BY serial LIMIT ?)")),
      delete_audit(Prepare(to, of,
                           "DELETE FROM #audit WHERE serial IN (SELECT serial FROM #audit "
                           "WHERE serial < ? ORDER BY serial LIMIT ?)")) {}

Result<void> Applier::Tables::Apply(const ExecutionChange& change) {
    return (change.row.parent.empty() ? roots : children).Apply(connection, change);
}

Result<void> Applier::Tables::Apply(const TaskPut& change) {
    const Task& task = *change.row.task;
    put_task.Text(task.id.view());
    put_task.Int(partition);
    put_task.Text(task.name);
    put_task.Blob(put_task.Keep(EncodeTaskRow(change.row)));
    put_task.Run();
    return {};
}

Result<void> Applier::Tables::Apply(const TaskDelete& change) {
    delete_task.Text(change.id.view());
    delete_task.Int(partition);
    delete_task.Run();
    return {};
}

Result<void> Applier::Tables::Apply(const WorkerPut& change) {
    put_worker.Int(partition);
    put_worker.Text(change.row.id.view());
    put_worker.Blob(put_worker.Keep(EncodeWorker(change.row)));
    put_worker.Run();
    return {};
}

Result<void> Applier::Tables::Apply(const WorkerDelete& change) {
    delete_worker.Int(partition);
    delete_worker.Text(change.id.view());
    delete_worker.Run();
    return {};
}

Result<void> Applier::Tables::Apply(const SettingPut& change) {
    if (change.value.empty() && TAKT_MUTANT("embedded.keep_settings")) return {};
    Statement& statement = change.value.empty() ? delete_setting : put_setting;
    statement.Int(partition);
    statement.Text(change.key);
    if (!change.value.empty()) statement.Blob(change.value);
    statement.Run();
    return {};
}

Result<void> Applier::Tables::Apply(const RecordPut& change) {
    Statement& statement = change.value.empty() ? delete_record : put_record;
    statement.Int(static_cast<std::int64_t>(change.kind));
    statement.Blob(change.key);
    if (!change.value.empty()) statement.Blob(change.value);
    statement.Run();
    return {};
}

Result<void> Applier::Tables::Apply(const EventAppend& change) {
    append_event.Int(static_cast<std::int64_t>(change.row.serial));
    append_event.Text(Name(change.row.type));
    append_event.Blob(append_event.Keep(EncodeEvent(change.row)));
    append_event.Run();
    return {};
}

Result<void> Applier::Tables::Apply(const AuditAppend& change) {
    append_audit.Int(static_cast<std::int64_t>(change.row.serial));
    append_audit.Int(sql::Ms(change.row.at));
    append_audit.Blob(change.row.body);
    append_audit.Run();
    return {};
}

Result<void> Applier::Tables::Apply(const LogAppend& change) {
    append_log.Text(change.row.execution.view());
    append_log.Int(static_cast<std::int64_t>(change.row.index));
    append_log.Int(change.row.attempt);
    append_log.Int(sql::Ms(change.row.at));
    append_log.Blob(change.row.lines);
    append_log.Run();
    return {};
}

Result<void> Applier::Tables::Apply(const Purge& change) {
    PurgeExecutions(change);
    const auto purge = [&](Statement& statement, Time before) {
        statement.Int(static_cast<std::int64_t>(SerialAt(before)));
        statement.Int(change.count_max);
        statement.Run();
    };
    purge(delete_events, change.events_before);
    if (change.audit_before != Time{}) purge(delete_audit, change.audit_before);
    return {};
}

void Applier::Tables::PurgeExecutions(const Purge& change) {
    bool families = false;
    {
        const Rows rows(any_children);
        families = any_children.Step();
    }
    std::int64_t left =
        change.count_max * (TAKT_MUTANT("embedded.purge_twice_as_much") ? 2LL : 1LL);
    const bool any_age = TAKT_MUTANT("embedded.purge_young");
    old_executions.Int(any_age ? INT64_MAX : sql::Ms(change.finished_before));
    old_executions.Int(left);
    for (const Old& old : ReadOld(old_executions)) {
        if (families && !TAKT_MUTANT("embedded.orphans")) PurgeChildren(old, left);
        if (left == 0) return;
        PurgeOne(old, roots);
        --left;
    }
}

// Children may be runs themselves: theirs go before them.
void Applier::Tables::PurgeChildren(const Old& run, std::int64_t& left) {
    while (left > 0) {
        children_of.Text(run.id);
        children_of.Int(left);
        const std::vector<Old> page = ReadOld(children_of);
        if (page.empty()) return;
        for (const Old& child : page) {
            PurgeChildren(child, left);
            if (left == 0) return;
            PurgeOne(child, children);
            --left;
        }
    }
}

void Applier::Tables::PurgeOne(const Old& old, Executions& from) {
    delete_log.Text(old.id);
    delete_log.Run();
    from.delete_history.Int(old.serial);
    from.delete_history.Run();
}

std::vector<Applier::Tables::Old> Applier::Tables::ReadOld(Statement& statement) {
    std::vector<Old> old;
    const Rows rows(statement);
    while (statement.Step()) {
        old.push_back({statement.row().Int(0), internal::Text(statement.row().Bytes(1))});
    }
    return old;
}

}  // namespace takt::internal::embedded
