#include "store/mysql/batch_sql.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"
#include "model/record.h"
#include "store/mysql/values.h"
#include "store/sql/execution_row.h"

namespace takt::internal::mysql {
namespace {

// More rows in one statement gain nothing measurable. MariaDB turns an IN list of 1000 into a
// subquery, whose plan may be a scan.
constexpr std::size_t kRowsMax = 500;
// A CASE is searched from its beginning for each row, so its cost grows with the square of this.
constexpr std::size_t kUpdateRowsMax = 64;
constexpr std::size_t kStatementBytesMax = 256 << 10;

// Puts statements into packets.
class Packets {
  public:
    explicit Packets(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    // `matched`: how many rows it must find.
    void Add(std::string_view statement, std::size_t matched) {
        Append(fmt::format("{};SELECT IF(ROW_COUNT()={},1,(SELECT 1 UNION ALL SELECT 2))",
                           statement, matched),
               2);
    }
    void Add(std::string_view statement) { Append(statement, 1); }

    BatchSql Finish() {
        Append("COMMIT", 1);
        sql_.commit_statement = statements_ - 1;
        return std::move(sql_);
    }

  private:
    void Append(std::string_view text, std::size_t statements) {
        if (sql_.packets.empty() || sql_.packets.back().size() + text.size() + 1 > bytes_max_) {
            sql_.packets.emplace_back();
            statements_ = 0;
        }
        std::string& packet = sql_.packets.back();
        if (!packet.empty()) packet += ';';
        packet += text;
        statements_ += statements;
    }

    const std::size_t bytes_max_;
    std::size_t statements_ = 0;  // In the last packet.
    BatchSql sql_;
};

// The text around the rows of a statement.
struct Frame {
    std::string head;
    std::string_view separator;
    std::string tail;
    bool checked = false;  // Each row must find one row of the table.
};

// One kind of change of the batch, as statements of many rows each.
class Statement {
  public:
    Statement(Packets& packets, Frame frame) : packets_(packets), frame_(std::move(frame)) {}

    // `write` appends the row to the string that it is given.
    template <typename Write>
    void Add(Write write) {
        row_.clear();
        write(row_);
        const bool full = rows_ == kRowsMax || text_.size() + row_.size() > kStatementBytesMax;
        if (rows_ > 0 && full) Flush();
        text_ += rows_ == 0 ? std::string_view(frame_.head) : frame_.separator;
        text_ += row_;
        ++rows_;
    }

    void Flush() {
        if (rows_ == 0) return;
        text_ += frame_.tail;
        frame_.checked ? packets_.Add(text_, rows_) : packets_.Add(text_);
        text_.clear();
        rows_ = 0;
    }

  private:
    Packets& packets_;
    const Frame frame_;
    std::string text_;
    std::string row_;
    std::size_t rows_ = 0;
};

constexpr std::size_t kExecutionColumnCount = 29;

// Executions that enter a table. Parsing is half of the server's work, so columns in which all rows
// have their default (0 or NULL) are left out.
class ExecutionInsert {
  public:
    ExecutionInsert(Packets& packets, std::string table)
        : packets_(packets), table_(std::move(table)) {}

    void Add(const Execution& row) {
        if (grid_.rows() == kRowsMax || grid_.bytes() > kStatementBytesMax) Flush();
        sql::BindExecution(grid_, row);
    }

    void Flush() {
        if (grid_.rows() == 0) return;
        static const std::vector<std::string_view> names = ColumnNames();
        std::vector<std::size_t> columns;
        std::string text = "INSERT INTO " + table_ + " (";
        for (std::size_t c = 0; c < grid_.columns(); ++c) {
            const std::string_view first = grid_.At(0, c);
            if ((first == "0" || first == "NULL") && grid_.IsSame(c)) continue;
            if (!columns.empty()) text += ',';
            text += names[c];
            columns.push_back(c);
        }
        text += ") VALUES ";
        for (std::size_t row = 0; row < grid_.rows(); ++row) {
            text += row == 0 ? "(" : "),(";
            for (const std::size_t c : columns) {
                if (c != columns.front()) text += ',';
                text += grid_.At(row, c);
            }
        }
        packets_.Add(text + ")");
        grid_.Clear();
    }

  private:
    static std::vector<std::string_view> ColumnNames() {
        std::vector<std::string_view> names;
        std::string_view rest = sql::kExecutionColumns;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find(", "), rest.size());
            names.push_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 2, rest.size()));
        }
        TAKT_CHECK(names.size() == kExecutionColumnCount);
        return names;
    }

    Packets& packets_;
    const std::string table_;
    Grid grid_{kExecutionColumnCount};
};

// Executions that stay live. What is the same in all rows, most of it as a rule, is written once;
// what differs is chosen by the serial. (A join with the rows as a UNION was measured to be slower:
// the server plans each member like a query.)
class StateUpdate {
  public:
    StateUpdate(Packets& packets, std::string table)
        : packets_(packets), table_(std::move(table)) {}

    void Add(const Execution& row) {
        if (grid_.rows() == kUpdateRowsMax || grid_.bytes() > kStatementBytesMax) Flush();
        grid_.Int(static_cast<std::int64_t>(row.serial));
        sql::BindState(grid_, row);
    }

