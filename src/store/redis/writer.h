// Writer: commits, each one call of the commit script. A term that Redis has forgotten writes of,
// after a failover, is answered with kFenced: its leader knows more than the store, so somebody must
// load afresh.
// The connection gives the partitions their turns (turns.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "store/redis/check.h"
#include "store/redis/client.h"
#include "store/redis/keys.h"
#include "store/store.h"

namespace takt::internal::redis {

class Writer {
  public:
    Writer(Client& client, Keyring& keys, ServerCheck& check)
        : client_(client), keys_(keys), check_(check) {}

    // As the store's own. From any thread.
    void Commit(BatchPtr batch, Done<void> done);
    // Holds the commits of a partition back for so long, 0: no longer. Gives a text that is another one
    // after each commit and each new term.
    void Pause(Partition partition, Duration how_long, Done<std::string> done);
    void DropPartition(Partition partition, std::uint64_t epoch, Done<void> done);

  private:
    // The last batch of a term that Redis said it has.
    struct Acknowledged {
        Term term;
        std::uint64_t sequence = 0;
    };

    struct Dropping {
        const PartitionKeys& keys;
        const std::uint64_t epoch;
        std::string term = {};  // What the fence said at first.
    };
    // Deletes some rows, and goes on until there are none.
    void DropMore(Dropping dropping, Done<void> done);
    // The fence holds a later term than the list of leaders, as Leases::OnOtherTerm tells: it becomes
    // the row, by which the partition is dropped the next time.
    void TellOfTerm(Partition partition, const ReplyView& fence, Done<void> done);
    Result<void> ReadAnswer(const Batch& batch, const Replies& replies);

    Client& client_;
    Keyring& keys_;
    ServerCheck& check_;
    std::map<Partition, Acknowledged> acknowledged_;
};

}  // namespace takt::internal::redis
