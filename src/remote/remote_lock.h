// RemoteLock: a lock that this process holds, over the REST API. Renews itself on a thread of its
// own, knows when it may be lost, and lets it go at its end. What the command line and the C++
// client share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal {

struct LockDemand {
    std::string name;
    Duration ttl{30'000};
    Duration wait{0};
    std::uint32_t permits = 1;
    std::string owner;  // Empty: the name of the access token.
};

// How its questions travel.
struct LockWay {
    // POSTs; the body of a good answer. Refusals as RefusalOf. From any thread.
    std::function<Result<std::string>(const std::string& path, const std::string& body)> post;
    // Lets some time pass. False when no more should be asked.
    std::function<bool(Duration)> pause;
    // The highest token that came this way, told with each question; null: of this lock alone.
    std::shared_ptr<std::atomic<std::uint64_t>> token_seen = {};
    // The clock of leases, which goes on while the machine is suspended, as the scheduler's does.
    std::function<Steady()> now = SteadyClock::now;
};

class RemoteLock {
  public:
    // Stands in line for up to `wait`, over changes of leaders. kConflict: others hold it. Whatever
    // else a call may fail with, if the wait is over.
    static Result<std::shared_ptr<RemoteLock>> Acquire(LockWay way, LockDemand demand);

    RemoteLock(const RemoteLock&) = delete;
    RemoteLock& operator=(const RemoteLock&) = delete;
    ~RemoteLock();

    const std::string& name() const { return demand_.name; }
    const std::string& lock_id() const { return lock_id_; }
    std::uint64_t token() const { return token_; }

    // Stopped when the lock is lost, at the latest when another may have it, and when it is let go.
    std::stop_token over() const { return over_.get_token(); }

    // Lets it go, and waits until that is stored; lost before is no error. Only the first call does
    // something.
    Result<void> Release();

  private:
    enum class Renewed : std::uint8_t { kYes, kLost, kUnknown };

    RemoteLock(LockWay way, LockDemand demand);
    Result<bool> AcquireOnce(Steady end, const std::string& request_id);
    Renewed Renew();
    void KeepRenewing();
    void WatchLease();
    bool IsOverBy(const Steady& time, std::unique_lock<std::mutex>& lock);
    std::string Path(std::string_view action) const;
    std::string IdBody() const;
    void NoteToken(std::uint64_t token);

    LockWay way_;
    const LockDemand demand_;
    std::string lock_id_;
    std::uint64_t token_ = 0;

    std::condition_variable changed_;
    std::mutex mutex_;    // Of the next three.
    Steady valid_until_;  // By our clock, never after the scheduler's.
    bool released_ = false;
    bool lost_ = false;
    std::stop_source over_;
    std::thread renewer_;
    std::thread watcher_;
};

}  // namespace takt::internal
