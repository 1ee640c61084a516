#include "worker/handler_pool.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "base/log.h"

namespace takt::internal {

// Shared with the threads, since abandoned ones outlive the pool.
struct HandlerPool::State {
    struct Thread {
        std::thread thread;
        const Held* current = nullptr;
        bool abandoned = false;
    };

    explicit State(Bounds limits, std::function<void(const HeldPtr&)> function)
        : run(std::move(function)), bounds(limits) {}

    const std::function<void(const HeldPtr&)> run;

    std::mutex mutex;
    Bounds bounds;
    std::condition_variable wake;  // Something is queued, or it is over.
    std::deque<HeldPtr> queue;
    std::list<std::shared_ptr<Thread>> threads;  // Without the abandoned.
    std::size_t idle = 0;
    bool waking = false;  // An idle thread was called and has not come yet.
    std::size_t abandoned = 0;
    bool over = false;

    std::thread stopper;
    std::condition_variable stopper_wake;
    std::deque<std::stop_source> stops;
    bool stopping = false;  // In somebody's callback.

    void Grow(const std::shared_ptr<State>& self);
    void WakeOne();
    void Work(const std::shared_ptr<Thread>& self);
    void Stop();
};

// REQUIRES: the lock is held.
void HandlerPool::State::Grow(const std::shared_ptr<State>& self) {
    auto thread = std::make_shared<Thread>();
    try {
        thread->thread = std::thread([self, thread] { self->Work(thread); });
        threads.push_back(thread);
    } catch (const std::system_error& error) {
        // Attempts that are queued wait for the threads there are, or for the next time that one is
        // asked for.
        Log(LogLevel::kError, "worker", "cannot start another thread",
            {{"threads", threads.size()}, {"error", error.what()}});
    }
}

// REQUIRES: the lock is held. To wake a thread takes longer than most handlers: each who comes
// calls the next, if there still is something for it, rather than one call for each that is queued.
void HandlerPool::State::WakeOne() {
    if (queue.empty() || idle == 0 || waking) return;
    waking = true;
    wake.notify_one();
}

void HandlerPool::State::Work(const std::shared_ptr<Thread>& self) {
    std::unique_lock lock(mutex);
    while (!self->abandoned) {
        while (queue.empty() && !over) {
            ++idle;
            wake.wait(lock);
            --idle;
            waking = false;
        }
        if (over) return;
        HeldPtr held = std::move(queue.front());
        queue.pop_front();
        WakeOne();
        // Withdrawn ones stay in the queue until their turn.
        auto waiting = Held::Phase::kWaiting;
        if (!held->phase.compare_exchange_strong(waiting, Held::Phase::kRunning)) continue;
        self->current = held.get();
        lock.unlock();
        run(held);
        held.reset();
        lock.lock();
        self->current = nullptr;
        if (self->abandoned) --abandoned;
    }
}

void HandlerPool::State::Stop() {
    std::unique_lock lock(mutex);
    while (!over || !stops.empty()) {
        if (stops.empty()) {
            stopper_wake.wait(lock);
            continue;
        }
        std::stop_source stop = std::move(stops.front());
        stops.pop_front();
        stopping = true;
        lock.unlock();
        stop.request_stop();
        lock.lock();
        stopping = false;
    }
}

HandlerPool::HandlerPool(Bounds bounds, std::function<void(const HeldPtr&)> run)
    : state_(std::make_shared<State>(bounds, std::move(run))) {}

HandlerPool::~HandlerPool() {
    std::vector<std::shared_ptr<State::Thread>> idle;
    bool stopper_free = false;
    {
        const std::scoped_lock lock(state_->mutex);
        state_->over = true;
        state_->queue.clear();
        for (const auto& thread : state_->threads) {
            if (thread->current) {
                thread->thread.detach();
            } else {
                idle.push_back(thread);
            }
        }
        stopper_free = !state_->stopping && state_->stops.empty();
        state_->wake.notify_all();
        state_->stopper_wake.notify_all();
    }
    for (const auto& thread : idle) thread->thread.join();
    if (!state_->stopper.joinable()) return;
    if (stopper_free) {
        state_->stopper.join();
    } else {
        state_->stopper.detach();
    }
}

void HandlerPool::Push(HeldPtr held) {
    const std::scoped_lock lock(state_->mutex);
    state_->queue.push_back(std::move(held));
    if (state_->idle < state_->queue.size() &&
        state_->threads.size() < state_->bounds.threads_max) {
        state_->Grow(state_);
    }
    state_->WakeOne();
}

void HandlerPool::SetBounds(Bounds bounds) {
    const std::scoped_lock lock(state_->mutex);
    state_->bounds = bounds;
    // Calls that wait for a thread have one sooner now.
    for (std::size_t waiting = state_->queue.size(); waiting > state_->idle; --waiting) {
        if (state_->threads.size() >= bounds.threads_max) break;
        state_->Grow(state_);
    }
}

bool HandlerPool::Abandon(const Held& held) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->abandoned >= state_->bounds.abandoned_max) return false;
    const auto found = std::ranges::find_if(
        state_->threads, [&](const auto& thread) { return thread->current == &held; });
    if (found == state_->threads.end()) return true;  // It ends at this very moment.
    (*found)->abandoned = true;
    (*found)->thread.detach();
    state_->threads.erase(found);
    ++state_->abandoned;
    if (state_->queue.size() > state_->idle) state_->Grow(state_);
    return true;
}

void HandlerPool::RequestStop(std::stop_source stop) {
    const std::scoped_lock lock(state_->mutex);
    state_->stops.push_back(std::move(stop));
    if (!state_->stopper.joinable()) {
        state_->stopper = std::thread([state = state_] { state->Stop(); });
    }
    state_->stopper_wake.notify_one();
}

std::size_t HandlerPool::abandoned() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->abandoned;
}

}  // namespace takt::internal
