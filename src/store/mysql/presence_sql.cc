#include "store/mysql/presence_sql.h"

#include <fmt/core.h>

#include <algorithm>

#include "store/mysql/values.h"

namespace takt::internal::mysql {

std::string LockName(const MysqlOptions& options, std::string_view node) {
    return fmt::format("CONCAT('takt:', LEFT(SHA2({}, 256), 16), ':', LEFT(SHA2({}, 256), 32))",
                       TextLiteral(options.database + "." + options.prefix), node);
}

std::string AnnouncedQuery(const MysqlOptions& options) {
    return fmt::format(
        "SELECT node, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), expires) DIV 1000 AS left_ms, "
        "ttl_ms, locked AND IFNULL(IS_FREE_LOCK({}), 0) AS is_free FROM {}schedulers WHERE "
        "expires > UTC_TIMESTAMP(3)",
        LockName(options, "node"), options.prefix);
}

// A year is as good as for ever, and keeps the sum a date.
std::string After(Duration ttl) {
    constexpr Duration kTtlMax = std::chrono::hours(24 * 365);
    return fmt::format("UTC_TIMESTAMP(3) + INTERVAL {} MICROSECOND",
                       std::chrono::microseconds(std::clamp(ttl, Duration(0), kTtlMax)).count());
}

}  // namespace takt::internal::mysql
