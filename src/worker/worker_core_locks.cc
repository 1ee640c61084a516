// Locks that handlers ask for: their questions and the scheduler's answers.
#include <algorithm>
#include <utility>

#include "worker/worker_core.h"

namespace takt::internal {
namespace {

// Over the network and back, if the scheduler answers at the end of the wait.
constexpr Duration kAnswerSlack{5'000};

// Locks let go that are said again to the next session: the last one may not have heard of them.
// All others go with the attempt.
constexpr std::size_t kDropsKept = 1'000;

// Bytes of a question in a frame, about.
constexpr std::size_t kAskBytes = 250;

void NameAttempt(worker::v1::Attempt& out, const Held& held) {
    out.set_execution_id(held.task.execution_id);
    out.set_attempt(held.task.attempt);
    out.set_token(held.token);
}

}  // namespace

// --- On the handler's thread --------------------------------------------------------------------

Result<TaskLock> Held::AcquireLock(std::string_view name, const TaskLockOptions& options) {
    auto call = std::make_shared<LockCall>(++asks, std::string(name), options.permits,
                                           std::max(options.wait, Duration(0)));
    mailbox->AskLock(shared_from_this(), call);
    const auto verdict = call->Await(stop.get_token(), call->wait + kAnswerSlack);
    if (verdict && verdict->token != 0) {
        return TaskLock{call->ask, verdict->token, call->lost.get_token()};
    }
    if (verdict) return Fail(ErrorCode::kConflict, verdict->why);
    // It may be given to the attempt later: nobody would use it.
    mailbox->DropLock(shared_from_this(), call->ask);
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "the attempt is to stop");
    return Fail(ErrorCode::kUnavailable, "no scheduler has answered for lock '" + call->name + "'");
}

std::stop_token Held::LockLost(std::string_view name) {
    const auto found = declared_lost.find(name);
    return found == declared_lost.end() ? std::stop_token() : found->second.get_token();
}

void Held::ReleaseLock(std::uint64_t ask) {
    mailbox->DropLock(shared_from_this(), ask);
}

// --- On the network thread ----------------------------------------------------------------------

void WorkerCore::TakeLockMail() {
    for (auto& [held, call] : mail_.lock_asks) {
        if (held->phase != Held::Phase::kRunning) {
            call->Answer({0, "the attempt is over"});
            continue;
        }
        held->lock_calls[call->ask] = call;
        lock_asks_due_.emplace_back(std::move(held), std::move(call));
    }
    mail_.lock_asks.clear();
    for (auto& [held, ask] : mail_.lock_drops) {
        held->lock_calls.erase(ask);
        held->lock_held.erase(ask);
        held->lock_drops.push_back(ask);
        if (held->lock_drops.size() > kDropsKept) held->lock_drops.pop_front();
        lock_drops_due_.emplace_back(std::move(held), ask);
    }
    mail_.lock_drops.clear();
}

// Frames of the session before may not have arrived, nor what they would have been answered.
void WorkerCore::RepeatLocks() {
    lock_asks_due_.clear();
    lock_drops_due_.clear();
    for (const auto& [key, held] : held_) {
        if (held->phase != Held::Phase::kRunning) continue;
        for (const auto& [ask, call] : held->lock_calls) lock_asks_due_.emplace_back(held, call);
        for (const std::uint64_t ask : held->lock_drops) lock_drops_due_.emplace_back(held, ask);
    }
}

void WorkerCore::FillLocks(std::size_t& bytes) {
    for (; !lock_asks_due_.empty() && bytes < options_.frame_bytes_max;
         lock_asks_due_.pop_front()) {
        const auto& [held, call] = lock_asks_due_.front();
        if (held->phase != Held::Phase::kRunning || !held->lock_calls.contains(call->ask)) continue;
        worker::v1::LockAsk& out = *frame_.add_lock_asks();
        NameAttempt(*out.mutable_attempt(), *held);
        out.set_ask(call->ask);
        out.set_name(call->name);
        out.set_permits(call->permits);
        out.set_wait_ms(static_cast<std::uint64_t>(call->wait.count()));
        bytes += kAskBytes;
    }
    for (; !lock_drops_due_.empty() && bytes < options_.frame_bytes_max;
         lock_drops_due_.pop_front()) {
        const auto& [held, ask] = lock_drops_due_.front();
        if (held->phase != Held::Phase::kRunning) continue;
        worker::v1::LockDrop& out = *frame_.add_lock_drops();
        NameAttempt(*out.mutable_attempt(), *held);
        out.set_ask(ask);
        bytes += kAskBytes;
    }
}

void WorkerCore::OnLockVerdict(const worker::v1::LockVerdict& verdict) {
    const HeldPtr held = FindHeld(verdict.attempt());
    if (!held) return;
    const auto found = held->lock_calls.find(verdict.ask());
    if (found == held->lock_calls.end()) {
        if (verdict.token() == 0) OnLockLost(*held, verdict);
        return;
    }
    if (verdict.token() != 0) held->lock_held[verdict.ask()] = found->second;
    found->second->Answer({verdict.token(), verdict.why()});
    held->lock_calls.erase(found);
}

// A lock that the attempt had was taken away.
void WorkerCore::OnLockLost(Held& held, const worker::v1::LockVerdict& verdict) {
    if (verdict.ask() == 0) {
        const auto declared = held.declared_lost.find(verdict.name());
        if (declared != held.declared_lost.end()) pool_.RequestStop(declared->second);
    } else if (const auto had = held.lock_held.extract(verdict.ask())) {
        pool_.RequestStop(had.mapped()->lost);
    }
}

}  // namespace takt::internal
