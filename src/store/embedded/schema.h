// The tables of takt.db, as a list of steps from each version to the next.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "store/embedded/sqlite.h"

namespace takt::internal::embedded {

// "TAKT": tells our file from any other SQLite database.
constexpr std::int64_t kApplicationId = 0x54414B54;

// The SQL that leads from version i to i + 1. Steps are only ever added; one that changes tables of
// rows does so for each partition that has them.
std::span<const std::string> Migrations();
// A step as it is for one partition.
std::string StepSql(const std::string& step, Partition partition);

// Each partition has tables of its own for its rows, so that none walks through another's: those of
// the default one have no prefix, those of 7 begin with "p7_".
std::string TablePrefix(Partition partition);
// The partition whose prefix a table's name has.
Partition PartitionOfTable(std::string_view table);
// Makes the tables of another partition than the default one, as they are in the newest version.
std::string PartitionSql(Partition partition);
// The names of a partition's tables, with their prefix.
std::vector<std::string> PartitionTables(Partition partition);

// Brings the database to the newest version; each step is one transaction, so that one which was
// interrupted is done again. The log tells how long it takes. kInvalid, naming `path`,
// if it is newer than the steps or not one of ours. Throws SqliteError.
Result<void> Migrate(Connection& connection, const std::string& path,
                     std::span<const std::string> migrations);

}  // namespace takt::internal::embedded
