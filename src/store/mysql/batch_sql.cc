#include "store/mysql/batch_sql.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/failpoint.h"
#include "model/record.h"
#include "store/mysql/batch_statements.h"
#include "store/mysql/once_statements.h"
#include "store/mysql/schema.h"
#include "store/mysql/values.h"
#include "store/sql/execution_row.h"

namespace takt::internal::mysql {
namespace {

// Changes of executions in one pair of tables: those of children, or of roots that are not in
// `once_live`.
class Executions {
  public:
    // `prefix` is that of both tables.
    Executions(Packets& packets, const std::string& prefix)
        : delete_live_(packets, DeleteBySerial(prefix + "live")),
          delete_history_(packets, DeleteBySerial(prefix + "history")),
          insert_live_(packets, prefix + "live"),
          insert_history_(packets, prefix + "history"),
          update_live_(packets, prefix + "live") {}

    void Add(const ExecutionChange& change) {
        const Execution& row = change.row;
        if (change.before == Place::kLive && change.after == Place::kLive) {
            return update_live_.Add(row);
        }
        if (change.before != Place::kNone) {
            Statement& leave = change.before == Place::kLive ? delete_live_ : delete_history_;
            leave.Add([&](std::string& to) { AppendUnsigned(to, row.serial); });
        }
        (change.after == Place::kLive ? insert_live_ : insert_history_).Add(row);
    }

    void Flush() {
        delete_live_.Flush();
        delete_history_.Flush();
        insert_live_.Flush();
        insert_history_.Flush();
        update_live_.Flush();
    }

  private:
    Statement delete_live_, delete_history_;
    ExecutionInsert insert_live_, insert_history_;
    StateUpdate update_live_;
};

// Collects the changes of a batch by kind, and writes them kind by kind: no two of them are of one
// row, so their order does not matter, but rows must leave a table before others may have their
// ids.
class Composer {
  public:
    // `prefix` is that of the partition's tables.
    Composer(Packets& packets, std::string prefix, Partition partition, const PurgePlan& plan,
             Serial once_after)
        : packets_(packets),
          prefix_(std::move(prefix)),
          partition_(partition),
          plan_(plan),
          once_after_(once_after),
          once_(packets, prefix_),
          roots_(packets, prefix_),
          children_(packets, prefix_ + "child_"),
          put_tasks_(packets, Insert("tasks", "id, partition_id, name, record",
                                     ") ON DUPLICATE KEY UPDATE name = VALUES(name), "
                                     "record = VALUES(record)")),
          delete_tasks_(packets, DeleteOwn("tasks", "id")),
          put_workers_(packets, Insert("workers", "partition_id, id, record",
                                       ") ON DUPLICATE KEY UPDATE record = VALUES(record)")),
          delete_workers_(packets, DeleteOwn("workers", "id")),
          put_settings_(packets, Insert("settings", "partition_id, name, value",
                                        ") ON DUPLICATE KEY UPDATE value = VALUES(value)")),
          delete_settings_(packets, DeleteOwn("settings", "name")),
          put_records_(packets, Insert("records", "kind, name, value",
                                       ") ON DUPLICATE KEY UPDATE value = VALUES(value)")),
          delete_records_(packets, {"DELETE FROM " + prefix_ + "records WHERE (", ") OR (", ")"}),
          append_events_(packets, Insert("events", "serial, type, record")),
          append_audit_(packets, Insert("audit", "serial, at_ms, body")),
          append_logs_(packets, Insert("logs", "execution, chunk, attempt, at_ms, content")) {}

    void operator()(const ExecutionChange& change) {
        if (IsOnce(change.row, once_after_)) return once_.Add(change);
        (change.row.parent.empty() ? roots_ : children_).Add(change);
    }

    void operator()(const TaskPut& change) {
        put_tasks_.Add([&](std::string& to) {
            Values values(to);
            values.Text(change.row.task->id.view());
            values.Int(partition_);
            values.Text(change.row.task->name);
            values.Blob(values.Keep(EncodeTaskRow(change.row)));
        });
    }
    void operator()(const TaskDelete& change) { AddKey(delete_tasks_, change.id.view()); }

    void operator()(const WorkerPut& change) {
        put_workers_.Add([&](std::string& to) {
            Values values(to);
            values.Int(partition_);
            values.Text(change.row.id.view());
            values.Blob(values.Keep(EncodeWorker(change.row)));
        });
    }
    void operator()(const WorkerDelete& change) { AddKey(delete_workers_, change.id.view()); }

    void operator()(const SettingPut& change) {
        if (change.value.empty()) return AddKey(delete_settings_, change.key);
        put_settings_.Add([&](std::string& to) {
            Values values(to);
            values.Int(partition_);
            values.Text(change.key);
            values.Blob(change.value);
        });
    }

    void operator()(const EventAppend& change) {
        append_events_.Add([&](std::string& to) {
            Values values(to);
            values.Int(static_cast<std::int64_t>(change.row.serial));
            values.Text(Name(change.row.type));
            values.Blob(values.Keep(EncodeEvent(change.row)));
        });
    }

    void operator()(const LogAppend& change) {
        append_logs_.Add([&](std::string& to) {
            Values values(to);
            values.Text(change.row.execution.view());
            values.Int(static_cast<std::int64_t>(change.row.index));
            values.Int(change.row.attempt);
            values.Int(sql::Ms(change.row.at));
            values.Blob(change.row.lines);
        });
    }

