// The statements for `once_live`, where executions of one-off tasks with generated ids wait and run:
// as few rows, index entries and bytes as a lifecycle can do with.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "store/mysql/batch_statements.h"
#include "store/mysql/values.h"
#include "store/sql/execution_row.h"

namespace takt::internal::mysql {

// Whether the table of a live execution is `once_live`. What was there before the table was, up to
// the serial `once_after`, stays in `live`.
inline bool IsOnce(const Execution& row, Serial once_after) {
    return row.serial > once_after && row.parent.empty() && row.task->id.text() == row.id.text() &&
           row.id.view() == SerialText(row.serial);
}

// Executions that stay live: rows of what differs between them, as if to be inserted, which find
// theirs by the key. Each counts twice, for it changes at least `writes`; one that was not there
// would be inserted and count once.
class OnceUpdate {
  public:
    OnceUpdate(Packets& packets, std::string table) : packets_(packets), table_(std::move(table)) {}

    void Add(const Execution& row) {
        if (grid_.rows() == kRowsMax || grid_.bytes() > kStatementBytesMax) Flush();
        grid_.Int(static_cast<std::int64_t>(row.serial));
        sql::BindState(grid_, row);
    }

    void Flush() {
        const std::size_t rows = grid_.rows();
        if (rows == 0) return;
        std::string names = "serial";
        std::string changes = "writes=writes+1,room=''";
        std::vector<std::size_t> columns = {0};
        for (std::size_t c = 1; c < kStateNames.size(); ++c) {
            const std::string_view name = kStateNames[c];
            ((changes += ',') += name) += '=';
            if (grid_.IsSame(c)) {
                changes += grid_.At(0, c);
                continue;
            }
            ((changes += "VALUES(") += name) += ')';
            (names += ',') += name;
            columns.push_back(c);
        }
        std::string text = "INSERT INTO " + table_ + " (" + names + ") VALUES ";
        AppendRows(text, grid_, columns);
        packets_.Add(text + " ON DUPLICATE KEY UPDATE " + changes, 2 * rows);
        grid_.Clear();
    }

  private:
    Packets& packets_;
    const std::string table_;
    Grid grid_{kStateNames.size()};
};

// Executions that end. The server copies what does not change, and is told the rest: what is the same
// in all rows as it is, what differs as a table made of JSON.
class OnceFinish {
  public:
    // `prefix` is that of both tables.
    OnceFinish(Packets& packets, const std::string& prefix)
        : packets_(packets),
          from_(prefix + "once_live"),
          to_(prefix + "history"),
          delete_(packets, DeleteBySerial(from_)) {}

    // Results in JSON are twice as long, and read twice.
    static bool Takes(const Execution& row) {
        constexpr std::size_t kOutcomeMax = 512;
        const std::string_view worker = row.worker.view();
        if (!row.progress.empty() || worker.size() > kIdBytesMax || !IsPlainJson(worker)) {
            return false;
        }
        const Outcome* outcome = row.outcome.get();
        return !outcome || (outcome->past.empty() &&
                            outcome->message.size() + outcome->data.size() <= kOutcomeMax);
    }

    // REQUIRES: Takes(row).
    void Add(const Execution& row) {
        if (grid_.rows() == kRowsMax || grid_.bytes() > kStatementBytesMax) Flush();
        if (grid_.rows() == 0) {
            first_.Int(static_cast<std::int64_t>(row.serial));
            sql::BindState(first_, row);
        }
        grid_.Int(static_cast<std::int64_t>(row.serial));
        sql::BindState(grid_, row);
        delete_.Add([&](std::string& to) { AppendUnsigned(to, row.serial); });
    }

    void Flush() {
        const std::size_t rows = grid_.rows();
        if (rows == 0) return;
        std::string columns = "serial BIGINT UNSIGNED PATH '$[0]'";
        std::vector<std::size_t> differing = {0};
        std::array<std::string, kStateNames.size()> values;
        for (std::size_t c = 1; c < kStateNames.size(); ++c) {
            if (grid_.IsSame(c)) {
                values[c] = first_.At(0, c);
                continue;
            }
            const Form form = FormOf(kStateNames[c]);
            values[c] = fmt::format(fmt::runtime(form.value), kStateNames[c]);
            columns += fmt::format(",{} {} PATH '$[{}]' ERROR ON ERROR", kStateNames[c], form.type,
                                   differing.size());
            differing.push_back(c);
        }
        std::string text = fmt::format("INSERT INTO {} ({}) SELECT ", to_, sql::kExecutionColumns);
        for (const std::string_view name : ExecutionColumnNames()) {
            if (name != "serial") text += ',';
            const auto* state = std::ranges::find(kStateNames, name);
            if (name != "serial" && state != kStateNames.end()) {
                text += values[static_cast<std::size_t>(state - kStateNames.begin())];
            } else {
                (text += "was.") += name;
            }
        }
        text += " FROM JSON_TABLE('[";
        AppendRows(text, grid_, differing, "[]");
        packets_.Add(fmt::format("{}]','$[*]' COLUMNS({})) AS named STRAIGHT_JOIN {} AS was ON "
                                 "was.serial = named.serial",
                                 text, columns, from_),
                     rows);
        grid_.Clear();
        first_.Clear();
        delete_.Flush();
    }

  private:
    // How a column is in the table made of JSON, and its value in the history.
    struct Form {
        std::string_view type, value;
    };
    static Form FormOf(std::string_view column) {
        if (column == "status" || column == "worker") {
            return {"VARCHAR(64)", "NULLIF(named.{},'')"};
        }
        if (column == "token") return {"VARCHAR(32)", "UNHEX(NULLIF(named.{},''))"};
        if (column == "outcome") return {"VARCHAR(4000)", "UNHEX(NULLIF(named.{},''))"};
        return {"BIGINT", "named.{}"};
    }

    Packets& packets_;
    const std::string from_, to_;
    JsonGrid grid_{kStateNames.size()};
    Grid first_{kStateNames.size()};  // The first row of the statement.
    Statement delete_;
};

// Changes of executions of which live ones are in `once_live`. History is that of all roots.
class OnceExecutions {
  public:
    OnceExecutions(Packets& packets, const std::string& prefix)
        : finish_(packets, prefix),
          delete_live_(packets, DeleteBySerial(prefix + "once_live")),
          delete_history_(packets, DeleteBySerial(prefix + "history")),
          insert_live_(packets, prefix + "once_live"),
          insert_history_(packets, prefix + "history"),
          update_(packets, prefix + "once_live") {}

    void Add(const ExecutionChange& change) {
        const Execution& row = change.row;
        const bool lives = change.after == Place::kLive;
        if (change.before == Place::kLive) {
            if (lives) return update_.Add(row);
            if (OnceFinish::Takes(row)) return finish_.Add(row);
        }
        if (change.before != Place::kNone) {
            Statement& leave = change.before == Place::kLive ? delete_live_ : delete_history_;
            leave.Add([&](std::string& to) { AppendUnsigned(to, row.serial); });
        }
        (lives ? insert_live_ : insert_history_).Add(row);
    }

    void Flush() {
        finish_.Flush();
        delete_live_.Flush();
        delete_history_.Flush();
        insert_live_.Flush();
        insert_history_.Flush();
        update_.Flush();
    }

  private:
    OnceFinish finish_;
    Statement delete_live_, delete_history_;
    ExecutionInsert insert_live_, insert_history_;
    OnceUpdate update_;
};

}  // namespace takt::internal::mysql
