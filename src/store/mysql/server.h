// The server of a database: its version and settings, and the least that Takt needs.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"
#include "store/mysql/connection.h"

namespace takt::internal::mysql {

struct Server {
    std::string version;
    std::size_t packet_bytes_max = 0;  // max_allowed_packet
    bool statement_binlog = false;     // Then changes need REPEATABLE READ.
};

// kInvalid if the server is too old or its packets too small. Logs a warning for settings that can
// lose what was committed. Throws MysqlError.
Result<Server> InspectServer(Connection& connection, const MysqlOptions& options);

}  // namespace takt::internal::mysql
