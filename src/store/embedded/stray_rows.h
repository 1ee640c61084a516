// StrayRows: rows of a damaged file that its trees do not lead to any more, told by their columns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

#include "base/id.h"
#include "store/embedded/page_file.h"
#include "store/embedded/sqlite.h"
#include "store/embedded/table_salvage.h"

namespace takt::internal::embedded {

struct StrayOptions {
    // Tables of the new file that have gaps: of all others each row is there.
    std::set<std::string> broken;
    // The list of tables has gaps too: a partition that it does not name may be one of them.
    bool tables_lost = false;
    // The damaged file was written by a SQLite that erases what it deletes. Otherwise a page may hold
    // rows that were deleted long ago, and those that would run again are left where they are.
    bool erased = false;
};

class StrayRows {
  public:
    StrayRows(Connection& to, StrayOptions options) : to_(to), options_(std::move(options)) {}

    // Puts executions, definitions, events and audit lines into their tables, those that live after
    // all that have ended, then the logs of executions that are there. Settings, workers and records
    // cannot be told from each other and are not among them. Throws SqliteError if the new file cannot
    // be written.
    void Take(PageFile& file);

    // Executions that a page of an index names and that are in no table.
    std::map<Partition, std::uint64_t> CountLost() const;

  private:
    void TakeRow(const FoundRow& row, bool live);
    void TakeLog(const FoundRow& row);
    void NoteNamed(const FoundRow& row);
    void Put(const std::string& table, const FoundRow& row);
    // Whether the partition has tables; makes them if they may have been lost.
    bool HasTables(Partition partition);
    // Whether an execution with that id, or that serial, is in the new file.
    bool HasExecution(Partition partition, const char* column, const FoundValue& value);
    // The one partition of all that has an execution of that id; nothing if there are more, or none.
    std::optional<Partition> OnlyHomeOf(const FoundValue& id);

    Connection& to_;
    StrayOptions options_;
    std::map<Partition, bool> partitions_;
    std::map<std::pair<std::string, std::size_t>, RowPut> puts_;
    std::map<std::string, Statement> looks_;
    std::unordered_set<Serial> lost_;
    // The last answer of OnlyHomeOf: chunks of a log stand side by side.
    std::string log_of_;
    std::optional<Partition> log_home_;
};

}  // namespace takt::internal::embedded
