#include "archive/store_check.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "archive/row_reader.h"
#include "archive/store_look.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

constexpr int kLooksMax = 6;  // Beside a scheduler; two, unless indexes are never whole.

Result<void> MendIndexesOf(Store& store, const StoreLock& lock,
                           const std::vector<StoreFault>& faults) {
    std::map<Partition, std::vector<IndexFault>> by_partition;
    for (const StoreFault& fault : faults) {
        if (fault.index) by_partition[fault.partition].push_back(*fault.index);
    }
    auto* indexes = dynamic_cast<ChecksIndexes*>(&store);
    for (const auto& [partition, mends] : by_partition) {
        auto mended = indexes->MendIndexes(lock.TermOf(partition), mends);
        if (!mended) return mended;
    }
    return {};
}

Result<bool> IsLed(Store& store) {
    const auto leaders =
        AskStore<std::vector<LeaderRow>>([&](auto done) { store.Leaders(std::move(done)); });
    if (!leaders) return std::unexpected(leaders.error());
    return std::ranges::any_of(*leaders, &LeaderRow::leads);
}

std::pair<Partition, std::string> SignOf(const StoreFault& fault) {
    return {fault.partition, fault.sign.empty() ? fault.text : fault.sign};
}

}  // namespace

Result<StoreFaults> CheckStore(Store& store, const TransferProgress& progress) {
    // Of the looks before.
    std::set<std::pair<Partition, std::string>> known;
    std::set<Partition> read;
    for (int looks = 1;; ++looks) {
        auto look = LookOver(store, progress);
        if (!look) return std::unexpected(look.error());
        StoreFaults& found = look->found;
        // More than are kept are not all a scheduler's doing.
        if (found.count == 0 || found.count > found.faults.size()) return std::move(found);
        if (looks == 1) {
            const auto led = IsLed(store);
            if (!led) return std::unexpected(led.error());
            if (!*led) return std::move(found);
        }
        const auto is_known = [&](const StoreFault& fault) {
            return known.contains(SignOf(fault));
        };
        std::set<Partition> settled;
        std::ranges::set_intersection(read, look->read, std::inserter(settled, settled.end()));
        for (const StoreFault& fault : found.faults) {
            if (is_known(fault)) settled.insert(fault.partition);
        }
        const auto is_settled = [&](const StoreFault& fault) {
            return settled.contains(fault.partition);
        };
        if (looks == kLooksMax || std::ranges::all_of(found.faults, is_settled)) {
            std::erase_if(found.faults, [&](const StoreFault& fault) {
                return is_settled(fault) && !is_known(fault);
            });
            found.count = found.faults.size();
            return std::move(found);
        }
        for (const StoreFault& fault : found.faults) known.insert(SignOf(fault));
        read.merge(look->read);
    }
}

Result<StoreFaults> RepairStore(Store& store, const TransferProgress& progress) {
    auto locked = LockWhole(store);
    if (!locked) return std::unexpected(locked.error());
    auto& [lock, heads] = *locked;
    auto look = LookOver(store, progress);
    if (!look) return std::unexpected(look.error());
    StoreFaults& found = look->found;
    if (auto mended = MendIndexesOf(store, *lock, found.faults); !mended) {
        return std::unexpected(mended.error());
    }
    std::map<Partition, std::uint64_t> sequences;
    for (const StoreFault& fault : found.faults) {
        if (!fault.mend && fault.last_serial == 0) continue;
        const auto head = std::ranges::find(heads, fault.partition, &PartitionHead::partition);
        auto batch = std::make_shared<Batch>();
        batch->term = lock->TermOf(fault.partition);
        batch->sequence = ++sequences[fault.partition];
        head->last_serial = std::max(head->last_serial, fault.last_serial);
        batch->last_serial = head->last_serial;
        if (fault.mend) batch->changes.push_back(*fault.mend);
        auto done = AskStore<void>([&](auto answer) { store.Commit(batch, std::move(answer)); });
        if (!done) return std::unexpected(done.error());
    }
    return std::move(found);
}

}  // namespace takt::internal
