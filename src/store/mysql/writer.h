// Writer: commits batches, on one connection of one thread.
#pragma once

#include <cstddef>
#include <string>

#include "store/mysql/session.h"
#include "store/store.h"

namespace takt::internal::mysql {

class Writer {
  public:
    Writer(const MysqlOptions& options, std::size_t packet_bytes_max, bool read_committed);

    // See Store::Commit. A transaction that the server gave up for the sake of another runs again,
    // a few times.
    Result<void> Commit(const Batch& batch);

  private:
    // Why the fence let the batch not pass; success if it was applied before.
    Result<void> AskTerm(const Term& term, std::uint64_t sequence);
    void Rollback();

    const MysqlOptions& options_;
    const std::size_t packet_bytes_max_;
    Session session_;
};

}  // namespace takt::internal::mysql
