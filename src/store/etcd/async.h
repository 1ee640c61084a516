// Async: a coroutine of several steps, each of which may wait for etcd.
//
// An Async does nothing until it is awaited; it goes on wherever its last wait ended, which is a
// thread of gRPC's. What a coroutine needs after its first wait must be its own: parameters are
// taken by value. Failures are values (Result); an exception is a bug and ends the process.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace takt::internal::etcd {

template <typename T>
class [[nodiscard]] Async {
  public:
    struct promise_type {
        struct Final {
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(
                std::coroutine_handle<promise_type> self) const noexcept {
                return self.promise().waiter;
            }
            void await_resume() const noexcept {}
        };
        Async get_return_object() {
            return Async(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        Final final_suspend() noexcept { return {}; }
        void return_value(T result) { value.emplace(std::move(result)); }
        void unhandled_exception() { std::terminate(); }

        std::coroutine_handle<> waiter;
        std::optional<T> value;
    };

    Async(Async&& other) noexcept : self_(std::exchange(other.self_, nullptr)) {}
    Async& operator=(Async&&) = delete;
    ~Async() {
        if (self_) self_.destroy();
    }

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
        self_.promise().waiter = waiter;
        return self_;
    }
    T await_resume() { return std::move(*self_.promise().value); }

  private:
    explicit Async(std::coroutine_handle<promise_type> self) : self_(self) {}

    std::coroutine_handle<promise_type> self_;
};

// A coroutine that nobody awaits: it runs at once, up to its first wait, and cleans up after
// itself.
struct Detached {
    struct promise_type {
        Detached get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

}  // namespace takt::internal::etcd
