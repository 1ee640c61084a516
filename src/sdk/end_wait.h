// EndWait: one wait for the end of an execution. Asks, and the scheduler answers when it has ended;
// asks on while schedulers are away or change.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sdk/calls.h"
#include "takt/error.h"
#include "takt/execution.h"

namespace takt {

class EndWait : public std::enable_shared_from_this<EndWait> {
  public:
    using Done = std::function<void(Result<Execution>)>;

    // Calls `done` once, on any thread, which it must not block: with the execution that has ended;
    // kTimeout after `timeout`; kCancelled when `calls` are stopped; whatever else asking may fail
    // with, but for what passes.
    static std::shared_ptr<EndWait> Begin(std::shared_ptr<Calls> calls, std::string id,
                                          Duration timeout, Done done);

    // From any thread: nobody wants to know any more. `done` may still be called.
    void GiveUp() { given_up_ = true; }

  private:
    using Clock = std::chrono::steady_clock;

    EndWait(std::shared_ptr<Calls> calls, std::string id, Duration timeout, Done done);
    void Ask();
    void OnAnswer(const internal::Result<std::string>& answer);
    Duration Left() const;
    Error WhyNotEnded() const;

    const std::shared_ptr<Calls> calls_;
    const std::string id_;
    const Clock::time_point end_;
    const Done done_;
    std::atomic<bool> given_up_ = false;
    Duration asked_wait_{0};      // Of the question that is under way,
    Clock::time_point asked_at_;  // which was asked then.
    Duration pause_;
    std::optional<Result<Execution>> last_;  // The last answer.
};

}  // namespace takt
