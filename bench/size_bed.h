// SizeBed: an engine with many workers, lanes or tasks, for benchmarks of what a step costs then. It
// plays the node and the workers: each step is a batch of its own, and what is assigned is in a hand.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace takt::internal {

class SizeBed {
  public:
    struct Given {
        SessionId session = 0;
        AttemptRef ref;
    };

    explicit SizeBed(EngineConfig config = {}) : config_(std::move(config)) {
        config_.pending_max = config_.workers_max = SIZE_MAX;
        engine_ = std::make_unique<Engine>(config_, TermView{0, 1}, SeedOf(1));
    }

    void Begin() { engine_->Begin(0, now_, effects_); }

    static Worker NewWorker(std::size_t i, std::uint32_t capacity = 1) {
        Worker worker;
        worker.id = WorkerId(Text("worker-" + std::to_string(i)));
        worker.capacity = capacity;
        return worker;
    }
    void AttachMany(std::size_t count, std::uint32_t capacity) {
        for (std::size_t i = 1; i <= count; ++i) Step(Attach{i, NewWorker(i, capacity), {}});
    }

    static NewTaskPtr NewTask(const std::string& type) {
        auto task = NewTaskPtr(new Task);
        task->name = task->type = Text(type);
        task->queue = Text("default");
        return task;
    }
    void Submit(NewTaskPtr task) { Step(internal::Submit{++request_, std::move(task)}); }
    void Submit(const std::string& type) { Submit(NewTask(type)); }

    void Step(Input input) {
        effects_ = Effects{.generation = effects_.generation + 1};
        const double begun = watched_ ? CpuMs() : 0;
        engine_->Step(std::move(input), now_, effects_);
        if (watched_) longest_ms_ = std::max(longest_ms_, CpuMs() - begun);
        ++steps_;
        for (const Assign& assign : effects_.assigns) {
            const Execution& row = assign.execution;
            given_.push_back({assign.session, {row.id, row.attempt, row.token}});
        }
    }
    // Until nothing is left to do now.
    void Settle() {
        while (engine_->NextDeadline(now_) == Duration(0)) Step(Tick{});
    }
    // The one that was given out first succeeds. REQUIRES: something is in a hand.
    void FinishOne() {
        Given given = std::move(given_[next_++]);
        Finish(given);
        if (next_ < 100'000) return;
        given_.erase(given_.begin(), given_.begin() + std::ptrdiff_t(next_));
        next_ = 0;
    }
    void Finish(Given& given) {
        Step(Report{given.session, std::move(given.ref), true, true, nullptr});
    }
    // The attempt that this session was given last.
    Given TakeGivenTo(SessionId session) {
        const auto found = std::find_if(given_.rbegin(), given_.rend(), [&](const Given& given) {
            return given.session == session;
        });
        Given given = std::move(*found);
        given_.erase(std::next(found).base());
        return given;
    }

    Engine& engine() { return *engine_; }
    Instant& now() { return now_; }
    const Effects& effects() const { return effects_; }

    // From now on each step is timed, which itself costs a microsecond.
    void Watch() { longest_ms_ = 0, steps_ = 0, watched_ = true; }
    double longest_ms() const { return longest_ms_; }
    std::size_t steps() const { return steps_; }

  private:
    // Of this thread: whatever else the machine does is not in it.
    static double CpuMs() {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
    }

    EngineConfig config_;
    Instant now_{std::chrono::sys_days(std::chrono::year(2026) / 1 / 8),
                 Steady(std::chrono::hours(1))};
    std::unique_ptr<Engine> engine_;
    Effects effects_;
    std::vector<Given> given_;
    std::size_t next_ = 0;
    std::uint64_t request_ = 0;
    bool watched_ = false;
    double longest_ms_ = 0;
    std::size_t steps_ = 0;
};

}  // namespace takt::internal
