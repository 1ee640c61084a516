#include "archive/store_purge.h"

#include <algorithm>

#include "archive/row_reader.h"
#include "archive/store_lock.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

// Finished executions, in all and those with the age to go.
struct Finished {
    std::uint64_t all = 0;
    std::uint64_t old = 0;
};

Result<Finished> CountHistory(Store& store, Partition partition, Time before) {
    Finished count;
    const auto read = ReadHistory(store, partition, true, [&](Change change) -> Result<void> {
        const Execution& row = std::get<ExecutionChange>(change).row;
        ++count.all;
        count.old += row.parent.empty() && row.finished_at < before;
        return {};
    });
    if (!read) return std::unexpected(read.error());
    return count;
}

}  // namespace

Result<Purged> PurgeStore(Store& store, Time before) {
    const auto locked = LockWhole(store);
    if (!locked) return std::unexpected(locked.error());
    Purged purged;
    const std::size_t step = store.limits().purge_max;
    for (const PartitionHead& head : locked->heads) {
        std::uint64_t sequence = 0;
        auto first = CountHistory(store, head.partition, before);
        if (!first) return std::unexpected(first.error());
        Finished left = *first;
        while (left.old > 0) {
            // A purge counts the parts of runs too: those of the old ones are among all.
            for (std::uint64_t rounds = left.old / step + 1; rounds > 0; --rounds) {
                auto batch = std::make_shared<Batch>();
                batch->term = locked->lock->TermOf(head.partition);
                batch->sequence = ++sequence;
                batch->last_serial = head.last_serial;
                batch->changes.push_back(Purge{.finished_before = before,
                                               .events_before = before,
                                               .count_max = static_cast<std::uint32_t>(step)});
                const auto done =
                    AskStore<void>([&](auto answer) { store.Commit(batch, std::move(answer)); });
                if (!done) return std::unexpected(done.error());
            }
            auto again = CountHistory(store, head.partition, before);
            if (!again) return std::unexpected(again.error());
            if (again->all == left.all) {
                return Fail(ErrorCode::kUnavailable, store.Describe() + " purges nothing of " +
                                                         std::to_string(left.old) +
                                                         " executions that are old enough");
            }
            purged.executions += left.all - again->all;
            left = *again;
        }
    }
    return purged;
}

}  // namespace takt::internal
