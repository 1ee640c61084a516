// PurgePlanner: which rows a purge deletes. Asked for before the batch is written: nobody else finishes
// or purges executions of the partition, so what is old stays old.
//
// It remembers where the last purge ended, and when the next row is due. While somebody reads an old
// state of the tables, a backup for one, the server keeps all that was deleted since; a search from
// the beginning of the index would walk over it every time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/mysql/batch_sql.h"
#include "store/mysql/connection.h"
#include "store/store.h"

namespace takt::internal::mysql {

// Of one partition. The connection is the one that commits.
class PurgePlanner {
  public:
    // `prefix` is that of the partition's tables.
    explicit PurgePlanner(std::string prefix) : prefix_(std::move(prefix)) {}

    // The rows that the batch's purge deletes; nothing without one. Throws MysqlError.
    PurgePlan Plan(Connection& connection, const Batch& batch);

    // The batch was applied, and what was planned for it is gone.
    void NoteApplied(const Batch& batch);
    // Whether it was is not known.
    void Forget() { term_ = Term(); }

  private:
    // Everything that ended before `from_ms` is gone, and the first that is left ended at `due_ms`.
    struct Place {
        std::optional<std::int64_t> from_ms;  // Nothing: not known.
        std::optional<std::int64_t> due_ms;
        Serial events_from = 0;
    };

    void Begin(Connection& connection, const Term& term);

    const std::string prefix_;
    Term term_;
    bool families_ = false;  // Whether there are finished children.
    Place place_;
    Place next_;  // Once the batch is applied.
};

}  // namespace takt::internal::mysql
