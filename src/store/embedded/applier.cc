#include "store/embedded/applier.h"

#include <algorithm>
#include <vector>

#include "base/failpoint.h"
#include "model/record.h"
#include "store/embedded/schema.h"
#include "store/refusals.h"

namespace takt::internal::embedded {
namespace {

// Rows that one step of dropping a partition deletes: some milliseconds, for which others wait.
constexpr int kDropRows = 1000;

}  // namespace

Applier::Applier(Connection& connection)
    : connection_(connection),
      fence_(
          connection.Prepare("UPDATE terms SET sequence = ?, last_serial = max(last_serial, ?) "
                             "WHERE partition = ? AND epoch = ? AND nonce = ? AND sequence = ?")),
      term_(connection.Prepare(
          "SELECT sequence FROM terms WHERE partition = ? AND epoch = ? AND nonce = ?")),
      partitions_(connection) {}

Result<void> Applier::Apply(const Batch& batch) {
    in_purge_ = false;
    const Result<bool> pass = PassFence(batch);
    if (!pass) return std::unexpected(pass.error());
    if (!*pass) return {};
    const Partition partition = batch.term.partition;
    try {
        return ApplyChanges(partitions_.Of(partition), batch);
    } catch (const SqliteError& error) {
        if (partition == kDefaultPartition || !error.no_such_table()) throw;
    }
    // All of its tables are there or none: so far only the fence was passed. (They may have been
    // there before: what made them was rolled back, or they were dropped.)
    partitions_.Forget(partition);
    connection_.Run(PartitionSql(partition));
    return ApplyChanges(partitions_.Of(partition), batch);
}

Result<void> Applier::ApplyChanges(Tables& tables, const Batch& batch) {
    // Last, so that it takes nothing away from under another change of the batch.
    const Purge* purge = nullptr;
    tables.roots.Begin();
    tables.children.Begin();
    for (const Change& change : batch.changes) {
        if (const auto* found = std::get_if<Purge>(&change)) {
            purge = found;
            continue;
        }
        Result<void> applied =
            std::visit([&](const auto& kind) { return tables.Apply(kind); }, change);
        if (!applied) return applied;
    }
    tables.roots.Flush();
    tables.children.Flush();
    if (!purge || SteadyClock::now() < purge_after_) return {};
    in_purge_ = true;
    Result<void> purged = tables.Apply(*purge);
    in_purge_ = false;
    return purged;
}

Result<bool> Applier::PassFence(const Batch& batch) {
    const auto bind_term = [&](Statement& statement) {
        statement.Int(batch.term.partition);
        statement.Int(static_cast<std::int64_t>(batch.term.epoch));
        statement.Int(static_cast<std::int64_t>(batch.term.nonce));
    };
    fence_.Int(static_cast<std::int64_t>(batch.sequence));
    fence_.Int(
        TAKT_MUTANT("embedded.forget_serials") ? 0 : static_cast<std::int64_t>(batch.last_serial));
    bind_term(fence_);
    fence_.Int(static_cast<std::int64_t>(batch.sequence) - 1);
    fence_.Run();
    if (connection_.changes() == 1) return true;

    bind_term(term_);
    const Rows rows(term_);
    const bool stands = term_.Step();
    if (!stands && TAKT_MUTANT("embedded.no_fence")) return true;
    if (!stands) return Fail(ErrorCode::kFenced, "the term is over");
    if (static_cast<std::uint64_t>(term_.row().Int(0)) >= batch.sequence) {
        return TAKT_MUTANT("embedded.no_once");
    }
    if (TAKT_MUTANT("embedded.allow_gaps")) return true;
    return Fail(ErrorCode::kUnavailable, "an earlier batch was not applied");
}

Result<bool> Applier::DropSome(Partition partition, std::uint64_t epoch) {
    {
        Statement last = connection_.Prepare("SELECT epoch FROM terms WHERE partition = ?");
        last.Int(partition);
        if (last.Step() && static_cast<std::uint64_t>(last.row().Int(0)) > epoch) return LedSince();
    }
    const std::vector<std::string> tables = PartitionTables(partition);
    try {
        for (const std::string& table : tables) {
            // A table without rowids is the log's alone.
            const std::string key = table.ends_with("logs") ? "(execution, chunk)" : "rowid";
            const std::string columns = table.ends_with("logs") ? "execution, chunk" : "rowid";
            connection_.Run("DELETE FROM " + table + " WHERE " + key + " IN (SELECT " + columns +
                            " FROM " + table + " LIMIT " + std::to_string(kDropRows) + ")");
            if (connection_.changes() > 0) return false;
        }
    } catch (const SqliteError& error) {
        if (!error.no_such_table()) throw;
    }
    partitions_.Forget(partition);
    for (const std::string& table : tables) connection_.Run("DROP TABLE IF EXISTS " + table);
    return true;
}

}  // namespace takt::internal::embedded
