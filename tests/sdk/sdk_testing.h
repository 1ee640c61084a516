// A scheduler of the test's own process, workers beside it, and ways to wait for what happens.
// Only public headers: this is what a user's own tests could look like.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "takt/takt.h"

namespace takt::testing_support {

using namespace std::chrono_literals;

// Far longer than anything here takes, also under sanitizers on a busy machine.
constexpr auto kPatience = 30s;

// Set by one thread, awaited by another.
class Signal {
  public:
    void Set() {
        const std::scoped_lock lock(mutex_);
        set_ = true;
        changed_.notify_all();
    }
    bool Wait(Duration patience = kPatience) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] { return set_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool set_ = false;
};

// Events as they come, and waiting for them.
class EventLog {
  public:
    EventCallback Callback() {
        return [this](const Event& event) {
            const std::scoped_lock lock(mutex_);
            events_.push_back(event);
            changed_.notify_all();
        };
    }
    bool WaitFor(const std::function<bool(const std::vector<Event>&)>& enough) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kPatience, [&] { return enough(events_); });
    }
    bool WaitFor(EventType type) {
        return WaitFor([type](const std::vector<Event>& events) {
            for (const Event& event : events) {
                if (event.type == type) return true;
            }
            return false;
        });
    }
    std::vector<Event> events() const {
        const std::scoped_lock lock(mutex_);
        return events_;
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Event> events_;
};

inline SchedulerOptions TestOptions() {
    return {.store_url = "memory:", .listen = "127.0.0.1:0", .node_id = "test"};
}

class SdkTest : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { ASSERT_TRUE(SetLog({.level = LogLevel::kError})); }

    void Start(SchedulerOptions options = TestOptions()) {
        scheduler_ = std::make_unique<Scheduler>(std::move(options));
        const auto started = scheduler_->Start();
        ASSERT_TRUE(started) << started.error().message;
    }

    // A worker that is ready to start.
    std::unique_ptr<Worker> MakeWorker(std::string id, std::uint32_t capacity = 4) {
        return std::make_unique<Worker>(WorkerOptions{.servers = {scheduler_->url()},
                                                      .id = std::move(id),
                                                      .max_concurrency = capacity,
                                                      .stop_grace = 100ms});
    }

    // Starts it and waits until the scheduler has it.
    void Join(Worker& worker) {
        const auto started = worker.Start();
        ASSERT_TRUE(started) << started.error().message;
        ASSERT_TRUE(Eventually([&] { return worker.status().attached; }));
        ASSERT_TRUE(Eventually([&] {
            const auto record = scheduler_->GetWorker(worker.status().id);
            return record && record->state == WorkerState::kOnline;
        }));
    }

    // For what tells nobody that it happened.
    static bool Eventually(const std::function<bool()>& condition) {
        std::mutex mutex;
        std::condition_variable never;
        std::unique_lock lock(mutex);
        const auto end = std::chrono::steady_clock::now() + kPatience;
        while (std::chrono::steady_clock::now() < end) {
            if (condition()) return true;
            never.wait_for(lock, 5ms);
        }
        return condition();
    }

    // For tests whose callbacks see variables of theirs: no callback comes after them.
    struct StopAtEnd {
        Scheduler& scheduler;
        ~StopAtEnd() { scheduler.Stop(); }
    };

    Client MakeClient() const { return Client({.servers = {scheduler_->url()}}); }

    std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace takt::testing_support
