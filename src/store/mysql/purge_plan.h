// PlanPurge: which executions a purge deletes where runs have children. Asked for before the batch is
// written: nobody else finishes or purges executions of the partition, so what is old stays old.
#pragma once

#include <set>
#include <string>

#include "store/mysql/batch_sql.h"
#include "store/mysql/connection.h"
#include "store/store.h"

namespace takt::internal::mysql {

// Whether any finished execution of the partition has a parent. `prefix` is that of its tables.
// Throws MysqlError.
bool HasFinishedChildren(Connection& connection, const std::string& prefix);

// `kept`: old ones that the batch takes out of the history. Throws MysqlError.
PurgePlan PlanPurge(Connection& connection, const std::string& prefix, const Purge& purge,
                    const std::set<Serial>& kept);

}  // namespace takt::internal::mysql
