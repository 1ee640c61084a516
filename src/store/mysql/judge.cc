#include "store/mysql/judge.h"

#include <errmsg.h>
#include <fmt/core.h>
#include <mysqld_error.h>

namespace takt::internal::mysql {
namespace {

// Numbers that only MySQL has.
constexpr unsigned kGroupReplicationRefuses = 3100;
constexpr unsigned kExecutionTimeout = 3024;
// And one that only MariaDB has.
constexpr unsigned kStatementTimeout = 1969;

Error Unavailable(std::string detail) {
    return {ErrorCode::kUnavailable, std::move(detail), {}};
}

bool IsPrivilege(unsigned code) {
    return code == ER_TABLEACCESS_DENIED_ERROR || code == ER_COLUMNACCESS_DENIED_ERROR ||
           code == ER_DBACCESS_DENIED_ERROR || code == ER_SPECIFIC_ACCESS_DENIED_ERROR;
}

bool IsTime(unsigned code) {
    return code == kExecutionTimeout || code == kStatementTimeout || code == kNoAnswer;
}

Error JudgeTime(const MysqlError& error, const MysqlOptions& options, const std::string& where) {
    if (error.code() == kNoAnswer) {
        return Unavailable(fmt::format("{} did not answer within {} s: {}", where,
                                       options.timeout.count(), error.what()));
    }
    return Unavailable(fmt::format(
        "reading from {} took too long, and the server ended it; narrow the time range or the "
        "filter",
        where));
}

}  // namespace

Error Judge(const MysqlError& error, const MysqlOptions& options) {
    const std::string where = Describe(options);
    if (IsTime(error.code())) return JudgeTime(error, options, where);
    switch (error.code()) {
        case ER_OPTION_PREVENTS_STATEMENT:
        case kReadOnlyMode:
        case kReadOnlyTransaction:
            return Unavailable(fmt::format(
                "{} is read-only ({}); it is a replica or being switched over: point --store at "
                "the primary, or wait until this one takes writes",
                where, error.what()));
        case ER_LOCK_DEADLOCK:
        case ER_LOCK_WAIT_TIMEOUT:
            return Unavailable(
                fmt::format("other sessions of {} keep rows locked ({}); look for them with SHOW "
                            "PROCESSLIST",
                            where, error.what()));
        case ER_DUP_ENTRY:
        case ER_DATA_TOO_LONG:
        case ER_BAD_NULL_ERROR:
        case ER_TRUNCATED_WRONG_VALUE_FOR_FIELD:
        case ER_WARN_DATA_OUT_OF_RANGE:
            return {ErrorCode::kInvalid,
                    fmt::format("the batch contradicts the stored rows: {}", error.what()),
                    {}};
        case ER_RECORD_FILE_FULL:
        case ER_DISK_FULL:
            return Unavailable(
                fmt::format("the disk of {} is full ({}); free some space there, Takt goes on by "
                            "itself",
                            where, error.what()));
        case ER_NO_SUCH_TABLE:
            return Unavailable(fmt::format(
                "a table of {} is gone ({}); restore it, or restart Takt to begin with empty ones",
                where, error.what()));
        case ER_TABLE_DEF_CHANGED:
            return Unavailable(
                fmt::format("a table of {} was dropped or made anew while it was being read ({}); "
                            "try again",
                            where, error.what()));
        case ER_ACCESS_DENIED_ERROR:
            return Unavailable(fmt::format(
                "{} refuses user and password ({}); correct them in --store", where, error.what()));
        case ER_BAD_DB_ERROR:
            return Unavailable(
                fmt::format("there is no database {0} at {1}; an administrator creates it with "
                            "CREATE DATABASE `{0}` CHARACTER SET utf8mb4",
                            options.database, where));
        case ER_NET_PACKET_TOO_LARGE:
            return Unavailable(fmt::format(
                "{} does not take packets as large as it did when Takt started ({}); set "
                "max_allowed_packet as it was",
                where, error.what()));
        case kGroupReplicationRefuses:
            return Unavailable(fmt::format("{} cannot commit: {}", where, error.what()));
        default:
            break;
    }
    if (IsPrivilege(error.code())) {
        return Unavailable(
            fmt::format("the user {0} lacks a privilege at {1}: {2}; an administrator grants it "
                        "with GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP ON "
                        "`{3}`.* TO the user",
                        options.user, where, error.what(), options.database));
    }
    if (error.lost()) {
        return Unavailable(fmt::format("no connection to {}: {}", where, error.what()));
    }
    return Unavailable(fmt::format("{} answers error {}: {}", where, error.code(), error.what()));
}

Error JudgeOpening(const MysqlError& error, const MysqlOptions& options) {
    Error verdict = Judge(error, options);
    const bool operators = error.code() == ER_ACCESS_DENIED_ERROR ||
                           error.code() == ER_BAD_DB_ERROR || IsPrivilege(error.code()) ||
                           error.code() == CR_SSL_CONNECTION_ERROR;
    if (operators) verdict = {ErrorCode::kInvalid, std::move(verdict.detail), "store"};
    return verdict;
}

}  // namespace takt::internal::mysql
