// SQL about schedulers that are announced, for the parts that ask for them.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "store/mysql/options.h"

namespace takt::internal::mysql {

// The lock of a scheduler, `node` being an expression for its id. Locks are the whole server's, and
// MySQL takes names of up to 64 characters: the server's own hash tells long ones apart.
std::string LockName(const MysqlOptions& options, std::string_view node);

// A query for those that are announced: node, left_ms, ttl_ms, is_free (see Announced).
std::string AnnouncedQuery(const MysqlOptions& options);

// The moment when a ttl from now is over.
std::string After(Duration ttl);

}  // namespace takt::internal::mysql
