// The tables of a database, as a list of steps from each version to the next.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "store/mysql/connection.h"

namespace takt::internal::mysql {

// The statements that lead from version i to i + 1. Steps are only ever added; one that changes
// tables of rows has to do so for each partition that has them. The server commits each statement by
// itself, so each can be run again after a step that stopped half way; one that adds columns which
// are there is passed over.
std::vector<std::vector<std::string>> Migrations(const std::string& prefix);
// The engine and character set of all tables.
inline constexpr std::string_view kTableOptions =
    " ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
// Since this version there is the table `schedulers`.
inline constexpr std::size_t kVersionOfSchedulers = 2;
// In a statement of a step: it is for each partition that has tables, and this is their prefix, and
// that, if it is there too, its number.
inline constexpr std::string_view kEach = "<each>";
inline constexpr std::string_view kEachNumber = "<number>";

// Each partition has tables of its own for its rows, so that none walks through another's: those of
// the default one begin with the prefix of the options ("takt_"), those of 7 with "takt_7_".
std::string TablePrefix(const std::string& prefix, Partition partition);
// Makes the tables of another partition than the default one, as they are in the newest version,
// where they are not.
std::string PartitionSql(const std::string& prefix, Partition partition);
// Makes what is missing of another partition's tables if some are there: whoever made them died in the
// middle, or was of the version before and late. A read takes one that is missing for a partition
// without any rows. Throws MysqlError.
void CompleteTables(Connection& connection, const std::string& prefix, Partition partition);
// Drops them, where they are.
std::string DropSql(const std::string& prefix, Partition partition);

// Brings the tables to the newest version; several schedulers may do so at once. kInvalid if they
// are newer than the steps.
//
// Tables change only while no scheduler of an older Takt is there: it would go on writing what its
// tables were made for. While one is the answer is kUnavailable, and the caller tries again. From
// the beginning of a migration on no scheduler of another version can be elected (Leases asks for
// both rows of the table `schema`: the version, and the one that a migration leads to). Throws
// MysqlError.
Result<void> Migrate(Connection& connection, const MysqlOptions& options,
                     std::span<const std::vector<std::string>> migrations);

// Throws the MysqlError that names the missing privilege, if the user may not do with the tables
// what Takt does.
void CheckPrivileges(Connection& connection, const MysqlOptions& options);

}  // namespace takt::internal::mysql
