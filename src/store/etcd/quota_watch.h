// QuotaWatch: how near etcd is to its quota, and when new work must wait.
//
// An etcd that reaches its quota takes no write any more, from anybody, until an operator helps. So the
// scheduler stops taking new work before, and the rest is for what is there: it ends and is purged.
// Of a small quota that rest is written in a second, so what was written since the last look counts.
// The space in use counts: freed pages are used again. etcd itself goes by the size of its file, which
// never shrinks, so that a file near the quota is told of too; with one above it, or once its alarm is
// raised, it takes no write.
#pragma once

#include <atomic>
#include <cstddef>
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
    // What etcd's file may have beyond what is in use: the pages of the values that it wrote last. Of
    // a small quota that is more than a tenth.
    static constexpr std::uint64_t kReserveMin = 6 << 20;
    // The room inside a file that has come so far may be in pieces that no large value fits into:
    // then it grows, and the alert is the last word before it is above the quota.
    static constexpr int kFileNearAt = 95;

    // `configured`: the quota that the URL says; 0 if it says none. `name` is the store's, for people.
    QuotaWatch(std::uint64_t configured, std::string name)
        : configured_(configured), name_(std::move(name)) {}

    // So much more was written here. From any thread.
    void NoteWritten(std::size_t bytes) { written_ += bytes; }
    std::uint64_t written() const { return written_; }  // Since the beginning.

    // etcd tells its sizes, and from 3.6 on its quota. `written` is what written() was when it was
    // asked: until the next time, what is written beyond that counts as in use. From any thread.
    void Observe(const etcdserverpb::StatusResponse& status, std::uint64_t written = 0);

    // Why no new work should be brought now; empty while there is room.
    std::string WhyFull() const;

    std::uint64_t quota() const { return quota_; }  // 0 if it is not known.
    std::uint64_t used() const { return used_; }    // 0 before it was seen.

  private:
    enum class Level : int { kCalm, kWarned, kAlerted, kFull };
    static Level LevelAt(std::uint64_t percent, Level before);
    static bool IsFull(std::uint64_t used, std::uint64_t quota);
    // In use as far as is known now.
    std::uint64_t UsedNow() const { return used_ + (written_ - written_at_look_); }
    void Tell(Level level, std::uint64_t used) const;

    const std::uint64_t configured_;
    const std::string name_;
    std::atomic<std::uint64_t> quota_ = kQuotaDefault;
    std::atomic<std::uint64_t> used_ = 0;
    std::atomic<std::uint64_t> written_ = 0;
    std::atomic<std::uint64_t> written_at_look_ = 0;
    std::atomic<Level> level_ = Level::kCalm;
    std::atomic<bool> refuses_ = false;  // Writes, already.
    std::atomic<bool> told_of_file_ = false;
};

}  // namespace takt::internal::etcd
