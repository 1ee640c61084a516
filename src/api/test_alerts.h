// Shared by the tests of alerts: channels that keep what they are told, and a scheduler that looks
// every few milliseconds.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "alerts/alerts.h"
#include "api/test_scheduler.h"

namespace takt::internal {

// Keeps what channels are told, and lets tests wait for it.
class Ears {
  public:
    struct Heard {
        Notice notice;
        Time at{};
    };

    Tell AsTell() {
        return [this](const Channel&, const Notice& notice, auto done) {
            {
                const std::scoped_lock lock(mutex_);
                heard_.push_back({notice, ReadClocks().wall});
                if (busy_) {
                    waiting_.push_back(std::move(done));
                    done = nullptr;
                }
            }
            changed_.notify_all();
            if (done) done({});
        };
    }
    // From now on channels answer only when BeFree is called.
    void BeBusy() {
        const std::scoped_lock lock(mutex_);
        busy_ = true;
    }
    void BeFree() {
        std::vector<std::move_only_function<void(Result<void>)>> waiting;
        {
            const std::scoped_lock lock(mutex_);
            busy_ = false;
            waiting = std::exchange(waiting_, {});
        }
        for (auto& done : waiting) done({});
    }
    // Waits until somebody is told that an alert of this rule is in this state.
    std::optional<Notice> Await(std::string_view rule, AlertState state) {
        std::unique_lock lock(mutex_);
        const Heard* found = nullptr;
        changed_.wait_for(lock, 10s, [&] {
            found = Find(rule, state);
            return found != nullptr;
        });
        return found ? std::optional(found->notice) : std::nullopt;
    }
    std::size_t Count() {
        const std::scoped_lock lock(mutex_);
        return heard_.size();
    }
    std::size_t CountOf(std::string_view rule) {
        const std::scoped_lock lock(mutex_);
        std::size_t count = 0;
        for (const Heard& heard : heard_) count += heard.notice.alert.rule == rule;
        return count;
    }
    // When the first was told so; 0: nobody was.
    Time ToldAt(std::string_view rule, AlertState state) {
        const std::scoped_lock lock(mutex_);
        const Heard* found = Find(rule, state);
        return found ? found->at : Time{};
    }

  private:
    const Heard* Find(std::string_view rule, AlertState state) const {
        for (const Heard& heard : heard_) {
            if (heard.notice.alert.rule == rule && heard.notice.alert.state == state) return &heard;
        }
        return nullptr;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Heard> heard_;
    bool busy_ = false;
    std::vector<std::move_only_function<void(Result<void>)>> waiting_;
};

inline constexpr const char* kNoWorkers =
    R"({"metric": "workers_online", "operator": "<", "threshold": 1, "duration": "0s",
        "severity": "critical"})";

inline TestSchedulerOptions Quick(
    Ears& ears, std::shared_ptr<MemoryDatabase> database = std::make_shared<MemoryDatabase>()) {
    return {.database = std::move(database),
            .alerts = {.interval = 20ms},
            .channels = {{.name = "log"}, {.name = "ops"}},
            .tell = ears.AsTell()};
}

// Until alerts are read, which is a moment after the lead is won.
inline void AwaitReady(TestScheduler& scheduler) {
    for (int i = 0; i < 1000 && scheduler.Get("/api/v1/alert-rules").status == 503; ++i) {
        std::this_thread::yield();
    }
    ASSERT_EQ(scheduler.Get("/api/v1/alert-rules").status, 200);
}

// Until it is written down that it was told that the alert fires.
inline void AwaitToldFiring(TestScheduler& scheduler, const std::string& id) {
    for (const Steady end = SteadyClock::now() + 10s; SteadyClock::now() < end;) {
        std::promise<bool> answer;
        scheduler.store().ListSettings(kDefaultPartition, Text("alert/" + id), [&](auto rows) {
            answer.set_value(rows && !rows->empty() &&
                             (*rows)[0].value.view().contains("\"told\":\"firing\""));
        });
        if (answer.get_future().get()) return;
    }
    FAIL() << "it is not written down";
}

// Looks once, and returns when that is judged.
inline void LookOnce(TestScheduler& scheduler) {
    std::promise<void> judged;
    scheduler.alerts().With([&](Alerts& alerts) {
        alerts.Look();
        alerts.With([&](Alerts&) { judged.set_value(); });
    });
    judged.get_future().wait();
}

}  // namespace takt::internal
