// Compactor: decides when the leader tells etcd to discard old revisions, and up to which.
//
// Every commit leaves the earlier value of each key behind, some 10 MB/s under full load and far
// more with large payloads, and etcd refuses writes once its quota (2 GiB by default) is full. So
// revisions, time and bytes are bounded. What is kept serves readers that are in the middle of a
// snapshot.
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
    // Ten thousand revisions of small rows are less; of payloads of a megabyte they would be 10 GB.
    static constexpr std::uint64_t kBytesKept = 64u << 20;
    static constexpr std::uint64_t kBytesStep = 16u << 20;
    // And of a small quota no more than this part: most of it is for what is there.
    static constexpr std::uint64_t kPartKept = 16;

    // etcd's quota in bytes; 0 if it is not known.
    void set_quota(std::uint64_t quota);

    // etcd is at `revision`, after a write of `bytes`. Returns the revision to compact at, if that
    // is due now.
    std::optional<std::int64_t> Observe(std::int64_t revision, std::uint64_t bytes, Steady now);

  private:
    std::mutex mutex_;
    std::int64_t compacted_ = 0;
    Steady compacted_at_{};
    std::deque<std::pair<Steady, std::int64_t>> seen_;  // One for each kTimeStep of kTimeKept.
    // How much had been written at a revision: one mark for each kBytesStep of kBytesKept.
    struct Mark {
        std::int64_t revision;
        std::uint64_t written;
    };
    std::deque<Mark> marks_;
    std::uint64_t written_ = 0;
    std::uint64_t bytes_kept_ = kBytesKept;
    std::uint64_t bytes_step_ = kBytesStep;
};

}  // namespace takt::internal::etcd
