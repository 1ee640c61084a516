// Waits for things that happen on other threads: a loop of its own, what a node releases, sessions
// that end.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/sink.h"

namespace takt::internal::testing_support {

using namespace std::chrono_literals;

// Far longer than anything here takes, also under sanitizers on a busy machine.
constexpr auto kPatience = 20s;

// A loop with its thread.
class LoopThread {
  public:
    LoopThread() : guard_(loop.get_executor()), thread_([this] { loop.run(); }) {}
    ~LoopThread() { Join(); }
    void Join() {
        guard_.reset();
        loop.stop();
        if (thread_.joinable()) thread_.join();
    }
    // Runs `work` on the loop and waits for it.
    template <typename Work>
    auto Run(Work work) {
        std::packaged_task<decltype(work())()> task(std::move(work));
        auto done = task.get_future();
        boost::asio::post(loop, std::move(task));
        return done.get();
    }
    boost::asio::io_context loop{1};

  private:
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
    std::thread thread_;
};

// Sees what the link sees, and lets tests wait for it.
class Watcher final : public Sink {
  public:
    explicit Watcher(Sink& next) : next_(next) {}
    void Release(const Effects& effects) override {
        next_.Release(effects);
        if (Sink* also = also_) also->Release(effects);
        const std::scoped_lock lock(mutex_);
        events_.insert(events_.end(), effects.events.begin(), effects.events.end());
        for (const Event& event : effects.events) ++counts_[static_cast<std::size_t>(event.type)];
        for (const LogChunk& chunk : effects.logs) log_ += chunk.lines.str();
        for (const Verdict& verdict : effects.verdicts) verdicts_.push_back(verdict);
        changed_.notify_all();
    }
    void OnRole(Role role) override {
        next_.OnRole(role);
        const std::scoped_lock lock(mutex_);
        role_ = role;
        changed_.notify_all();
    }

    std::vector<SettingPut> LeaveWord(Parting why) override { return next_.LeaveWord(why); }
    void OnHandOverFailed() override { next_.OnHandOverFailed(); }

    // From now on somebody else is told too.
    void TellAlso(Sink* sink) { also_ = sink; }

    template <typename Condition>
    bool Await(Condition condition) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kPatience, [&] { return condition(); });
    }
    bool AwaitRole(Role role) {
        return Await([&] { return role_ == role; });
    }
    bool AwaitEvents(EventType type, std::size_t count) {
        return Await([&] { return CountLocked(type) >= count; });
    }
    bool AwaitEvent(EventType type, const ExecutionId& execution) {
        return Await([&] {
            for (const Event& event : events_) {
                if (event.type == type && event.execution == execution) return true;
            }
            return false;
        });
    }
    std::size_t Count(EventType type) {
        const std::scoped_lock lock(mutex_);
        return CountLocked(type);
    }
    std::string log() {
        const std::scoped_lock lock(mutex_);
        return log_;
    }
    bool AwaitVerdict(bool accepted) {
        return Await([&] {
            for (const Verdict& verdict : verdicts_) {
                if (verdict.accepted == accepted) return true;
            }
            return false;
        });
    }
    bool AwaitLog(std::string_view text) {
        return Await([&] { return log_.contains(text); });
    }

  private:
    std::size_t CountLocked(EventType type) const {
        return counts_[static_cast<std::size_t>(type)];
    }
    Sink& next_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Event> events_;
    std::array<std::size_t, kEventTypeCount> counts_{};
    std::vector<Verdict> verdicts_;
    std::atomic<Sink*> also_ = nullptr;
    std::string log_;
    Role role_ = Role::kFollower;
};

// Counts the sessions that have ended, once the link has heard of it.
class EndedSessions {
  public:
    void Add() {
        const std::scoped_lock lock(mutex_);
        ++count_;
        changed_.notify_all();
    }
    bool Await(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kPatience, [&] { return count_ >= count; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t count_ = 0;
};

}  // namespace takt::internal::testing_support
