// Time passing, and the stages of a worker's end: draining, stopping, saying Bye.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"
#include "worker/worker_core.h"

namespace takt::internal {
namespace {

// As long as a Bye may take to leave.
constexpr Duration kByeWait{1'000};

}  // namespace

void WorkerCore::SetDue(Held& held, std::optional<Steady> due) {
    if (held.due) deadlines_.erase({*held.due, &held});
    held.due = due;
    if (!due) return;
    deadlines_.emplace(*due, &held);
    Arm(*due);
}

// Its timeout has passed, or its grace after being asked to stop.
void WorkerCore::OnDue(const HeldPtr& held, Steady) {
    if (held->phase != Held::Phase::kRunning) return;
    if (held->reason == StopReason::kNone) return StopHeld(held, StopReason::kTimeout);
    const StopReason reason = held->reason;
    if (!PoolOf(*held).Abandon(*held)) {
        Log(LogLevel::kError, "worker",
            "a handler does not stop, and too many were abandoned already; its place stays taken",
            {{"execution", held->task.execution_id}, {"type", held->task.type}});
        return;
    }
    CountAbandoned();
    Log(LogLevel::kWarning, "worker", "abandoned a handler that does not stop",
        {{"execution", held->task.execution_id},
         {"type", held->task.type},
         {"reason", Name(reason)}});
    if (reason == StopReason::kShutdown) {
        held->phase = Held::Phase::kWithdrawn;
        return ForgetHeld(*held);
    }
    std::string message = "did not stop when asked to, and was abandoned";
    if (reason == StopReason::kTimeout) message = held->TimeoutMessage() + "; it " + message;
    EndAttempt(held, TaskResult::Failure(std::move(message)), reason);
}

void WorkerCore::Arm(Steady at) {
    if (stage_ == Stage::kStopped || (armed_ && *armed_ <= at)) return;
    armed_ = at;
    timer_.expires_after(std::max(SteadyClock::duration(0), at - SteadyClock::now()));
    timer_.async_wait(life_.Guard([this](const boost::system::error_code& error) {
        if (error) return;
        armed_.reset();
        OnTimer();
    }));
}

void WorkerCore::ArmNext() {
    if (connector_.open()) Arm(heard_at_ + lease_);
    if (welcomed_) Arm(beat_at_);
    if (!deadlines_.empty()) Arm(deadlines_.begin()->first);
    if (stage_ != Stage::kServing) {
        Arm(stage_until_);
    } else if (options_.idle_timeout > Duration(0) && held_.empty()) {
        Arm(idle_since_ + options_.idle_timeout);
    }
}

void WorkerCore::OnTimer() {
    const Steady now = SteadyClock::now();
    if (stage_ == Stage::kFinishing && now >= stage_until_) return Done();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        const HeldPtr held = deadlines_.begin()->second->shared_from_this();
        SetDue(*held, std::nullopt);
        OnDue(held, now);
    }
    if (connector_.open() && now - heard_at_ >= lease_) {
        connector_.Drop("nothing was heard from the scheduler for longer than the lease");
    }
    if (welcomed_ && now >= beat_at_) Beat();
    if (stage_ == Stage::kServing && options_.idle_timeout > Duration(0) && held_.empty() &&
        now - idle_since_ >= options_.idle_timeout) {
        Drain("no work for longer than the idle timeout");
    }
    if (stage_ == Stage::kDraining && now >= stage_until_) StopAll(now);
    if (stage_ == Stage::kStopping && now >= stage_until_) return Finish();
    Flush();
    CheckDrained();
    ArmNext();
}

void WorkerCore::Stop() {
    if (stage_ == Stage::kServing) return Drain("asked to stop");
    if (stage_ == Stage::kFinishing || stage_ == Stage::kStopped) return;
    StopAll(SteadyClock::now());
    Finish();
}

void WorkerCore::Drain(const std::string& why) {
    stage_ = Stage::kDraining;
    stage_until_ = SteadyClock::now() + options_.drain_timeout;
    counters_.draining = true;
    Log(LogLevel::kInfo, "worker", "draining", {{"why", why}, {"in_hand", held_.size()}});
    Tell(WorkerEvent::kDraining, why);
    if (welcomed_) Beat();  // Says that nothing new is wanted.
    ArmNext();
    CheckDrained();
}

void WorkerCore::StopAll(Steady now) {
    stage_ = Stage::kStopping;
    // A handler that stops at the last moment still has its result sent.
    stage_until_ = now + options_.stop_grace + kByeWait;
    std::vector<HeldPtr> all;
    all.reserve(held_.size());
    for (const auto& [key, held] : held_) all.push_back(held);
    for (const HeldPtr& held : all) StopHeld(held, StopReason::kShutdown);
}

void WorkerCore::CheckDrained() {
    const bool waiting = stage_ == Stage::kDraining || stage_ == Stage::kStopping;
    if (waiting && held_.empty()) Finish();
}

void WorkerCore::Finish() {
    if (stage_ == Stage::kFinishing || stage_ == Stage::kStopped) return;
    Flush();
    stage_ = Stage::kFinishing;
    stage_until_ = SteadyClock::now() + kByeWait;
    if (welcomed_) {
        frame_.Clear();
        frame_.mutable_bye()->set_reason("stopped");
        SendFrame();
    }
    ArmNext();
    connector_.Finish([&loop = loop_, done = life_.Guard([this] { Done(); })] {
        boost::asio::post(loop, auto(done));
    });
}

void WorkerCore::Done() {
    if (std::exchange(stage_, Stage::kStopped) == Stage::kStopped) return;
    timer_.cancel();
    flush_timer_.cancel();
    counters_.attached = false;
    mailbox_->Close();
    Tell(WorkerEvent::kStopped, failure_ ? failure_->detail : "");
    if (failure_) return stopped_(std::unexpected(*failure_));
    stopped_({});
}

}  // namespace takt::internal
