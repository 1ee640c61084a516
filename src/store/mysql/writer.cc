#include "store/mysql/writer.h"

#include <fmt/core.h>
#include <mysqld_error.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/failpoint.h"
#include "store/mysql/judge.h"
#include "store/mysql/schema.h"
#include "store/refusals.h"

namespace takt::internal::mysql {
namespace {

// Attempts at one transaction. Deadlocks come from other clients' statements (a person in a
// console, a backup, a leader of another partition) and are over at the next attempt as a rule;
// lock waits take their own time first, which bounds the whole to a few of them.
constexpr int kAttemptsMax = 4;
constexpr Duration kRetryDelay{10};

// The longest time for a batch that was not answered before: far more than the largest takes
// on a busy server. A server that hangs is still noticed in the options' timeout, the first time.
constexpr std::chrono::seconds kAnswerMax{60};

// Of one lock, of a row or of a table that a backup reads: a third of the time that an operation has,
// so that the answer still comes in time.
std::string Setup(const MysqlOptions& options, bool read_committed) {
    const auto seconds = std::max<std::int64_t>(1, options.timeout.count() / 3);
    // A client that is stopped between two packets of a large batch must not keep the fence locked
    // for the server's default of eight hours.
    return fmt::format(
        "SET SESSION innodb_lock_wait_timeout = {0}, lock_wait_timeout = {0}, wait_timeout = {1};"
        "SET SESSION TRANSACTION ISOLATION LEVEL {2}",
        seconds, std::max<std::int64_t>(2, options.timeout.count() * 2),
        read_committed ? "READ COMMITTED" : "REPEATABLE READ");
}

}  // namespace

Writer::Writer(const MysqlOptions& options, const Server& server, std::size_t packet_bytes)
    : options_(options),
      server_bytes_max_(server.packet_bytes_max),
      packet_bytes_(packet_bytes),
      session_(options, Setup(options, !server.statement_binlog)) {}

Result<void> Writer::Commit(const Batch& batch) {
    const Partition partition = batch.term.partition;
    PurgePlanner& planner =
        planners_.try_emplace(partition, TablePrefix(options_.prefix, partition)).first->second;
    Serial once_after = 0;
    const PurgePlan plan = session_.Retry([&](Connection& connection) {
        once_after = OnceAfter(connection, batch.term);
        return planner.Plan(connection, batch);
    });
    const BatchSql sql = MakeBatchSql(batch, options_.prefix, packet_bytes_, plan, once_after);
    for (const std::string& packet : sql.packets) {
        // The server would end the session for it, each time.
        if (packet.size() + 1 < server_bytes_max_) continue;
        return Fail(ErrorCode::kInvalid,
                    fmt::format("a change takes {} bytes as SQL, and {} takes packets of {}; set "
                                "max_allowed_packet to more and restart Takt",
                                packet.size(), Describe(options_), server_bytes_max_));
    }
    Result<bool> applied = Try(batch, sql);
    // One that had been applied before was with another plan: what this one says may still be there.
    applied && *applied ? planner.NoteApplied(batch) : planner.Forget();
    if (!applied) return std::unexpected(std::move(applied.error()));
    return {};
}

Result<void> Writer::Drop(Partition partition, std::uint64_t epoch) {
    planners_.erase(partition);
    // In one packet: a scheduler that was stopped before it is told that it is late. Between its two
    // statements is only the server; DDL takes no part in a transaction that could close even that.
    const std::string packet = fmt::format(
        "SELECT IF(COALESCE((SELECT epoch FROM {}leases WHERE partition_id = {}), 0) <= {},1,"
        "(SELECT 1 UNION ALL SELECT 2));{}",
        options_.prefix, partition, TAKT_MUTANT("mysql.drop_late") ? UINT64_MAX : epoch,
        DropSql(options_.prefix, partition));
    try {
        session_.Retry([&](Connection& connection) { connection.Run(packet); });
    } catch (const MysqlError& error) {
        if (error.code() != kCheckFailed) throw;
        return LedSince();
    }
    return {};
}

void Writer::GrantTime(bool late) {
    const auto longest = std::max(kAnswerMax, options_.timeout);
    session_.set_timeout(late ? std::min(session_.timeout() * 2, longest) : options_.timeout);
}

Result<bool> Writer::Try(const Batch& batch, const BatchSql& sql) {
    const Steady deadline = SteadyClock::now() + options_.timeout;
    bool made = false;  // Whether the tables of the partition were, just now.
    for (int attempt = 1;; ++attempt) {
        std::size_t packet = 0;
        bool sent = false;  // Whether COMMIT was.
        Steady begin = Steady::max();
        try {
            Connection& connection = session_.Get();
            begin = SteadyClock::now();
            for (; packet < sql.packets.size(); ++packet) {
                sent = packet + 1 == sql.packets.size();
                connection.Run(sql.packets[packet]);
            }
            if (session_.timeout() != options_.timeout) {
                // That was the slow one. With as much time for all, one that hangs is noticed late.
                GrantTime(false);
                session_.Drop();
            }
            return true;
        } catch (const MysqlError& error) {
            Error verdict = Judge(error, options_);
            if (error.lost()) {
                session_.Drop();
                GrantTime(begin != Steady::max() &&
                          SteadyClock::now() - begin >= session_.timeout());
                // A packet that is too large is not even read.
                if (sent && error.code() != ER_NET_PACKET_TOO_LARGE) {
                    verdict.code = ErrorCode::kUnknown;
                }
                return std::unexpected(std::move(verdict));
            }
            if (error.read_only() && !options_.others.empty()) {
                session_.Drop();  // The next attempt turns to the others.
                return std::unexpected(std::move(verdict));
            }
            Rollback();
            const Partition partition = batch.term.partition;
            if (error.code() == ER_NO_SUCH_TABLE && partition != kDefaultPartition && !made) {
                made = true;
                session_.Get().Run(PartitionSql(options_.prefix, partition));
                continue;
            }
            const bool may_repeat = attempt < kAttemptsMax && SteadyClock::now() < deadline;
            if (error.lock_conflict() && may_repeat) {
                std::this_thread::sleep_for(kRetryDelay * attempt);
                continue;
            }
            if (error.code() == kCheckFailed) {
                if (packet == 0 && error.statement() == kFenceStatement) {
                    const Result<void> asked = AskTerm(batch.term, batch.sequence);
                    if (!asked) return std::unexpected(asked.error());
                    return false;
                }
                return Fail(ErrorCode::kInvalid,
                            "the batch contradicts the stored rows: an execution is not where a "
                            "change says");
            }
            // A COMMIT that fails for any other reason may have been written all the same.
            if (sent && error.statement() == sql.commit_statement && !error.lock_conflict()) {
                verdict.code = ErrorCode::kUnknown;
            }
            return std::unexpected(std::move(verdict));
        }
    }
}

Result<void> Writer::AskTerm(const Term& term, std::uint64_t sequence) {
    try {
        Rows row = session_.Get().Query(
            fmt::format("SELECT sequence FROM {}terms WHERE partition_id = {} AND epoch = {} AND "
                        "nonce = {}",
                        options_.prefix, term.partition, term.epoch, term.nonce));
        if (!row.Next()) return Fail(ErrorCode::kFenced, "the term is over");
        if (row.Unsigned(0) >= sequence || TAKT_MUTANT("mysql.hide_gaps")) return {};
        return Fail(ErrorCode::kUnavailable, "an earlier batch was not applied");
    } catch (const MysqlError& error) {
        if (error.lost()) session_.Drop();
        return std::unexpected(Judge(error, options_));
    }
}

// It changes only with the tables: by a migration, or if others are put in their place beside us. Both
// end the term.
Serial Writer::OnceAfter(Connection& connection, const Term& term) {
    const auto known = once_after_.find(term.partition);
    if (known != once_after_.end() && known->second.first == term) return known->second.second;
    CompleteTables(connection, options_.prefix, term.partition);
    Rows row = connection.Query(fmt::format(
        "SELECT once_after FROM {}terms WHERE partition_id = {}", options_.prefix, term.partition));
    if (!row.Next()) return 0;  // Nobody has led it, so the fence lets nothing pass.
    const Serial once_after = row.Unsigned(0);
    once_after_[term.partition] = {term, once_after};
    return once_after;
}

void Writer::Rollback() {
    try {
        session_.Get().Run("ROLLBACK");
    } catch (const MysqlError&) {
        session_.Drop();  // Which rolls back as well.
    }
}

}  // namespace takt::internal::mysql
