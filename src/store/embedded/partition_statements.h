// PartitionStatements: the prepared statements of the partitions in use. A partition that is not
// used for long while many others are gives up its own and has them prepared again when it comes
// back; the default one never does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>

#include "store/embedded/sqlite.h"
#include "store/store.h"

namespace takt::internal::embedded {

// `Set` is made from a connection and a partition, and may throw SqliteError.
template <typename Set>
class PartitionStatements {
  public:
    explicit PartitionStatements(Connection& connection) : connection_(connection) {
        Of(kDefaultPartition);
    }

    Set& Of(Partition partition) {
        auto found = sets_.find(partition);
        if (found == sets_.end()) {
            auto made = std::make_unique<Set>(connection_, partition);
            if (sets_.size() >= kKeptMax) ForgetOldest();
            found = sets_.emplace(partition, Entry{std::move(made)}).first;
        }
        found->second.used = ++uses_;
        return *found->second.set;
    }

    void Forget(Partition partition) { sets_.erase(partition); }

  private:
    // Of about twenty statements of some kilobytes each.
    static constexpr std::size_t kKeptMax = 64;

    struct Entry {
        std::unique_ptr<Set> set;
        std::uint64_t used = 0;
    };

    void ForgetOldest() {
        const auto rest = std::next(sets_.begin());  // The first is that of the default partition.
        sets_.erase(std::min_element(rest, sets_.end(), [](const auto& a, const auto& b) {
            return a.second.used < b.second.used;
        }));
    }

    Connection& connection_;
    std::map<Partition, Entry> sets_;
    std::uint64_t uses_ = 0;
};

}  // namespace takt::internal::embedded
