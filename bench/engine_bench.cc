// How fast the engine decides and what a waiting execution costs, on one core, with a million of
// them pending. The targets (docs/decisions/0002-engine-memory.md): a million transitions a second,
// 400 bytes beside the payload.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace takt::internal {
namespace {

constexpr std::size_t kPayloadBytes = 100;
constexpr std::uint32_t kCapacity = 1000;
constexpr std::size_t kBatchSteps = 256;  // Inputs that a busy node gathers in one commit.

// An engine with so many executions waiting, and one worker with its hands full.
class Loaded {
  public:
    explicit Loaded(std::size_t pending) {
        EngineConfig config;
        config.pending_max = SIZE_MAX;
        engine_ = std::make_unique<Engine>(config, TermView{0, 1}, SeedOf(1));
        engine_->Begin(0, now_, effects_);
        const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
        for (std::size_t i = 0; i < pending; ++i) {
            Submit();
            NextBatch();
        }
        NextBatch();
        bytes_ = mallinfo2().uordblks + mallinfo2().hblkhd - before;
        Worker worker;
        worker.id = WorkerId(Text("worker"));
        worker.capacity = kCapacity;
        Step(Attach{1, worker, {}});
        while (engine_->NextDeadline(now_) == Duration(0)) Step(Tick{});
        Collect();
    }

    // One execution comes in, one begins, one succeeds and makes room for the next.
    void Turn() {
        Submit();
        const AttemptRef ref = given_[turn_ % given_.size()];
        Step(Started{1, ref});
        Step(Report{1, ref, true, true, nullptr});
        if (++turn_ % given_.size() == 0) Collect();
        if (turn_ % (kBatchSteps / 3) == 0) NextBatch();
    }

    std::uint64_t transitions() const { return engine_->counters().transitions; }
    std::size_t bytes() const { return bytes_; }

  private:
    void Step(Input input) {
        engine_->Step(std::move(input), now_, effects_);
        for (const Assign& assign : effects_.assigns) {
            taken_.push_back(
                {assign.execution.id, assign.execution.attempt, assign.execution.token});
        }
        effects_.assigns.clear();
    }

    void Submit() {
        auto task = NewTaskPtr(new Task);
        task->type = type_;
        task->queue = queue_;
        task->payload = Text(std::string(kPayloadBytes, 'x'));
        Step(internal::Submit{0, std::move(task)});
        now_.wall += Duration(turn_ % 16 == 0 ? 1 : 0);
    }

    void Collect() {
        given_.swap(taken_);
        taken_.clear();
    }

    void NextBatch() {
        const std::uint32_t generation = effects_.generation + 1;
        effects_ = {};
        effects_.generation = generation;
    }

    const Text type_{"work"};
    const Text queue_{"default"};
    Instant now_{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1),
                 Steady(std::chrono::hours(1))};
    std::unique_ptr<Engine> engine_;
    Effects effects_;
    std::vector<AttemptRef> given_;
    std::vector<AttemptRef> taken_;
    std::size_t turn_ = 0;
    std::size_t bytes_ = 0;
};

void Transitions(benchmark::State& state) {
    const auto pending = std::size_t(state.range(0));
    Loaded loaded(pending);
    const std::uint64_t before = loaded.transitions();
    for (auto _ : state) loaded.Turn();
    state.counters["transitions/s"] =
        benchmark::Counter(double(loaded.transitions() - before), benchmark::Counter::kIsRate);
    state.counters["bytes/pending"] =
        double(loaded.bytes()) / double(pending) - double(kPayloadBytes);
}
BENCHMARK(Transitions)->ArgName("pending")->Arg(1'000)->Arg(1'000'000);

// Workers that are all busy but one, whose hand is filled anew after each end; lanes (of a type each)
// in all of which something waits. The cost of a task must not hang on either.
class Wide {
  public:
    Wide(std::size_t workers, std::size_t lanes) : lanes_(lanes) {
        EngineConfig config;
        config.pending_max = SIZE_MAX;
        config.workers_max = SIZE_MAX;
        engine_ = std::make_unique<Engine>(config, TermView{0, 1}, SeedOf(1));
        engine_->Begin(0, now_, effects_);
        for (std::size_t i = 0; i < lanes; ++i) Submit();
        for (std::size_t i = 1; i <= workers; ++i) {
            Worker worker;
            worker.id = WorkerId(Text("worker-" + std::to_string(i)));
            worker.capacity = 1;
            Step(Attach{i, worker, {}});
            Submit();
        }
    }

    // A worker's execution ends, and it gets the next.
    void Turn() {
        const auto [session, ref] = given_[turn_++ % given_.size()];
        Submit();
        Step(Report{session, ref, true, true, nullptr});
        NextBatch();
    }

  private:
    struct Given {
        SessionId session = 0;
        AttemptRef ref;
    };

    void Step(Input input) {
        engine_->Step(std::move(input), now_, effects_);
        for (const Assign& assign : effects_.assigns) {
            Given given{assign.session,
                        {assign.execution.id, assign.execution.attempt, assign.execution.token}};
            turn_ == 0 ? given_.push_back(given)
                       : void(given_[(turn_ - 1) % given_.size()] = given);
        }
        effects_.assigns.clear();
    }
    void Submit() {
        auto task = NewTaskPtr(new Task);
        task->type = Text("type-" + std::to_string(submitted_++ % lanes_));
        task->queue = Text("default");
        Step(internal::Submit{0, std::move(task)});
    }
    void NextBatch() { effects_ = Effects{.generation = effects_.generation + 1}; }

    const std::size_t lanes_;
    Instant now_{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1),
                 Steady(std::chrono::hours(1))};
    std::unique_ptr<Engine> engine_;
    Effects effects_;
    std::vector<Given> given_;
    std::size_t turn_ = 0;
    std::size_t submitted_ = 0;
};

