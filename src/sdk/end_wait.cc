#include "sdk/end_wait.h"

#include <algorithm>

#include "sdk/answers.h"
#include "sdk/records.h"

namespace takt {
namespace {

// Between questions that are answered at once: short tasks are seen soon, long ones cost little.
constexpr Duration kPauseMin{5};
constexpr Duration kPauseMax{500};

// A scheduler that is being replaced will be back.
bool MayPass(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kUnknown;
}

}  // namespace

EndWait::EndWait(std::shared_ptr<Calls> calls, std::string id, Duration timeout, Done done)
    : calls_(std::move(calls)),
      id_(std::move(id)),
      end_(Clock::now() + timeout),
      done_(std::move(done)),
      pause_(kPauseMin) {}

std::shared_ptr<EndWait> EndWait::Begin(std::shared_ptr<Calls> calls, std::string id,
                                        Duration timeout, Done done) {
    std::shared_ptr<EndWait> wait(
        new EndWait(std::move(calls), std::move(id), timeout, std::move(done)));
    wait->Ask();
    return wait;
}

Duration EndWait::Left() const {
    const auto left = std::chrono::ceil<Duration>(end_ - Clock::now());
    return std::max(left, Duration(0));
}

void EndWait::Ask() {
    asked_at_ = Clock::now();
    asked_wait_ = std::min(Left(), Duration(calls_->wait_max()));
    std::string path = internal::PathOf("executions", id_);
    if (asked_wait_ > Duration(0)) path += "?wait=" + std::to_string(asked_wait_.count()) + "ms";
    calls_->Ask({.path = std::move(path), .wait = asked_wait_},
                [self = shared_from_this()](const internal::Result<std::string>& answer) {
                    self->OnAnswer(answer);
                });
}

void EndWait::OnAnswer(const internal::Result<std::string>& answer) {
    last_ = ReadAnswer(answer, ReadExecution);
    const bool goes_on = *last_ ? !(*last_)->finished() : MayPass(last_->error());
    if (!goes_on) return done_(std::move(*last_));
    if (given_up_) return;
    if (calls_->stopped()) {
        return done_(Error{ErrorCode::kCancelled, "stopped while waiting for '" + id_ + "'", {}});
    }
    if (Left() == Duration(0)) return done_(WhyNotEnded());
    // One that waited as long as it was asked to is asked again at once. An earlier answer means
    // that the leader changes, or that nobody could be asked to wait.
    const bool waited =
        *last_ && asked_wait_ > Duration(0) && Clock::now() - asked_at_ >= asked_wait_ - kPauseMin;
    const Duration pause = waited ? Duration(0) : std::min(pause_, Left());
    pause_ = waited ? kPauseMin : std::min(pause_ * 2, kPauseMax);
    calls_->timers.After(pause, [self = shared_from_this()] { self->Ask(); });
}

Error EndWait::WhyNotEnded() const {
    if (!*last_) return last_->error();
    return {ErrorCode::kTimeout,
            "'" + id_ + "' is still " + std::string(Name((*last_)->status)) +
                "; wait longer, or ask Explain why",
            {}};
}

}  // namespace takt
