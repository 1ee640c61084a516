#include "store/mysql/leases.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "store/mysql/schema.h"
#include "store/mysql/values.h"
#include "store/renewal.h"
#include "store/sql/execution_row.h"

namespace takt::internal::mysql {
namespace {

// A ttl as an interval that can be added to the server's time. A year is as good as for ever, and
// keeps the sum a date.
std::string After(Duration ttl) {
    constexpr Duration kTtlMax = std::chrono::hours(24 * 365);
    return fmt::format("UTC_TIMESTAMP(3) + INTERVAL {} MICROSECOND",
                       std::chrono::microseconds(std::clamp(ttl, Duration(0), kTtlMax)).count());
}

// The server closes a session that is silent for twice the ttl, so that a leader that was stopped
// does not keep the lock for the default of eight hours.
std::int64_t WaitTimeout(Duration ttl) {
    constexpr std::int64_t kSecondsMax = 28'800;
    return std::clamp<std::int64_t>(2 * ttl.count() / 1000 + 1, 2, kSecondsMax);
}

// An election must not hold up the renewals behind it for long when a commit of the old leader
// still has the fence.
constexpr std::string_view kLeaseSetup = "SET SESSION innodb_lock_wait_timeout = 2";

}  // namespace

Leases::Leases(const MysqlOptions& options)
    : options_(options), session_(options, std::string(kLeaseSetup)), random_(NewRandomSeed()) {}

// The library counts whole seconds.
void Leases::LimitTime(Duration ttl) {
    const auto limit = std::clamp(std::chrono::floor<std::chrono::seconds>(RenewalTime(ttl)),
                                  std::chrono::seconds(1), options_.timeout);
    if (limit == session_.timeout()) return;
    session_.set_timeout(limit);
    // A connection keeps the limit that it was made with. One that holds a lock is not given up for
    // that.
    if (held_.empty()) session_.Drop();
}

Result<Term> Leases::Acquire(const Candidate& candidate) {
    LimitTime(candidate.ttl);
    // Asking twice does no harm: the later term replaces the one whose answer was lost.
    return session_.Retry([&](Connection& connection) {
        try {
            return TryAcquire(connection, candidate);
        } catch (const MysqlError& error) {
            // The rest of this attempt must not end in the next one.
            if (!error.lost()) {
                connection.Run("ROLLBACK");
                if (!HoldsLock(candidate.partition)) ReleaseLock(connection, candidate.partition);
            }
            throw;
        }
    });
}

Result<Term> Leases::TryAcquire(Connection& connection, const Candidate& candidate) {
    const Partition partition = candidate.partition;
    const auto conflict = [](const Lease& lease) {
        return Fail(ErrorCode::kConflict, lease.node + " leads");
    };
    // Candidates ask often: a look that locks nothing comes first.
    std::optional<Lease> lease = Read(connection, partition, false);
    if (!lease) {
        connection.Run(fmt::format(
            "INSERT IGNORE INTO {0}terms (partition_id, epoch, nonce, sequence, last_serial) "
            "VALUES ({1}, 0, 0, 0, 0);"
            "INSERT IGNORE INTO {0}leases (partition_id, epoch, nonce, node, address, expires, "
            "locked) VALUES ({1}, 0, 0, '', '', UTC_TIMESTAMP(3), 0)",
            options_.prefix, partition));
    }
    // The lock of a term that somebody else's has replaced is of no use to us, but to them.
    if (HoldsLock(partition) && lease && lease->nonce != held_[partition].term.nonce) {
        Forget(connection, partition);
    }
    const bool held_before = HoldsLock(partition);
    const bool locked = held_before || TakeLock(connection, partition);
    const bool took = locked && !held_before;
    if (!took) free_.erase(partition);
    const auto somebody_leads = [&](const Lease& now) {
        return now.stands && now.node != candidate.node.view() &&
               !(took && Orphaned(partition, now, candidate.ttl));
    };
    if (lease && somebody_leads(*lease)) {
        if (took) ReleaseLock(connection, partition);
        return conflict(*lease);
    }

    connection.Run("START TRANSACTION");
    const Result<void> version = CheckVersion(connection);
    lease = Read(connection, partition, true);
    TAKT_CHECK(lease.has_value());
    if (!version || somebody_leads(*lease)) {
        connection.Run("ROLLBACK");
        if (took) ReleaseLock(connection, partition);
        if (!version) return std::unexpected(version.error());
        return conflict(*lease);
    }
    free_.erase(partition);
    Term term{.partition = partition};
    while (term.nonce == 0) term.nonce = random_.Next();  // 0 is that of no term.
    Begin(connection, candidate, locked, term);
    held_[partition] = {term, locked ? session_.generation() : 0};
    return term;
}

bool Leases::Orphaned(Partition partition, const Lease& lease, Duration ttl) {
    if (!lease.locked) {
        free_.erase(partition);
        return false;
    }
    const Steady now = SteadyClock::now();
    FreeLock& lock = free_[partition];
    if (lock.nonce != lease.nonce) lock = {lease.nonce, now};
    return lease.left < ttl / 2 && now - lock.since >= RenewalTime(ttl);
}

Result<void> Leases::CheckVersion(Connection& connection) {
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

std::optional<Leases::Lease> Leases::Read(Connection& connection, Partition partition,
                                          bool for_update) {
    Rows row = connection.Query(
        fmt::format("SELECT node, nonce <> 0 AND expires > UTC_TIMESTAMP(3), locked, nonce, "
                    "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), expires) DIV 1000 FROM "
                    "{}leases WHERE partition_id = {}{}",
                    options_.prefix, partition, for_update ? " FOR UPDATE" : ""));
    if (!row.Next()) return std::nullopt;
    return Lease{std::string(row.Bytes(0)), row.Int(1) != 0, row.Int(2) != 0, row.Unsigned(3),
                 Duration(row.Int(4))};
}

void Leases::Begin(Connection& connection, const Candidate& candidate, bool locked, Term& term) {
    Rows row =
        connection.Query(fmt::format("SELECT epoch FROM {}terms WHERE partition_id = {} FOR UPDATE",
                                     options_.prefix, term.partition));
    TAKT_CHECK(row.Next());
    term.epoch = std::max(row.Unsigned(0), candidate.epoch_floor) + 1;
    connection.Run(fmt::format(
        "UPDATE {0}terms SET epoch = {2}, nonce = {3}, sequence = 0 WHERE partition_id = {1};"
        "UPDATE {0}leases SET epoch = {2}, nonce = {3}, node = {4}, address = {5}, expires = {6}, "
        "locked = {7} WHERE partition_id = {1};"
        "COMMIT;"
        "SET SESSION wait_timeout = {8}",
        options_.prefix, term.partition, term.epoch, term.nonce, TextLiteral(candidate.node.view()),
        TextLiteral(candidate.address), After(candidate.ttl), locked ? 1 : 0,
        WaitTimeout(candidate.ttl)));
}

Result<void> Leases::Renew(const Term& term, Duration ttl) {
    return session_.Retry([&](Connection& connection) -> Result<void> {
        const auto held = held_.find(term.partition);
        const bool ours = held != held_.end() && held->second.term == term;
        // The lock is gone if its session has ended, or if a proxy hands sessions around. Then the
        // row says so, and others wait for the ttl again; it also tells whether somebody was
        // quicker.
        const bool locked = ours && (StillLocked(connection, term.partition) ||
                                     TakeLock(connection, term.partition));
        if (ours) held->second.session = locked ? session_.generation() : 0;
        connection.Run(
            fmt::format("UPDATE {}leases SET expires = {}, locked = {} WHERE {} AND "
                        "expires > UTC_TIMESTAMP(3)",
                        options_.prefix, After(ttl), ours ? (locked ? "1" : "0") : "locked",
                        TermCondition(term)));
        if (connection.affected() == 1) return {};
        if (ours) Forget(connection, term.partition);
        return Fail(ErrorCode::kFenced, "the term is over");
    });
}

Result<void> Leases::Resign(const Term& term) {
    return session_.Retry([&](Connection& connection) -> Result<void> {
        connection.Run(fmt::format(
            "START TRANSACTION;UPDATE {0}leases SET nonce = 0, expires = UTC_TIMESTAMP(3) WHERE "
            "{1};UPDATE {0}terms SET nonce = 0 WHERE {1};COMMIT",
            options_.prefix, TermCondition(term)));
        const auto held = held_.find(term.partition);
        if (held != held_.end() && held->second.term == term) Forget(connection, term.partition);
        return {};
    });
}

Result<void> Leases::Announce(const NodeRow& node, Duration ttl) {
    return session_.Retry([&](Connection& connection) -> Result<void> {
        std::string values = TextLiteral(node.node.view());
        if (ttl <= Duration(0)) {
            connection.Run(
                fmt::format("DELETE FROM {}nodes WHERE node = {}", options_.prefix, values));
            return {};
        }
        values += fmt::format(", {}, {}, {}, {}", TextLiteral(node.address),
                              TextLiteral(node.version), sql::Ms(node.started_at), After(ttl));
        connection.Run(fmt::format(
            "INSERT INTO {0}nodes (node, address, version, started_at_ms, expires) VALUES ({1}) "
            "ON DUPLICATE KEY UPDATE address = VALUES(address), version = VALUES(version), "
            "started_at_ms = VALUES(started_at_ms), expires = VALUES(expires);"
            // Schedulers that crashed do not withdraw themselves.
            "DELETE FROM {0}nodes WHERE expires <= UTC_TIMESTAMP(3)",
            options_.prefix, values));
        return {};
    });
}

bool Leases::HoldsLock(Partition partition) const {
    const auto held = held_.find(partition);
    return held != held_.end() && held->second.session == session_.generation();
}

bool Leases::StillLocked(Connection& connection, Partition partition) const {
    if (!HoldsLock(partition)) return false;
    Rows row = connection.Query(
        fmt::format("SELECT IS_USED_LOCK({}) = CONNECTION_ID()", LockName(partition)));
    return row.Next() && row.Int(0) == 1;
}

bool Leases::TakeLock(Connection& connection, Partition partition) {
    // 0 is "somebody else has it" and null an error; only 1 is the lock.
    Rows row = connection.Query(fmt::format("SELECT GET_LOCK({}, 0)", LockName(partition)));
    return row.Next() && !row.IsNull(0) && row.Int(0) == 1;
}

void Leases::Forget(Connection& connection, Partition partition) {
    if (HoldsLock(partition)) ReleaseLock(connection, partition);
    held_.erase(partition);
}

void Leases::ReleaseLock(Connection& connection, Partition partition) {
    connection.Run(fmt::format("SELECT RELEASE_LOCK({})", LockName(partition)));
}

std::string Leases::LockName(Partition partition) const {
    // Locks are the whole server's, and MySQL takes names of up to 64 characters: long names of
    // databases are told apart by the server's own hash.
    return fmt::format("CONCAT('takt:', LEFT(MD5({}), 16), ':{}')",
                       TextLiteral(options_.database + "." + options_.prefix), partition);
}

std::string Leases::TermCondition(const Term& term) const {
    return fmt::format("partition_id = {} AND epoch = {} AND nonce = {}", term.partition,
                       term.epoch, term.nonce);
}

}  // namespace takt::internal::mysql
