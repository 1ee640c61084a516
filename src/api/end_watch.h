// EndWatch: tells whoever waits for the end of an execution that it has come.
//
// Somebody who waits costs a place in a map: what ends looks up its own id, and a release that ends
// nothing looks at nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "base/id.h"
#include "engine/effects.h"

namespace takt::internal {

class EndWatch {
  public:
    // Called on the node's thread, at most once; must not call back.
    using Notify = std::move_only_function<void()>;

    // From any thread. Calls `notify` when the execution has ended, as the store says by then, or
    // when this node stops leading. An end before this call is not told of: look after it. The
    // number is for Forget; 0 if this node does not lead, or too many wait already.
    std::uint64_t Await(const ExecutionId& execution, Notify notify);
    // Nothing if it was notified.
    void Forget(const ExecutionId& execution, std::uint64_t number);

    std::size_t waiting() const { return count_; }

    // On the node's thread.
    void Release(const Effects& effects);
    void OnLead(bool leads);

  private:
    // As many as connections could bring: a bound on what a program of ours may do wrong.
    static constexpr std::size_t kWaitingMax = 100'000;

    void Tell(const ExecutionId& execution);

    mutable std::mutex mutex_;
    std::map<std::pair<Text, std::uint64_t>, Notify> waiting_;  // By execution and number.
    std::atomic<std::size_t> count_ = 0;                        // Of `waiting_`.
    std::uint64_t last_number_ = 0;
    bool leading_ = false;
};

}  // namespace takt::internal
