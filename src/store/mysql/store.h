// The store in a MySQL 8.0 or MariaDB 10.6 database, or newer: several schedulers, one of which
// leads.
//
// Blocking calls on threads of their own: one with the connection for leadership, one with that for
// commits, and a pool for reads. Tables, settings and what can be lost: docs/stores/mysql.md.
#pragma once

#include <memory>
#include <string_view>

#include "store/mysql/options.h"
#include "store/store.h"

namespace takt::internal {

// Connects and makes the tables if they are not there. kInvalid, with a sentence for the operator,
// if the server refuses us, is too old, or holds tables of a newer Takt; kUnavailable if it cannot
// be reached now.
Result<std::unique_ptr<Store>> OpenMysql(const MysqlOptions& options);

// See ParseMysqlUrl.
Result<std::unique_ptr<Store>> OpenMysql(std::string_view url);

}  // namespace takt::internal