    void Flush() {
        const std::size_t rows = grid_.rows();
        if (rows == 0) return;
        std::string text = "UPDATE " + table_;
        for (std::size_t c = 1; c < kNames.size(); ++c) {
            text += c == 1 ? " SET " : ",";
            text += kNames[c];
            text += '=';
            if (grid_.IsSame(c)) {
                text += grid_.At(0, c);
                continue;
            }
            text += "CASE serial";
            for (std::size_t row = 0; row < rows; ++row) {
                text += " WHEN ";
                text += grid_.At(row, 0);
                text += " THEN ";
                text += grid_.At(row, c);
            }
            text += " END";
        }
        for (std::size_t row = 0; row < rows; ++row) {
            text += row == 0 ? " WHERE serial IN (" : ",";
            text += grid_.At(row, 0);
        }
        packets_.Add(text + ")", rows);
        grid_.Clear();
    }

  private:
    // The order of sql::kStateAssignments.
    static constexpr std::array<std::string_view, 12> kNames = {
        "serial", "status", "attempt",     "failures",      "losses",         "epoch",
        "token",  "worker", "ready_at_ms", "started_at_ms", "finished_at_ms", "outcome"};

    Packets& packets_;
    const std::string table_;
    Grid grid_{kNames.size()};
};

// Collects the changes of a batch by kind, and writes them kind by kind: no two of them are of one
// row, so their order does not matter, but rows must leave a table before others may have their
// ids.
class Composer {
  public:
    Composer(Packets& packets, const std::string& prefix, Partition partition)
        : packets_(packets),
          prefix_(prefix),
          partition_(partition),
          delete_live_(packets, Delete("live")),
          delete_history_(packets, Delete("history")),
          insert_live_(packets, prefix + "live"),
          insert_history_(packets, prefix + "history"),
          update_live_(packets, prefix + "live"),
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
          append_events_(packets, Insert("events", "serial, type, record")),
          append_logs_(packets, Insert("logs", "execution, chunk, attempt, at_ms, content")) {}

    void operator()(const ExecutionChange& change) {
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

    void operator()(const RecordPut&) {}
    void operator()(const AuditAppend&) {}
    void operator()(const Purge& change) { purges_.push_back(&change); }

    void Finish() {
        delete_live_.Flush();
        delete_history_.Flush();
        insert_live_.Flush();
        insert_history_.Flush();
        update_live_.Flush();
        for (Statement* statement :
             {&delete_tasks_, &put_tasks_, &delete_workers_, &put_workers_, &delete_settings_,
              &put_settings_, &append_events_, &append_logs_}) {
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

    Frame Delete(std::string_view table) {
        return {fmt::format("DELETE FROM {}{} WHERE serial IN (", prefix_, table), ",", ")", true};
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

    // The same rows are chosen for both deletions: nobody else finishes executions of the
    // partition.
    void AddPurge(const Purge& purge) {
        const std::uint32_t count_max = std::min(purge.count_max, kPurgeMax);
        const std::string old = fmt::format(
            "(SELECT serial, id FROM {}history FORCE INDEX (history_finished) WHERE "
            "finished_at_ms < {} AND (serial >> 14) & 255 = {} ORDER BY finished_at_ms, serial "
            "LIMIT {}) AS old",
            prefix_, sql::Ms(purge.finished_before), partition_, count_max);
        packets_.Add(fmt::format(
            "DELETE gone FROM {} STRAIGHT_JOIN {}logs AS gone ON gone.execution = old.id", old,
            prefix_));
        packets_.Add(fmt::format(
            "DELETE gone FROM {} STRAIGHT_JOIN {}history AS gone ON gone.serial = old.serial", old,
            prefix_));
        packets_.Add(fmt::format(
            "DELETE gone FROM (SELECT serial FROM {0}events WHERE serial < {1} AND "
            "(serial >> 14) & 255 = {2} ORDER BY serial LIMIT {3}) AS old STRAIGHT_JOIN "
            "{0}events AS gone ON gone.serial = old.serial",
            prefix_, SerialAt(purge.events_before), partition_, count_max));
    }

    Packets& packets_;
    const std::string& prefix_;
    const Partition partition_;
    Statement delete_live_, delete_history_;
    ExecutionInsert insert_live_, insert_history_;
    StateUpdate update_live_;
    Statement put_tasks_, delete_tasks_, put_workers_, delete_workers_;
    Statement put_settings_, delete_settings_, append_events_, append_logs_;
    std::vector<const Purge*> purges_;
};

}  // namespace

BatchSql MakeBatchSql(const Batch& batch, const std::string& prefix, std::size_t packet_bytes_max) {
    Packets packets(packet_bytes_max);
    packets.Add("START TRANSACTION");
    packets.Add(fmt::format("UPDATE {}terms SET sequence = {}, last_serial = "
                            "GREATEST(last_serial, {}) WHERE partition_id = {} AND epoch = {} AND "
                            "nonce = {} AND sequence = {}",
                            prefix, batch.sequence, batch.last_serial, batch.term.partition,
                            batch.term.epoch, batch.term.nonce, batch.sequence - 1),
                1);
    Composer composer(packets, prefix, batch.term.partition);
    for (const Change& change : batch.changes) std::visit(composer, change);
    composer.Finish();
    return packets.Finish();
}

}  // namespace takt::internal::mysql
