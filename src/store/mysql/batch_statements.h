// The statements that a batch is made of: each of many rows, put into packets.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "store/mysql/batch_sql.h"
#include "store/mysql/values.h"
#include "store/sql/execution_row.h"

namespace takt::internal::mysql {

// More rows in one statement gain nothing measurable.
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

// Around the serials of rows to delete: a table of them, with which another is joined by its key. For
// an IN list the server scans a table that it takes for small; while a backup reads an old state
// that may hold all that was ever deleted.
constexpr std::string_view kSerialsBegin = "JSON_TABLE('[";
constexpr std::string_view kSerialsEnd =
    "]','$[*]' COLUMNS(serial BIGINT UNSIGNED PATH '$')) AS named";

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

// Deletes rows by their serials, each of which must be there.
inline Frame DeleteBySerial(const std::string& table) {
    return {fmt::format("DELETE gone FROM {}", kSerialsBegin), ",",
            fmt::format("{} STRAIGHT_JOIN {} AS gone ON gone.serial = named.serial", kSerialsEnd,
                        table),
            true};
}

constexpr std::size_t kExecutionColumnCount = 35;
inline const std::vector<std::string_view>& ExecutionColumnNames() {
    static const std::vector<std::string_view> kNames = [] {
        std::vector<std::string_view> names;
        std::string_view rest = sql::kExecutionColumns;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find(", "), rest.size());
            names.push_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 2, rest.size()));
        }
        TAKT_CHECK(names.size() == kExecutionColumnCount);
        return names;
    }();
    return kNames;
}

// The key, and the order of sql::kStateAssignments.
inline constexpr std::array<std::string_view, 13> kStateNames = {
    "serial", "status",      "attempt",       "failures",       "losses",  "epoch",   "token",
    "worker", "ready_at_ms", "started_at_ms", "finished_at_ms", "outcome", "progress"};

// The rows with these columns alone, each between the two brackets.
inline void AppendRows(std::string& to, const Grid& grid, const std::vector<std::size_t>& columns,
                       std::string_view brackets = "()") {
    for (std::size_t row = 0; row < grid.rows(); ++row) {
        if (row > 0) to += ',';
        to += brackets[0];
        for (const std::size_t c : columns) {
            if (c != columns.front()) to += ',';
            to += grid.At(row, c);
        }
        to += brackets[1];
    }
}

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
        const std::vector<std::string_view>& names = ExecutionColumnNames();
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
        AppendRows(text, grid_, columns);
        packets_.Add(text);
        grid_.Clear();
    }

  private:
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
        // Without the hint it may scan, as kSerialsBegin tells.
        std::string text = "UPDATE " + table_ + " FORCE INDEX (PRIMARY)";
        for (std::size_t c = 1; c < kStateNames.size(); ++c) {
            text += c == 1 ? " SET " : ",";
            text += kStateNames[c];
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
    Packets& packets_;
    const std::string table_;
    Grid grid_{kStateNames.size()};
};

}  // namespace takt::internal::mysql
