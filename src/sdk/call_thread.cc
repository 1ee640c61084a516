#include "sdk/call_thread.h"

#include <exception>

#include "base/log.h"

namespace takt {
namespace {

// The CallThread whose callbacks this thread runs.
thread_local const void* tl_call_thread = nullptr;

void RunSafely(CallThread::Action& action) {
    const auto complain = [](std::string_view what) {
        internal::Log(internal::LogLevel::kError, "sdk", "a callback threw", {{"error", what}});
    };
    try {
        action();
    } catch (const std::exception& error) {
        complain(error.what());
    } catch (...) {
        complain("something that is no std::exception");
    }
}

}  // namespace

CallThread::~CallThread() {
    Stop(Duration(0));
}

bool CallThread::on_own_thread() const {
    const std::scoped_lock lock(mutex_);
    return shared_ && tl_call_thread == shared_.get();
}

// REQUIRES: mutex_ is held.
void CallThread::Begin() {
    if (thread_.joinable()) thread_.join();  // One that has ended.
    shared_ = std::make_shared<Shared>();
    thread_ = std::thread([shared = shared_] { Run(shared); });
}

void CallThread::After(Duration delay, Action action) {
    const std::scoped_lock lock(mutex_);
    if (!shared_) Begin();
    std::unique_lock inner(shared_->mutex);
    if (shared_->ended) {
        inner.unlock();
        Begin();
        inner = std::unique_lock(shared_->mutex);
    }
    shared_->actions.emplace(Clock::now() + delay, std::move(action));
    shared_->changed.notify_all();
}

void CallThread::Stop(Duration patience) {
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Shared> shared = shared_;
    if (!shared) return;
    const bool own = tl_call_thread == shared.get();
    lock.unlock();
    // Meanwhile callbacks may post more, which is run as well.
    std::unique_lock inner(shared->mutex);
    shared->stopping = true;
    shared->changed.notify_all();
    const bool ended =
        !own && shared->changed.wait_for(inner, patience, [&] { return shared->ended; });
    if (!ended && !own) shared->left = true;
    inner.unlock();
    lock.lock();
    if (shared_ != shared) return;  // Another thread has stopped it, too.
    shared_.reset();
    ended ? thread_.join() : thread_.detach();
    if (!ended && !own) {
        internal::Log(internal::LogLevel::kWarning, "sdk",
                      "a callback does not return; its thread is left to itself");
    }
}

void CallThread::Run(const std::shared_ptr<Shared>& shared) {
    tl_call_thread = shared.get();
    std::unique_lock lock(shared->mutex);
    while (!shared->left) {
        if (shared->actions.empty()) {
            if (shared->stopping) break;
            shared->changed.wait(lock);
            continue;
        }
        const auto first = shared->actions.begin();
        if (!shared->stopping && Clock::now() < first->first) {
            shared->changed.wait_until(lock, Clock::time_point(first->first));
            continue;
        }
        Action action = std::move(first->second);
        shared->actions.erase(first);
        lock.unlock();
        RunSafely(action);
        action = nullptr;
        lock.lock();
    }
    shared->ended = true;
    shared->changed.notify_all();
}

}  // namespace takt
