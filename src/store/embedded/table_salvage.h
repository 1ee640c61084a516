// TableSalvage: takes the rows of one table out of a damaged file, by the table's trees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/embedded/salvage.h"
#include "store/embedded/sqlite.h"

namespace takt::internal::embedded {

// Puts a row as it is into a table of the new file; one that contradicts another, or itself, is
// left out. A row of an older version may have fewer columns: the others have their defaults.
class RowPut {
  public:
    RowPut(Connection& to, const std::string& table, int columns);
    // Whether the table has so many columns; if not, there is nothing to run.
    bool fits() const { return fits_; }
    // For its columns, from the left; then Run.
    Statement& statement() { return put_; }
    // Whether it was taken. Throws SqliteError.
    bool Run();

  private:
    Connection& to_;
    const bool fits_;
    Statement put_;
};

// Takes one table from a damaged file to one that has the same table, empty. A page that cannot be
// read ends a walk through the table; a search for a row beyond it comes to that row by other pages.
// So it walks, and after each gap searches for where it can go on.
class TableSalvage {
  public:
    using RowId = std::int64_t;

    TableSalvage(Connection& from, Connection& to, std::string table)
        : from_(from), to_(to), table_(std::move(table)) {}

    // Stretches that could not be read, at least so many. Throws SqliteError if the new file cannot be
    // written.
    std::uint64_t Run();

  private:
    enum class Seen : std::uint8_t { kRow, kEnd, kDamage };

    bool HasRowIds();
    // The damaged file's answer; a table that it has lost is damage.
    std::optional<Statement> Ask(const std::string& sql) const;
    static Seen StepTo(Statement& rows);
    void Put(const Row& row, int first_column, bool forward);
    // From `at` on, which it moves behind the last row that it read; whether it came to the end.
    bool Walk(RowId& at, bool forward);
    // A table without row ids is walked by its keys, from an end.
    bool WalkKeys(bool forward);
    // The first row from there on, whose other columns may be damaged.
    Seen LookAt(RowId at, bool forward, RowId* found = nullptr);
    // The nearest place behind `at` from which the table can be read; nothing if there is none.
    std::optional<RowId> Beyond(RowId at, bool forward);
    void WalkAll(bool forward);
    // By the index that each id or key has; a table without one has no other way in.
    void WalkIndex();
    void TakeRow(RowId id);

    Connection& from_;
    Connection& to_;
    const std::string table_;
    std::optional<RowPut> put_;
    std::uint64_t gaps_ = 0;
};

}  // namespace takt::internal::embedded