    void operator()(const RecordPut& change) {
        const auto kind = static_cast<std::int64_t>(change.kind);
        if (change.value.empty()) {
            return delete_records_.Add([&](std::string& to) {
                to += fmt::format("kind = {} AND name = ", kind);
                AppendBinary(to, change.key);
            });
        }
        put_records_.Add([&](std::string& to) {
            Values values(to);
            values.Int(kind);
            values.Blob(change.key);
            values.Blob(change.value);
        });
    }

    void operator()(const AuditAppend& change) {
        append_audit_.Add([&](std::string& to) {
            Values values(to);
            values.Int(static_cast<std::int64_t>(change.row.serial));
            values.Int(sql::Ms(change.row.at));
            values.Blob(change.row.body);
        });
    }

    void operator()(const Purge& change) { purges_.push_back(&change); }

    void Finish() {
        once_.Flush();
        roots_.Flush();
        children_.Flush();
        for (Statement* statement :
             {&delete_tasks_, &put_tasks_, &delete_workers_, &put_workers_, &delete_settings_,
              &put_settings_, &delete_records_, &put_records_, &append_events_, &append_audit_,
              &append_logs_}) {
            statement->Flush();
        }
        // Last: what the batch takes out of the history, it finds there.
        for (const Purge* purge : purges_) AddPurge(*purge);
    }

  private:
    Frame Insert(std::string_view table, std::string_view columns, std::string tail = ")") {
        return {fmt::format("INSERT INTO {}{} ({}) VALUES (", prefix_, table, columns), "),(",
                std::move(tail)};
    }

    // Rows of the partition, which need not be there.
    Frame DeleteOwn(std::string_view table, std::string_view key) {
        return {fmt::format("DELETE FROM {}{} WHERE partition_id = {} AND {} IN (", prefix_, table,
                            partition_, key),
                ",", ")"};
    }

    void AddKey(Statement& statement, std::string_view key) {
        statement.Add([&](std::string& to) { AppendText(to, key); });
    }

    void AddPurge(const Purge& purge) {
        AddPlanned("child_history", plan_.children);
        AddPlanned("history", plan_.roots);
        if (plan_.events_begin < plan_.events_end) {
            packets_.Add(fmt::format("DELETE FROM {}events WHERE serial >= {} AND serial < {}",
                                     prefix_, plan_.events_begin, plan_.events_end));
        }
        if (purge.audit_before != Time{}) AddPurgeOfAudit(purge);
    }

    // Through the table itself, so that a log goes only with its execution.
    void AddPlanned(std::string_view table, const std::vector<Serial>& serials) {
        for (std::size_t begin = 0; begin < serials.size(); begin += kRowsMax) {
            const std::size_t count = std::min(kRowsMax, serials.size() - begin);
            const std::string list =
                fmt::format("{}{}{}", kSerialsBegin,
                            fmt::join(std::span(serials).subspan(begin, count), ","), kSerialsEnd);
            packets_.Add(
                fmt::format("DELETE gone FROM {2} STRAIGHT_JOIN {0}{1} AS old ON "
                            "old.serial = named.serial STRAIGHT_JOIN {0}logs AS gone "
                            "ON gone.execution = old.id",
                            prefix_, table, list));
            packets_.Add(
                fmt::format("DELETE gone FROM {2} STRAIGHT_JOIN {0}{1} AS gone ON "
                            "gone.serial = named.serial",
                            prefix_, table, list));
        }
    }

    void AddPurgeOfAudit(const Purge& purge) {
        packets_.Add(fmt::format(
            "DELETE gone FROM (SELECT serial FROM {0}audit WHERE serial < {1} ORDER BY "
            "serial LIMIT {2}) AS old STRAIGHT_JOIN {0}audit AS gone ON gone.serial = "
            "old.serial",
            prefix_, SerialAt(purge.audit_before), std::min(purge.count_max, kPurgeMax)));
    }

    Packets& packets_;
    const std::string prefix_;
    const Partition partition_;
    const PurgePlan& plan_;
    const Serial once_after_;
    OnceExecutions once_;
    Executions roots_, children_;
    Statement put_tasks_, delete_tasks_, put_workers_, delete_workers_;
    Statement put_settings_, delete_settings_, put_records_, delete_records_;
    Statement append_events_, append_audit_, append_logs_;
    std::vector<const Purge*> purges_;
};

}  // namespace

BatchSql MakeBatchSql(const Batch& batch, const std::string& prefix, std::size_t packet_bytes_max,
                      const PurgePlan& plan, Serial once_after) {
    Packets packets(packet_bytes_max);
    packets.Add(TAKT_MUTANT("mysql.half_batches") ? "SET autocommit = 1" : "START TRANSACTION");
    packets.Add(fmt::format("UPDATE {}terms SET sequence = {}, last_serial = "
                            "GREATEST(last_serial, {}) WHERE partition_id = {} AND epoch = {} AND "
                            "nonce = {} AND sequence = {}",
                            prefix, batch.sequence, batch.last_serial, batch.term.partition,
                            batch.term.epoch, batch.term.nonce, batch.sequence - 1),
                1);
    const Partition partition = batch.term.partition;
    Composer composer(packets, TablePrefix(prefix, partition), partition, plan, once_after);
    for (const Change& change : batch.changes) std::visit(composer, change);
    composer.Finish();
    return packets.Finish();
}

}  // namespace takt::internal::mysql
