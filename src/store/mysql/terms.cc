#include "store/mysql/terms.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "store/mysql/presence_sql.h"
#include "store/mysql/schema.h"
#include "store/mysql/values.h"

namespace takt::internal::mysql {
namespace {

// An election must not hold up those behind it for long when a commit of the old leader still has the
// fence.
constexpr std::string_view kSetup = "SET SESSION innodb_lock_wait_timeout = 2";

std::unexpected<Error> Conflict(std::string why) {
    return Fail(ErrorCode::kConflict, std::move(why));
}

}  // namespace

Terms::Terms(const MysqlOptions& options, LockWatch& watch)
    : options_(options),
      watch_(watch),
      session_(options, std::string(kSetup)),
      random_(NewRandomSeed()) {}

Result<Term> Terms::Acquire(const Candidate& candidate) {
    // Asking twice does no harm: the second finds that somebody has led since, and that is who asks.
    return session_.Retry([&](Connection& connection) {
        try {
            return TryAcquire(connection, candidate);
        } catch (const MysqlError& error) {
            // The rest of this attempt must not end in the next one.
            if (!error.lost()) connection.Run("ROLLBACK");
            throw;
        }
    });
}

Result<Term> Terms::TryAcquire(Connection& connection, const Candidate& candidate) {
    connection.Run(fmt::format(
        "INSERT IGNORE INTO {0}terms (partition_id, epoch, nonce, sequence, last_serial) "
        "VALUES ({1}, 0, 0, 0, 0);"
        "INSERT IGNORE INTO {0}leases (partition_id, epoch, nonce, node, address, expires, "
        "locked) VALUES ({1}, 0, 0, '', '', UTC_TIMESTAMP(3), 0);"
        "START TRANSACTION",
        options_.prefix, candidate.partition));
    Result<void> allowed = CheckVersion(connection);
    if (allowed) allowed = Judge(connection, candidate);
    if (!allowed) {
        connection.Run("ROLLBACK");
        return std::unexpected(allowed.error());
    }
    Term term{.partition = candidate.partition};
    while (term.nonce == 0) term.nonce = random_.Next();  // 0 is that of a term that was resigned.
    Begin(connection, candidate, term);
    return term;
}

Result<void> Terms::Judge(Connection& connection, const Candidate& candidate) {
    LeaderRow last;
    {
        Rows row = connection.Query(
            fmt::format("SELECT node, epoch, nonce, expires > UTC_TIMESTAMP(3) FROM {}leases "
                        "WHERE partition_id = {} FOR UPDATE",
                        options_.prefix, candidate.partition));
        TAKT_CHECK(row.Next());
        last = {.node = NodeId(Text(row.Bytes(0))),
                .epoch = row.Unsigned(1),
                .nonce = row.Unsigned(2),
                .announced = row.Int(3) != 0};
    }
    if (!Announced(connection, candidate.node)) {
        return Conflict(candidate.node.text().str() + " is not announced");
    }
    const bool other = last.nonce != 0 && last.node != candidate.node;
    if (other && (last.announced || Announced(connection, last.node))) {
        return Conflict(last.node.text().str() + " leads");
    }
    const LeaderRow read = candidate.replaced.value_or(LeaderRow{});
    if (last.epoch != read.epoch || last.nonce != read.nonce) {
        return Conflict("somebody has led since that was read");
    }
    return {};
}

bool Terms::Announced(Connection& connection, const NodeId& node) {
    Rows row = connection.Query(
        fmt::format("{} AND node = {}", AnnouncedQuery(options_), TextLiteral(node.view())));
    return row.Next() && !watch_.Gone({.node = node.text().str(),
                                       .left = Duration(row.Int(1)),
                                       .ttl = Duration(row.Int(2)),
                                       .free = row.Int(3) != 0});
}

Result<void> Terms::CheckVersion(Connection& connection) {
    // Locked until the term has begun, so that no migration begins in between.
    Rows row = connection.Query(fmt::format(
        "SELECT MIN(version), MAX(version) FROM {}schema LOCK IN SHARE MODE", options_.prefix));
    const std::size_t ours = Migrations(options_.prefix).size();
    if (row.Next() && row.Unsigned(0) == ours && row.Unsigned(1) == ours) return {};
    return Fail(ErrorCode::kUnavailable,
                fmt::format("the tables of {} are of schema {} now, and this Takt knows {}: "
                            "another version is at work; start all schedulers in that version",
                            Describe(options_), row.Unsigned(1), ours));
}

void Terms::Begin(Connection& connection, const Candidate& candidate, Term& term) {
    Rows row =
        connection.Query(fmt::format("SELECT epoch FROM {}terms WHERE partition_id = {} FOR UPDATE",
                                     options_.prefix, term.partition));
    TAKT_CHECK(row.Next());
    const std::uint64_t read = candidate.replaced ? candidate.replaced->epoch : 0;
    term.epoch = std::max({row.Unsigned(0), candidate.epoch_floor, read}) + 1;
    // `expires` is what leaders of a version before go by.
    connection.Run(fmt::format(
        "UPDATE {0}terms SET epoch = {2}, nonce = {3}, sequence = 0 WHERE partition_id = {1};"
        "UPDATE {0}leases SET epoch = {2}, nonce = {3}, node = {4}, address = {5}, "
        "expires = UTC_TIMESTAMP(3), locked = 0 WHERE partition_id = {1};"
        "COMMIT",
        options_.prefix, term.partition, term.epoch, term.nonce, TextLiteral(candidate.node.view()),
        TextLiteral(candidate.address)));
}

Result<void> Terms::Resign(const Term& term, const NodeId& successor) {
    return session_.Retry([&](Connection& connection) -> Result<void> {
        connection.Run(fmt::format(
            "START TRANSACTION;UPDATE {0}leases SET nonce = 0, node = {2}, address = '' WHERE {1};"
            "UPDATE {0}terms SET nonce = 0 WHERE {1};COMMIT",
            options_.prefix, TermCondition(term), TextLiteral(successor.view())));
        return {};
    });
}

std::string Terms::TermCondition(const Term& term) const {
    return fmt::format("partition_id = {} AND epoch = {} AND nonce = {}", term.partition,
                       term.epoch, term.nonce);
}

}  // namespace takt::internal::mysql
