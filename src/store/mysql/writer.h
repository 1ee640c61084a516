// Writer: commits batches, on one connection of one thread.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include <cstddef>
#include <string>

#include "store/mysql/batch_sql.h"
#include "store/mysql/purge_plan.h"
#include "store/mysql/server.h"
#include "store/mysql/session.h"
#include "store/store.h"

namespace takt::internal::mysql {

class Writer {
  public:
    // `packet_bytes` is where batches are cut; one change may be larger, up to what `server` takes.
    Writer(const MysqlOptions& options, const Server& server, std::size_t packet_bytes);

    // See Store::Commit. A transaction that the server gave up for the sake of another runs again,
    // a few times. One that the server did not answer in time gets more of it the next time: what
    // takes longer than the timeout must not be repeated for ever.
    // The first batch of a partition makes its tables. Throws MysqlError if that fails, or what a
    // purge deletes cannot be read.
    Result<void> Commit(const Batch& batch);

    // Drops the tables of a partition, as the store's DropPartition. Throws MysqlError.
    Result<void> Drop(Partition partition, std::uint64_t epoch);

  private:
    // Whether it was applied just now; false if it had been before.
    Result<bool> Try(const Batch& batch, const BatchSql& sql);
    // `late`: the server got the batch, and did not answer in the time that it had.
    void GrantTime(bool late);
    // Why the fence let the batch not pass; success if it was applied before.
    Result<void> AskTerm(const Term& term, std::uint64_t sequence);
    void Rollback();
    // See IsOnce. The first time in a term, also completes the partition's tables. Throws MysqlError.
    Serial OnceAfter(Connection& connection, const Term& term);

    const MysqlOptions& options_;
    const std::size_t server_bytes_max_;
    const std::size_t packet_bytes_;
    Session session_;
    std::map<Partition, PurgePlanner> planners_;
    std::map<Partition, std::pair<Term, Serial>> once_after_;
};

}  // namespace takt::internal::mysql
