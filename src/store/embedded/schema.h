// The tables of takt.db, as a list of steps from each version to the next.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "store/embedded/sqlite.h"

namespace takt::internal::embedded {

// "TAKT": tells our file from any other SQLite database.
constexpr std::int64_t kApplicationId = 0x54414B54;

// The SQL that leads from version i to i + 1. Steps are only ever added.
std::span<const std::string> Migrations();

// Brings the database to the newest version; each step is one transaction. kInvalid, naming `path`,
// if it is newer than the steps or not one of ours. Throws SqliteError.
Result<void> Migrate(Connection& connection, const std::string& path,
                     std::span<const std::string> migrations);

}  // namespace takt::internal::embedded