void AtSize(benchmark::State& state) {
    Wide wide(std::size_t(state.range(0)), std::size_t(state.range(1)));
    for (auto _ : state) wide.Turn();
}
BENCHMARK(AtSize)
    ->ArgNames({"workers", "lanes"})
    ->Args({10, 10})
    ->Args({10, 1'000})
    ->Args({10, 10'000})
    ->Args({1'000, 10})
    ->Args({10'000, 10});

// All workers come back to a new leader, as they were, while a million executions wait.
void Takeover(benchmark::State& state) {
    for (auto _ : state) {
        state.PauseTiming();
        const auto workers = std::size_t(state.range(0));
        EngineConfig config;
        config.pending_max = SIZE_MAX;
        config.workers_max = SIZE_MAX;
        Engine engine(config, TermView{0, 2}, SeedOf(1));
        Effects effects;
        const Instant now{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1),
                          Steady(std::chrono::hours(1))};
        const auto worker = [](std::size_t i) {
            Worker row;
            row.id = WorkerId(Text("worker-" + std::to_string(i)));
            row.capacity = 10;
            return row;
        };
        std::vector<Execution> rows;
        for (std::uint64_t i = 1; i <= 1'000'000; ++i) {
            auto task = NewTaskPtr(new Task);
            task->type = Text("type-" + std::to_string(i % 250));
            task->queue = Text("default");
            Execution& row = rows.emplace_back();
            row.id = ExecutionId(Text("e-" + std::to_string(i)));
            row.serial = i;
            row.task = std::move(task);
        }
        state.ResumeTiming();
        for (std::size_t i = 0; i < workers; ++i) engine.RestoreWorker(worker(i));
        for (Execution& row : rows) engine.RestoreExecution(std::move(row));
        engine.Begin(rows.size(), now, effects);
        for (std::size_t i = 0; i < workers; ++i) {
            effects = Effects{.generation = effects.generation + 1};
            engine.Step(Attach{i + 1, worker(i), {}}, now, effects);
        }
        while (engine.NextDeadline(now) == Duration(0)) {
            effects = Effects{.generation = effects.generation + 1};
            engine.Step(Tick{}, now, effects);
        }
        state.PauseTiming();
        rows.clear();
        state.ResumeTiming();
    }
}
BENCHMARK(Takeover)
    ->ArgName("workers")
    ->Arg(100)
    ->Arg(10'000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

// A week without a leader: all due times of minutely tasks were missed, and one of each is made up for.
void Downtime(benchmark::State& state) {
    const auto tasks = std::size_t(state.range(0));
    Instant now{std::chrono::sys_days(std::chrono::year(2026) / 1 / 8),
                Steady(std::chrono::hours(1))};
    for (auto _ : state) {
        EngineConfig config;
        config.pending_max = SIZE_MAX;
        Engine engine(config, TermView{0, 2}, SeedOf(1));
        for (std::size_t i = 0; i < tasks; ++i) {
            auto task = NewTaskPtr(new Task);
            task->id = TaskId(Text("task-" + std::to_string(i)));
            task->created_at = now.wall - std::chrono::days(30);
            TaskOptions options;
            options.recurrence.emplace().cron = "* * * * *";
            task->options = std::make_unique<TaskOptions>(std::move(options));
            const Time last = now.wall - std::chrono::days(7);
            TaskRow row{.task = std::move(task), .state = {}};
            row.state.first_at = row.state.last_at = last;
            row.state.next_at = last + std::chrono::minutes(1);
            engine.RestoreTask(std::move(row));
        }
        Effects effects;
        engine.Begin(0, now, effects);
        while (engine.NextDeadline(now) == Duration(0)) {
            effects = Effects{.generation = effects.generation + 1};
            engine.Step(Tick{}, now, effects);
        }
        if (engine.counters().fired != tasks) state.SkipWithError("not all were made up for");
    }
}
BENCHMARK(Downtime)->ArgName("tasks")->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace takt::internal

BENCHMARK_MAIN();
