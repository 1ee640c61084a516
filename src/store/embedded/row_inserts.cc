#include "store/embedded/row_inserts.h"

#include <utility>

#include "store/sql/execution_row.h"

namespace takt::internal::embedded {

RowInserts::RowInserts(Connection& connection, std::string table)
    : connection_(connection), table_(std::move(table)), one_(connection.Prepare(Sql(1))) {}

// One that meets a contradiction leaves the rows before it: the whole batch is rolled back anyhow. To
// undo but itself, SQLite would copy each page before it changes it.
std::string RowInserts::Sql(std::size_t rows) const {
    const std::string values = "(" + std::string(sql::kExecutionParameters) + ")";
    std::string sql = "INSERT OR FAIL INTO " + table_ + " (" + std::string(sql::kExecutionColumns) +
                      ") VALUES " + values;
    for (std::size_t i = 1; i < rows; ++i) sql += ", " + values;
    return sql;
}

void RowInserts::Add(const Execution& row) {
    rows_[waiting_++] = &row;
    if (waiting_ < kTogether) return;
    if (!together_) together_ = connection_.Prepare(Sql(kTogether));
    waiting_ = 0;
    Insert(together_, rows_);
}

void RowInserts::Flush() {
    const std::size_t count = std::exchange(waiting_, 0);
    for (std::size_t i = 0; i < count; ++i) Insert(one_, {&rows_[i], 1});
}

void RowInserts::Insert(Statement& statement, std::span<const Execution* const> rows) {
    const Rows reset(statement);
    for (const Execution* row : rows) sql::BindExecution(statement, *row);
    statement.Step();
}

}  // namespace takt::internal::embedded
