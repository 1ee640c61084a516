// Errors of the server and their meaning: a code that callers act on and a sentence that operators
// act on.
#pragma once

#include "base/error.h"
#include "store/mysql/connection.h"

namespace takt::internal::mysql {

// Nothing was applied: kUnavailable, or kInvalid if the rows contradict what was to be written.
Error Judge(const MysqlError& error, const MysqlOptions& options);

// At the opening of a store: kInvalid for what only an operator can put right, else kUnavailable.
Error JudgeOpening(const MysqlError& error, const MysqlOptions& options);

}  // namespace takt::internal::mysql
