// ExecutionWaits: GETs of executions that are answered when those have ended, or after a while.
//
// A caller that waits is parked here with its connection; no thread, no question and no timer of its
// own. When this node stops leading, it is answered at once with what is stored: it asks again, and
// is passed on to whoever leads then. All on the server's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "api/execution_json.h"
#include "api/services.h"

namespace takt::internal {

// Below what a scheduler that passes the question on waits for an answer.
constexpr Duration kExecutionWaitMax{50'000};

class ExecutionWaits {
  public:
    // Answers when the execution has ended, or after `wait` with how it stands; at once if it has
    // ended or there is none. Others than the leader pass the call on.
    void Wait(Call call, ExecutionId id, Duration wait);

  private:
    using Key = std::pair<Steady, std::uint64_t>;  // The deadline, and which of those.
    struct Waiter {
        Call call;
        ExecutionId id;
        std::uint64_t number;  // EndWatch's.
    };

    void OnFound(const std::shared_ptr<Services>& services, Key key, FoundExecutions found);
    void AnswerAsStored(Key key);
    void Drop(Key key);
    // The waiter, which is not waiting any more; nothing if it was answered or is gone.
    std::map<Key, Waiter>::node_type Take(Key key);
    void Arm(const std::shared_ptr<Services>& services);
    void OnTime(const std::shared_ptr<Services>& services);

    std::map<Key, Waiter> waiters_;
    std::uint64_t last_ = 0;
    std::uint64_t timer_ = 0;  // For the first of `waiters_`, or some time before.
    Steady timer_at_{};
};

}  // namespace takt::internal
