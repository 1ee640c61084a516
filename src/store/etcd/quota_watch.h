// QuotaWatch: how near etcd is to its quota, and when new work must wait.
//
// An etcd that reaches its quota takes no write any more, from anybody, until an operator helps. So the
// scheduler stops taking new work before, and the rest is for what is there: it ends and is purged.
// The space in use counts: freed pages are used again. etcd itself goes by the size of its file, which
// never shrinks, so that a file near the quota is told of too; with one above it, or once its alarm is
// raised, it takes no write.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "etcd.pb.h"

namespace takt::internal::etcd {

class QuotaWatch {
  public:
    // etcd's default of --quota-backend-bytes.
    static constexpr std::uint64_t kQuotaDefault = 2ull << 30;
    // Parts of the quota, in percent.
    static constexpr int kWarnAt = 70;
    static constexpr int kAlertAt = 85;
    static constexpr int kFullAt = 90;
    static constexpr int kRoomBelow = 87;  // A full one has room again.
    // The room inside a file that has come so far may be in pieces that no large value fits into:
    // then it grows, and the alert is the last word before it is above the quota.
    static constexpr int kFileNearAt = 95;

    // `configured`: the quota that the URL says; 0 if it says none. `name` is the store's, for people.
    QuotaWatch(std::uint64_t configured, std::string name)
        : configured_(configured), name_(std::move(name)) {}

    // etcd tells its sizes, and from 3.6 on its quota. From any thread.
    void Observe(const etcdserverpb::StatusResponse& status);

    // Why no new work should be brought now; empty while there is room.
    std::string WhyFull() const;

    std::uint64_t quota() const { return quota_; }  // 0 if it is not known.
    std::uint64_t used() const { return used_; }    // 0 before it was seen.

  private:
    enum class Level : int { kCalm, kWarned, kAlerted, kFull };
    static Level LevelAt(std::uint64_t percent, Level before);
    void Tell(Level level, std::uint64_t used) const;

    const std::uint64_t configured_;
    const std::string name_;
    std::atomic<std::uint64_t> quota_ = kQuotaDefault;
    std::atomic<std::uint64_t> used_ = 0;
    std::atomic<Level> level_ = Level::kCalm;
    std::atomic<bool> refuses_ = false;  // Writes, already.
    std::atomic<bool> told_of_file_ = false;
};

}  // namespace takt::internal::etcd
