// RowInserts: new rows of one table of executions, several with each statement. SQLite then opens the
// table and its indexes once for all of them, and looks for the place of a row from where it put the
// one before.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "model/execution.h"
#include "store/embedded/sqlite.h"

namespace takt::internal::embedded {

class RowInserts {
  public:
    // With four a task costs SQLite 0.8 of what it does with one, with sixteen 0.73, with 32 no less.
    static constexpr std::size_t kTogether = 16;

    // Throws SqliteError, as all of it.
    RowInserts(Connection& connection, std::string table);

    // Forgets rows of a batch that came to nothing.
    void Begin() { waiting_ = 0; }
    // `row` must stay where it is until Flush.
    void Add(const Execution& row);
    // Writes those that wait for more.
    void Flush();

  private:
    std::string Sql(std::size_t rows) const;
    static void Insert(Statement& statement, std::span<const Execution* const> rows);

    Connection& connection_;
    const std::string table_;
    Statement one_;
    Statement together_;  // Made when it is needed first: most partitions never have so many.
    std::array<const Execution*, kTogether> rows_{};
    std::size_t waiting_ = 0;
};

}  // namespace takt::internal::embedded
