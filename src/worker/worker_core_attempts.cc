// Attempts in the worker's hand: from their assignment to the acknowledgement of their results.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/utf8.h"
#include "wire/frame_codec.h"
#include "wire/zstd.h"
#include "worker/worker_core.h"

namespace takt::internal {
namespace {

// Of a payload once unpacked. The scheduler's own bound is far below.
constexpr std::size_t kPayloadBytesMax = 64 << 20;

// Longer messages are cut. The scheduler would do it too, but refuses a frame that is too large.
constexpr std::size_t kResultMessageBytesMax = 4 << 10;

// The token is part of it: after a store lost its last writes, a number is given out again.
std::string KeyOf(std::string_view execution, std::uint32_t attempt, std::string_view token) {
    std::string key;
    key.reserve(execution.size() + token.size() + 12);  // A number has ten digits at most.
    key.append(execution).append("/").append(std::to_string(attempt)).append("/").append(token);
    return key;
}

}  // namespace

HeldPtr WorkerCore::FindHeld(const worker::v1::Attempt& attempt) const {
    const auto found =
        held_.find(KeyOf(attempt.execution_id(), attempt.attempt(), attempt.token()));
    return found == held_.end() ? nullptr : found->second;
}

void WorkerCore::OnAssign(const worker::v1::Assign& assign) {
    // From a leader that a later one has followed: whoever leads now decides anew.
    if (assign.epoch() < epoch_seen_) {
        Log(LogLevel::kWarning, "worker", "ignored an assignment of an older term",
            {{"execution", assign.attempt().execution_id()}, {"epoch", assign.epoch()}});
        return;
    }
    epoch_seen_ = assign.epoch();
    std::string key = KeyOf(assign.attempt().execution_id(), assign.attempt().attempt(),
                            assign.attempt().token());
    if (held_.contains(key)) return;
    auto held = std::make_shared<Held>();
    AssignedTask& task = held->task;
    task.execution_id = assign.attempt().execution_id();
    task.task_id = assign.task_id();
    task.task_name = assign.task_name();
    task.type = assign.type();
    task.queue = assign.queue();
    task.priority = assign.priority();
    task.attempt = assign.attempt().attempt();
    task.failures = assign.failures();
    task.epoch = assign.epoch();
    task.metadata.insert(assign.metadata().begin(), assign.metadata().end());
    task.scheduled_at = Time(Duration(static_cast<Duration::rep>(assign.scheduled_at_ms())));
    task.traceparent = assign.traceparent();
    task.tracestate = assign.tracestate();
    for (const auto& lock : assign.locks()) {
        task.locks.push_back({lock.name(), lock.token(), lock.permits()});
        held->declared_lost[lock.name()];
    }
    task.parent_id = assign.parent_id();
    task.step = assign.step();
    task.shard_index = assign.shard().index();
    task.shard_total = assign.shard().total();
    held->token = assign.attempt().token();
    held->timeout = options_.task_timeout;
    if (assign.timeout_ms() > 0) {
        const Duration own = std::min(kDurationMax, Duration(Duration::rep(assign.timeout_ms())));
        held->timeout = held->timeout > Duration(0) ? std::min(held->timeout, own) : own;
    }
    const TaskHandler* handler = handlers_->Find(task.type);
    held->async = handler && handler->is_async();
    held->mailbox = mailbox_;
    held_.emplace(std::move(key), held);
    counters_.in_hand = static_cast<std::uint32_t>(held_.size());
    ++counters_.assigned;
    if (assign.payload_zstd().empty()) {
        task.payload = assign.payload();
    } else if (auto payload = Unzstd(assign.payload_zstd(), kPayloadBytesMax)) {
        task.payload = std::move(*payload);
    } else {
        return EndAttempt(held, TaskResult::Rejected("the payload is " + payload.error().detail),
                          {});
    }
    waiting_.push_back(std::move(held));
    FeedPool();
}

// Gives attempts to the pool, unless too many results wait to be acknowledged.
void WorkerCore::FeedPool() {
    while (!waiting_.empty() && unacknowledged_ < options_.buffer_size) {
        HeldPtr held = std::move(waiting_.front());
        waiting_.pop_front();
        if (held->phase == Held::Phase::kWaiting) {
            PoolOf(*held).Push(held);
        }
    }
}

void WorkerCore::OnCancel(const worker::v1::Cancel& cancel) {
    const HeldPtr held = FindHeld(cancel.attempt());
    if (!held) return;
    StopHeld(held, cancel.reason() == "timeout" ? StopReason::kTimeout : StopReason::kCancelled);
}

void WorkerCore::StopHeld(const HeldPtr& held, StopReason reason) {
    auto waiting = Held::Phase::kWaiting;
    if (held->phase.compare_exchange_strong(waiting, Held::Phase::kWithdrawn)) {
        if (reason == StopReason::kShutdown) return ForgetHeld(*held);
        return EndAttempt(held, TaskResult::Failure("stopped before it began"), reason);
    }
    if (held->phase != Held::Phase::kRunning) return;
    auto none = StopReason::kNone;
    if (!held->reason.compare_exchange_strong(none, reason)) return;
    SetDue(*held, SteadyClock::now() + options_.stop_grace);
    pool_.RequestStop(held->stop);
}

void WorkerCore::OnAck(const worker::v1::Ack& ack) {
    const HeldPtr held = FindHeld(ack.attempt());
    if (!held || held->phase != Held::Phase::kEnded) return;
    if (!ack.accepted()) ++counters_.refused_stale;
    if (suspect_ == held) suspect_.reset();
    --unacknowledged_;
    ForgetHeld(*held);
    FeedPool();
}

void WorkerCore::ForgetHeld(Held& held) {
    SetDue(held, std::nullopt);
    held_.erase(KeyOf(held.task.execution_id, held.task.attempt, held.token));
    counters_.in_hand = static_cast<std::uint32_t>(held_.size());
    if (held_.empty()) idle_since_ = SteadyClock::now();
}

void WorkerCore::OnMail() {
    mailbox_->TakeMail(mail_);
    for (HeldPtr& held : mail_.started) {
        held->running_since = held->begun;
        if (held->phase != Held::Phase::kRunning) continue;
        if (held->deadline && held->reason == StopReason::kNone) SetDue(*held, held->deadline);
        held->started_due = true;
        started_due_.push_back(std::move(held));
    }
    mail_.started.clear();
    for (HeldPtr& held : mail_.news) {
        held->news_due = true;
        news_due_.push_back(std::move(held));
    }
    mail_.news.clear();
    TakeLockMail();
    TakeFetchMail();
    for (const HeldPtr& held : mail_.put_back) OnPutBack(held);
    mail_.put_back.clear();
    for (auto& [held, result] : mail_.finished) OnFinished(held, std::move(result));
    mail_.finished.clear();
    CountAbandoned();
    Flush();
    CheckDrained();
}

void WorkerCore::CountAbandoned() {
    counters_.abandoned = static_cast<std::uint32_t>(pool_.abandoned() + soon_pool_.abandoned());
}

// Whichever session there is may have named it; the next Hello does not, so that the scheduler gives
// it out again if it has not yet.
void WorkerCore::OnPutBack(const HeldPtr& held) {
    if (held->phase != Held::Phase::kRunning) return;
    Log(LogLevel::kWarning, "worker", "did not begin an attempt: the lease was over",
        {{"execution", held->task.execution_id}, {"attempt", held->task.attempt}});
    held->phase = Held::Phase::kWithdrawn;
    ForgetHeld(*held);
    connector_.Drop("the lease was over before an attempt began");
}

// The lease is over: what did not begin has been given to others. Named in a Hello, it could begin
// before the cancel comes.
void WorkerCore::WithdrawWaiting() {
    std::vector<HeldPtr> all;
    all.reserve(held_.size());
    for (const auto& [key, held] : held_) all.push_back(held);
    for (const HeldPtr& held : all) {
        auto waiting = Held::Phase::kWaiting;
        if (held->phase.compare_exchange_strong(waiting, Held::Phase::kWithdrawn)) {
            ForgetHeld(*held);
        }
    }
}

void WorkerCore::OnFinished(const HeldPtr& held, TaskResult result) {
    // Abandoned before: how it ended has been told.
    if (held->phase != Held::Phase::kRunning) return;
    StopReason reason = held->reason;
    // A handler that heeds its deadline itself is as late as one that was stopped at it; Remaining
    // counts whole milliseconds, so it may be almost one early.
    if (reason == StopReason::kNone && held->deadline &&
        SteadyClock::now() + Duration(1) >= *held->deadline) {
        reason = StopReason::kTimeout;
    }
    if (result.success() || reason == StopReason::kNone) {
        return EndAttempt(held, std::move(result), std::nullopt);
    }
    // Stopped because the worker goes: nobody's failure. Bye gives it to others.
    if (reason == StopReason::kShutdown) {
        held->phase = Held::Phase::kWithdrawn;
        return ForgetHeld(*held);
    }
    // However a handler says that it was stopped, this is what happened.
    if (reason == StopReason::kTimeout) result.message = held->TimeoutMessage();
    EndAttempt(held, std::move(result), reason);
}

void WorkerCore::EndAttempt(const HeldPtr& held, TaskResult result, std::optional<StopReason> by) {
    SetDue(*held, std::nullopt);
    held->phase = Held::Phase::kEnded;
    for (const auto& [ask, call] : held->lock_calls) call->Answer({0, "the attempt is over"});
    held->lock_calls.clear();
    held->ended_at = SteadyClock::now();
    held->ran = held->RanFor(held->ended_at);
    // Bytes that are not UTF-8 grow when they are replaced.
    if (result.data.size() <= options_.result_bytes_max) MakeUtf8(result.data);
    if (result.data.size() > options_.result_bytes_max) {
        result = TaskResult::FinalFailure("the result has " + std::to_string(result.data.size()) +
                                          " bytes, which is more than the limit of " +
                                          std::to_string(options_.result_bytes_max));
    }
    result.message = CutUtf8(result.message, kResultMessageBytesMax);
    MakeUtf8(result.message);
    ++(result.success() ? counters_.succeeded : counters_.failed);
    held->result = std::move(result);
    held->ended_by = by;
    held->result_due = true;
    ++unacknowledged_;
    results_due_.push_back(held);
}

// One of the results that are under way may be what the scheduler does not take. Said again with
// the same words it would end every session, and none of the others would arrive either. So they
// are said one by one; see suspects_due_.
void WorkerCore::BlameResults(const std::string& why) {
    std::vector<HeldPtr> sent;
    for (const auto& [key, held] : held_) {
        if (held->result_sent) sent.push_back(held);
    }
    for (const HeldPtr& held : sent) {
        if (++held->refusals == 1) continue;
        Log(LogLevel::kError, "worker", "dropped a result that the scheduler does not take",
            {{"execution", held->task.execution_id}, {"attempt", held->task.attempt}});
        if (held->refusals == 2) {
            held->result =
                TaskResult::FinalFailure("the scheduler did not take the result: " +
                                         std::string(CutUtf8(why, kResultMessageBytesMax / 2)));
            continue;
        }
        // Not even that. Without it in hand, the scheduler gives the execution to others.
        --unacknowledged_;
        ForgetHeld(*held);
    }
    FeedPool();
}

}  // namespace takt::internal
