// Flow: a function that waits for callbacks, written from top to bottom.
//
//     Flow<> Greeter::Greet(TaskId id) {
//         const auto task = co_await home_.Wait<Result<TaskRow>>(
//             [&](auto done) { store_.FindTask(id, std::move(done)); });
//         if (!task) co_return;
//         co_await home_.Sleep(Duration(100));
//         …
//     }
//     Launch(Greet(id));
//
// Whoever starts something gives it a callback (store, node, client: the narrow waist); whoever has
// to wait more than once is a Flow. It runs on one thread, on any Runtime, the simulator's too;
// sockets, which need cancellation, are asio::awaitable (http/spawn.h).
//
// - A flow whose callback is dropped instead of called ends there: its locals are destroyed. So it
//   ends when its object is gone or its term over, and needs no checks after a wait.
// - Parameters are taken by value, as they outlive the call; what `this` points to must outlive the
//   flow, or the wait must be a Home's.
// - What was true before a wait need not be after it: other turns have run.
// - An exception that escapes reaches whoever resumed the flow, as from any callback.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace takt::internal {

template <typename T = void>
class Flow;

class FlowPromise {
  public:
    std::suspend_always initial_suspend() noexcept { return {}; }

    struct End {
        bool await_ready() noexcept { return false; }
        template <typename Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
            if (FlowPromise* waiting = ended.promise().waiting_) return waiting->self_;
            ended.destroy();
            return std::noop_coroutine();
        }
        void await_resume() noexcept {}
    };
    End final_suspend() noexcept { return {}; }

    void unhandled_exception() {
        if (!waiting_) throw;
        escaped_ = std::current_exception();
    }

    // Goes on after a wait. What escapes from the outermost flow is thrown, and the flow gone.
    void Resume() {
        const std::coroutine_handle<> outermost = root().self_;
        try {
            self_.resume();
        } catch (...) {
            outermost.destroy();
            throw;
        }
    }

    // Ends this flow and those that wait for it, without going on.
    void Drop() { root().self_.destroy(); }

  protected:
    template <typename T>
    friend class Flow;

    FlowPromise& root() {
        FlowPromise* at = this;
        while (at->waiting_) at = at->waiting_;
        return *at;
    }

    std::coroutine_handle<> self_;
    FlowPromise* waiting_ = nullptr;  // The flow that waits for this one.
    std::exception_ptr escaped_;
};

// The value that a flow gives to the one that waits for it.
template <typename T>
class FlowValue : public FlowPromise {
  public:
    void return_value(T value) { value_.emplace(std::move(value)); }
    T Take() { return std::move(*value_); }

  private:
    std::optional<T> value_;
};

template <>
class FlowValue<void> : public FlowPromise {
  public:
    void return_void() {}
    void Take() {}
};

template <typename T>
class [[nodiscard]] Flow {
  public:
    struct promise_type : FlowValue<T> {
        promise_type() { this->self_ = Handle::from_promise(*this); }
        Flow get_return_object() { return Flow(Handle::from_promise(*this)); }
    };
    using Handle = std::coroutine_handle<promise_type>;

    Flow(Flow&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Flow& operator=(Flow&&) = delete;
    ~Flow() {
        if (handle_) handle_.destroy();
    }

    // To be awaited by another flow, once.
    bool await_ready() const noexcept { return false; }
    template <typename Waiting>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Waiting> waiting) noexcept {
        handle_.promise().waiting_ = &waiting.promise();
        return handle_;
    }
    T await_resume() {
        promise_type& promise = handle_.promise();
        if (promise.escaped_) std::rethrow_exception(promise.escaped_);
        return promise.Take();
    }

  private:
    friend void Launch(Flow<void> flow);
    explicit Flow(Handle handle) : handle_(handle) {}
    Handle handle_;
};

// Runs a flow up to its first wait. From there on it lives by itself.
inline void Launch(Flow<> flow) {
    std::exchange(flow.handle_, nullptr).promise().Resume();
}

// The callback that a flow waits for: goes on when called, ends the flow when dropped. To be called
// on the flow's thread, also while it is being handed over.
template <typename V>
class FlowWait {
  public:
    class Callback {
      public:
        explicit Callback(FlowWait* wait) : wait_(wait) {}
        Callback(Callback&& other) noexcept : wait_(std::exchange(other.wait_, nullptr)) {}
        Callback& operator=(Callback&&) = delete;
        ~Callback() {
            if (wait_) wait_->OnDropped();
        }
        void operator()(V value) {
            if (FlowWait* wait = std::exchange(wait_, nullptr)) wait->OnCalled(std::move(value));
        }

      private:
        FlowWait* wait_;
    };

    void OnCalled(V value) {
        value_.emplace(std::move(value));
        if (!handing_over_) flow_->Resume();
    }
    void OnDropped() {
        dropped_ = true;
        if (!handing_over_) flow_->Drop();
    }

  protected:
    // Whether the flow has to wait. It is gone if the callback was dropped.
    template <typename Start>
    bool HandOver(FlowPromise& flow, Start& start) {
        flow_ = &flow;
        handing_over_ = true;
        start(Callback(this));
        handing_over_ = false;
        if (value_) return false;
        if (dropped_) flow.Drop();
        return true;
    }

    FlowPromise* flow_ = nullptr;
    std::optional<V> value_;
    bool handing_over_ = false;
    bool dropped_ = false;
};

template <typename V, typename Start>
class [[nodiscard]] FlowStart final : FlowWait<V> {
  public:
    explicit FlowStart(Start start) : start_(std::move(start)) {}

    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> flow) {
        return this->HandOver(flow.promise(), start_);
    }
    V await_resume() { return std::move(*this->value_); }

  private:
    Start start_;
};

// Waits until the callback that `start` is given is called with a V: co_await Wait<V>(start).
template <typename V, typename Start>
auto Wait(Start start) {
    return FlowStart<V, Start>(std::move(start));
}

}  // namespace takt::internal
