// Compactor: decides when the leader tells etcd to discard old revisions, and up to which.
//
// Every commit leaves the earlier value of each key behind, some 10 MB/s under full load, and etcd
// refuses writes once its quota (2 GiB by default) is full. What is kept serves readers that are
// in the middle of a snapshot.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/time.h"

namespace takt::internal::etcd {

class Compactor {
  public:
    static constexpr std::int64_t kRevisionsKept = 10'000;
    static constexpr Duration kTimeKept{300'000};
    // Compacting takes etcd time of its own, so not for a few revisions.
    static constexpr std::int64_t kRevisionsStep = 2'000;
    static constexpr Duration kTimeStep{60'000};

    // etcd is at `revision`. Returns the revision to compact at, if that is due now.
    std::optional<std::int64_t> Observe(std::int64_t revision, Steady now);

  private:
    std::mutex mutex_;
    std::int64_t compacted_ = 0;
    Steady compacted_at_{};
    std::deque<std::pair<Steady, std::int64_t>> seen_;  // One for each kTimeStep of kTimeKept.
};

}  // namespace takt::internal::etcd
