// The calls of SchedulerApi for co_await, in coroutines of whatever kind a program has.
//
//     Job Resize(takt::Client& client) {
//         const auto run = co_await takt::Run(client, {.type = "resize"}, 1min);
//         if (!run) …
//     }
//
// A coroutine goes on where callbacks are called: on the object's own thread for them, one after the
// other. What it awaits must not outlive the object; one that is destroyed while it awaits is a
// mistake, as the answer would find nobody.
//
// A header of its own, which nothing else includes: it wants <coroutine> of clang 16, g++ 13 or later.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#error "takt/awaitable.h needs g++ 13 or later, or clang; the rest of Takt does not"
#endif

#include <coroutine>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "takt/scheduler_api.h"

namespace takt {

// The answer to a call that begins when it is awaited. To be awaited once.
template <typename T>
class [[nodiscard]] Awaitable {
  public:
    using Start = std::function<void(std::function<void(Result<T>)>)>;

    explicit Awaitable(Start start) : start_(std::move(start)) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
        // The coroutine may have gone on, and this be gone, before `start` returns.
        const Start start = std::move(start_);
        start([this, waiting](Result<T> answer) {
            answer_.emplace(std::move(answer));
            waiting.resume();
        });
    }
    Result<T> await_resume() { return std::move(*answer_); }

  private:
    Start start_;
    std::optional<Result<T>> answer_;
};

inline Awaitable<TaskRecord> Submit(SchedulerApi& scheduler, Task task) {
    return Awaitable<TaskRecord>([&scheduler, task = std::move(task)](auto done) {
        scheduler.SubmitTaskAsync(task, std::move(done));
    });
}

inline Awaitable<Execution> WaitFor(SchedulerApi& scheduler, std::string id, Duration timeout) {
    return Awaitable<Execution>([&scheduler, id = std::move(id), timeout](auto done) {
        scheduler.WaitAsync(id, timeout, std::move(done));
    });
}

inline Awaitable<Execution> Run(SchedulerApi& scheduler, Task task, Duration timeout) {
    return Awaitable<Execution>([&scheduler, task = std::move(task), timeout](auto done) {
        scheduler.RunAsync(task, timeout, std::move(done));
    });
}

}  // namespace takt
