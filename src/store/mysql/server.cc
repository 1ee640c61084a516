#include "store/mysql/server.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>

#include "base/log.h"

namespace takt::internal::mysql {
namespace {

// The largest row has a task's payload, what overrides it and a result, of a megabyte each. Escaped
// that may be twice as much, and the other rows of its statement are a quarter of a megabyte.
constexpr std::size_t kPacketBytesMin = 8 << 20;

// "10.11.19-MariaDB-…" and "8.0.36": major * 1000 + minor.
int VersionNumber(std::string_view version) {
    int major = 0;
    int minor = 0;
    const char* end = version.data() + version.size();
    const auto dot = std::from_chars(version.data(), end, major).ptr;
    if (dot != end) std::from_chars(dot + 1, end, minor);
    return major * 1000 + minor;
}

}  // namespace

Result<Server> InspectServer(Connection& connection, const MysqlOptions& options) {
    // Not as @@variables: asking for one that a version does not have would be an error.
    std::map<std::string, std::string, std::less<>> settings;
    Rows rows = connection.Query(
        "SHOW VARIABLES WHERE Variable_name IN ('version', 'max_allowed_packet', 'log_bin', "
        "'binlog_format', 'sync_binlog', 'innodb_flush_log_at_trx_commit', 'wsrep_on')");
    while (rows.Next()) settings.emplace(rows.Bytes(0), rows.Bytes(1));
    Server server{
        .version = settings["version"],
        .packet_bytes_max = std::strtoull(settings["max_allowed_packet"].c_str(), nullptr, 10),
        .statement_binlog =
            settings["log_bin"] == "ON" && settings["binlog_format"] == "STATEMENT"};
    const bool mariadb = server.version.contains("MariaDB");
    if (VersionNumber(server.version) < (mariadb ? 10'006 : 8'000)) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("{} is version {}; Takt needs MySQL 8.0 or MariaDB 10.6, or newer",
                                Describe(options), server.version),
                    "store");
    }
    if (server.packet_bytes_max < kPacketBytesMin) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("{} takes packets of at most {} bytes; set max_allowed_packet to "
                                "{} or more",
                                Describe(options), server.packet_bytes_max, kPacketBytesMin),
                    "store");
    }
    if (settings["innodb_flush_log_at_trx_commit"] != "1") {
        Log(LogLevel::kWarning, "store",
            "the server loses the last second of commits in a crash: "
            "innodb_flush_log_at_trx_commit is not 1",
            {{"store", Describe(options)}});
    }
    if (settings["log_bin"] == "ON" && settings["sync_binlog"] != "1") {
        Log(LogLevel::kWarning, "store",
            "a replica can miss commits after a crash of the server: sync_binlog is not 1",
            {{"store", Describe(options)}});
    }
    if (settings["wsrep_on"] == "ON") {
        Log(LogLevel::kWarning, "store",
            "Galera is not supported: its nodes do not share locks; let all schedulers use one "
            "node",
            {{"store", Describe(options)}});
    }
    return server;
}

}  // namespace takt::internal::mysql
