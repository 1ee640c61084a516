// WorkerCore: what the worker's network thread does. See worker_runtime.h.
//
// Everything on the thread that runs its loop, but for the counters.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/life.h"
#include "worker.pb.h"
#include "worker/connector.h"
#include "worker/handler.h"
#include "worker/handler_pool.h"
#include "worker/mailbox.h"
#include "worker/options.h"
#include "worker/readings.h"
#include "worker/run_tracer.h"

namespace takt::internal {

class WorkerCore {
  public:
    struct Counters {
        std::atomic<bool> attached = false;
        std::atomic<bool> draining = false;
        std::atomic<std::uint32_t> capacity = 0;  // What an operator has set, else its own word.
        std::atomic<std::uint32_t> in_hand = 0;
        std::atomic<std::uint32_t> abandoned = 0;
        std::atomic<std::uint64_t> assigned = 0;
        std::atomic<std::uint64_t> succeeded = 0;
        std::atomic<std::uint64_t> failed = 0;
        std::atomic<std::uint64_t> refused_stale = 0;
        std::atomic<std::uint64_t> reconnects = 0;
        std::atomic<Duration::rep> heartbeat_delay_ms = 0;
    };

    // `stopped` is called once, when nothing is left to be done; with an error if the worker was
    // turned away for good.
    WorkerCore(boost::asio::io_context& loop, HttpClient& client, const WorkerOptions& options,
               std::shared_ptr<const HandlerRegistry> handlers,
               std::shared_ptr<RunTracer> tracer,  // Null: attempts are not traced.
               std::function<void(Result<void>)> stopped);
    ~WorkerCore();

    void Start();
    void Stop();
    // Says, now and from then on, how many attempts it takes at once.
    void SetCapacity(std::uint32_t capacity);

    const Counters& counters() const { return counters_; }

  private:
    enum class Stage : std::uint8_t {
        kServing,
        kDraining,   // Finishes what it has.
        kStopping,   // What still runs has been asked to stop.
        kFinishing,  // Said Bye.
        kStopped,
    };

    // The connection.
    void OnOpen();
    void OnMessage(const WebSocketMessage& message);
    void OnLost(const std::string& why);
    bool TellsWhyOutside(const std::string& why);
    void OnWelcome(const worker::v1::Welcome& welcome);
    void OnAssign(const worker::v1::Assign& assign);
    void OnCancel(const worker::v1::Cancel& cancel);
    void OnAck(const worker::v1::Ack& ack);
    void OnLockVerdict(const worker::v1::LockVerdict& verdict);
    void OnLockLost(Held& held, const worker::v1::LockVerdict& verdict);
    // Results of earlier steps that they ask for.
    void TakeFetchMail();
    void RepeatFetches();
    void FillFetches(std::size_t& bytes);
    void OnFetched(const worker::v1::Fetched& fetched);
    void OnCapacity(std::uint32_t set);
    void OnRefused(const worker::v1::Refused& refused);
    void BlameResults(const std::string& why);
    void Beat();
    void ExtendLease(Steady heard);

    // Attempts.
    void OnMail();
    void OnFinished(const HeldPtr& held, TaskResult result);
    void OnPutBack(const HeldPtr& held);
    void WithdrawWaiting();
    void OnDue(const HeldPtr& held, Steady now);
    void StopHeld(const HeldPtr& held, StopReason reason);
    void EndAttempt(const HeldPtr& held, TaskResult result, std::optional<StopReason> by);
    void ForgetHeld(Held& held);
    void SetDue(Held& held, std::optional<Steady> due);
    void FeedPool();
    HandlerPool& PoolOf(const Held& held) { return held.async ? soon_pool_ : pool_; }
    void CountAbandoned();
    HeldPtr FindHeld(const worker::v1::Attempt& attempt) const;

    // Locks that handlers ask for.
    void TakeLockMail();
    void RepeatLocks();

    // Sending.
    void Flush();
    void FillNews(std::size_t& bytes);
    void FillStarted(std::size_t& bytes);
    void FillLocks(std::size_t& bytes);
    void FillResults(std::size_t& bytes);
    void AddResult(Held& held, std::size_t& bytes);
    bool SendFrame();

    // Time and stages.
    void Arm(Steady at);
    void ArmNext();
    void OnTimer();
    void Drain(const std::string& why);
    void StopAll(Steady now);
    void CheckDrained();
    void Finish();
    void Done();
    void Tell(WorkerEvent event, std::string_view detail);

    Life life_;
    boost::asio::io_context& loop_;
    const WorkerOptions& options_;
    const std::function<void(Result<void>)> stopped_;
    const std::string instance_;
    std::vector<std::string> types_;
    std::shared_ptr<Mailbox> mailbox_;
    const std::shared_ptr<const HandlerRegistry> handlers_;
    const std::shared_ptr<LeaseEnd> lease_end_ = std::make_shared<LeaseEnd>(0);
    HandlerPool pool_;
    HandlerPool soon_pool_;  // Of handlers that return at once: a few threads begin any number.
    Connector connector_;
    Readings readings_;
    Counters counters_;

    std::unordered_map<std::string, HeldPtr> held_;  // By execution id and attempt.
    std::deque<HeldPtr> waiting_;                    // Not given to the pool: the buffer is full.
    std::size_t unacknowledged_ = 0;                 // Of held_, those that ended.
    std::set<std::pair<Steady, Held*>> deadlines_;

    std::deque<HeldPtr> started_due_;
    std::deque<HeldPtr> results_due_;
    std::deque<HeldPtr> news_due_;
    std::deque<std::pair<HeldPtr, LockCallPtr>> lock_asks_due_;
    std::deque<std::pair<HeldPtr, FetchCallPtr>> fetches_due_;
    std::deque<std::pair<HeldPtr, std::uint64_t>> lock_drops_due_;
    // Results that may be why a session was refused go first and one by one, each alone until it is
    // acknowledged: only so it shows which one it is.
    std::deque<HeldPtr> suspects_due_;
    HeldPtr suspect_;  // The one that is under way.
    Mailbox::Mail mail_;
    worker::v1::WorkerFrame frame_;
    worker::v1::SchedulerFrame received_;
    std::string bytes_;

    std::uint32_t capacity_said_;     // Its own word.
    std::uint32_t capacity_set_ = 0;  // What an operator has set; 0: nothing.
    bool welcomed_ = false;
    std::uint64_t epoch_seen_ = 0;
    std::uint64_t term_seen_ = 0;  // The id of the last Welcome's.
    std::uint64_t space_id_ = 0;   // Of the namespace whose epochs these are.
    Duration heartbeat_{10'000};
    Duration lease_{30'000};       // A scheduler that is silent for longer is left.
    Duration lease_said_{30'000};  // The scheduler's own: after that it takes the worker for dead.
    Steady heard_at_{};
    Steady hello_at_{};
    Steady beat_at_{};  // When the next heartbeat is due.

    Stage stage_ = Stage::kServing;
    Steady stage_until_{};
    Steady idle_since_{};
    std::optional<Error> failure_;
    std::string refused_why_;  // The last time.
    Steady refused_said_at_{};
    std::string outside_why_;  // Of the last session that ended before it began.
    Steady outside_tell_at_{};
    Duration outside_pause_{};

    boost::asio::steady_timer timer_;
    std::optional<Steady> armed_;
    boost::asio::steady_timer flush_timer_;
    bool flush_waits_ = false;
};

}  // namespace takt::internal
