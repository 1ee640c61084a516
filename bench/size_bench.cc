// Costs of a step of the engine with ten thousand workers or lanes and a million tasks. Nothing of it
// may grow with these numbers by more than their logarithm: compare the lines of one name.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <vector>

#include "alerts/late_runs.h"
#include "bench/size_bed.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

std::string Type(std::size_t i) {
    return "type-" + std::to_string(i);
}

void Sizes(benchmark::internal::Benchmark* bench) {
    bench->ArgName("n")->Arg(10)->Arg(1'000)->Arg(10'000);
}

// So many wait; then one comes and one ends, in turn.
template <typename Submit>
void TurnOver(benchmark::State& state, SizeBed& bed, std::size_t waiting, Submit submit) {
    for (std::size_t i = 0; i < waiting; ++i) submit();
    for (auto _ : state) {
        submit();
        bed.FinishOne();
    }
}

// --- Lanes --------------------------------------------------------------------------------------

// Tasks of n kinds wait under one named limit; one ends, the next begins.
void SharedLimit(benchmark::State& state) {
    const auto lanes = std::size_t(state.range(0));
    SizeBed bed;
    bed.Begin();
    bed.AttachMany(1, 100);
    std::size_t next = 0;
    const auto submit = [&] {
        auto task = SizeBed::NewTask(Type(next++ % lanes));
        TaskOptions options;
        options.concurrency_key = Text("database");
        options.concurrency_max = 1;
        task->options = std::make_unique<TaskOptions>(std::move(options));
        bed.Submit(std::move(task));
    };
    TurnOver(state, bed, 2 * lanes, submit);
}
BENCHMARK(SharedLimit)->Apply(Sizes);

// A queue that runs few at once has n lanes.
void QueueLimit(benchmark::State& state) {
    const auto lanes = std::size_t(state.range(0));
    SizeBed bed;
    bed.Begin();
    bed.AttachMany(1, 100);
    bed.Step(SetQueue{.queue = "default", .working_max = 1});
    std::size_t next = 0;
    TurnOver(state, bed, 2 * lanes, [&] { bed.Submit(Type(next++ % lanes)); });
}
BENCHMARK(QueueLimit)->Apply(Sizes);

// One worker serves all kinds, and each of n others only one: whatever ends, the most urgent is next.
void OddCrews(benchmark::State& state) {
    const auto lanes = std::size_t(state.range(0));
    SizeBed bed;
    bed.Begin();
    bed.Step(Attach{1, SizeBed::NewWorker(0), {}});
    for (std::size_t i = 0; i < lanes; ++i) {
        Worker worker = SizeBed::NewWorker(i + 1);
        worker.types = {Text(Type(i))};
        bed.Step(Attach{i + 2, worker, {}});
        bed.Submit(Type(i));
        bed.Submit(Type(i));
    }
    bed.Submit(Type(0));
    std::size_t next = 0;
    for (auto _ : state) {
        bed.Submit(Type(next++ % lanes));
        auto given = bed.TakeGivenTo(1);
        bed.Finish(given);
    }
}
BENCHMARK(OddCrews)->Apply(Sizes);

// A kind of work that was never seen, with n workers: all alike, or each with a label of its own.
void NewKind(benchmark::State& state) {
    const auto workers = std::size_t(state.range(0));
    SizeBed bed;
    bed.Begin();
    for (std::size_t i = 1; i <= workers; ++i) {
        Worker worker = SizeBed::NewWorker(i);
        if (state.range(1) != 0) worker.labels = {{Text("host"), Text(std::to_string(i))}};
        bed.Step(Attach{i, worker, {}});
    }
    std::size_t next = 0;
    for (auto _ : state) {
        bed.Submit(Type(next++));
        bed.FinishOne();
    }
}
BENCHMARK(NewKind)
    ->ArgNames({"n", "labels"})
    ->Args({10, 0})
    ->Args({10'000, 0})
    ->Args({10, 1})
    ->Args({10'000, 1});

// --- Workers ------------------------------------------------------------------------------------

// A task comes, is given to one of n workers with room, and ends.
void Choose(benchmark::State& state) {
    EngineConfig config;
    config.strategy = Strategy(state.range(1));
    state.SetLabel(std::string(Name(config.strategy)));
    SizeBed bed(config);
    bed.Begin();
    bed.AttachMany(std::size_t(state.range(0)), 10);
    std::size_t next = 0;
    for (auto _ : state) {
        auto task = SizeBed::NewTask("work");
        task->name = Text("name-" + std::to_string(next++ % 1'000));
        bed.Submit(std::move(task));
        bed.FinishOne();
    }
}
BENCHMARK(Choose)->Apply([](benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"n", "strategy"});
    for (int strategy = 0; strategy < int(Strategy::kCustom); ++strategy) {
        for (const int workers : {10, 10'000}) bench->Args({workers, strategy});
    }
});

// A new worker comes and goes, beside n others and with n kinds of work that wait.
void ComeAndGo(benchmark::State& state) {
    const auto size = std::size_t(state.range(0));
    SizeBed bed;
    bed.Begin();
    for (std::size_t i = 0; i < size; ++i) bed.Submit(Type(i));
    bed.AttachMany(size, 1);
    for (std::size_t i = 0; i < size; ++i) bed.Submit(Type(i));
    bed.Settle();
    std::size_t next = size;
    for (auto _ : state) {
        ++next;
        bed.Step(Attach{next, SizeBed::NewWorker(next), {}});
        bed.Step(Goodbye{next});
    }
}
BENCHMARK(ComeAndGo)->Apply(Sizes);

void Beat(benchmark::State& state) {
    const auto workers = std::size_t(state.range(0));
    SizeBed bed;
    bed.Begin();
    bed.AttachMany(workers, 10);
    std::size_t next = 0;
    for (auto _ : state) bed.Step(Heartbeat{.session = 1 + next++ % workers});
}
BENCHMARK(Beat)->Apply(Sizes);

// Each connection of n is gone and is there again: the network stood still.
void Reconnect(benchmark::State& state) {
    const auto size = std::size_t(state.range(0));
    SizeBed bed;
    bed.Begin();
    for (std::size_t i = 0; i < size; ++i) bed.Submit(Type(i));
    bed.AttachMany(size, 1);
    std::size_t next = 0;
    for (auto _ : state) {
        const std::size_t i = 1 + next++ % size;
        bed.Step(Detach{next <= size ? i : next - 1});
        bed.Step(Attach{size + next, SizeBed::NewWorker(i), {}});
    }
}
BENCHMARK(Reconnect)->Apply(Sizes)->Iterations(2'000);

// --- Looking in ---------------------------------------------------------------------------------

// Why something waits: for n workers that are full, for none of n, under a limit that is reached.
void Explain(benchmark::State& state) {
    const auto workers = std::size_t(state.range(0));
    SizeBed bed;
    bed.Begin();
    bed.AttachMany(workers, 1);
    const auto asked = [&] {
        TaskOptions options;
        if (state.range(1) == 1) options.target = Text("nobody");
        if (state.range(1) == 2) options.concurrency_max = 1;
        auto task = SizeBed::NewTask("work");
        task->options = std::make_unique<TaskOptions>(std::move(options));
        return task;
    };
    for (std::size_t i = 1; i < workers; ++i) bed.Submit("other");
    bed.Submit(asked());
    bed.Submit(asked());
    const ExecutionId id = bed.effects().replies.back().answer->execution.id;
    for (auto _ : state) {
        const auto why = bed.engine().Explain(id, bed.now());
        state.SetLabel(std::string(why->code));
    }
}
BENCHMARK(Explain)->ArgNames({"n", "of"})->ArgsProduct({{10, 10'000}, {0, 1, 2}});

// The metrics of queues with n lanes.
void Views(benchmark::State& state) {
    const auto lanes = std::size_t(state.range(0));
    SizeBed bed;
    bed.Begin();
    for (std::size_t i = 0; i < lanes; ++i) bed.Submit(Type(i));
    for (auto _ : state) benchmark::DoNotOptimize(bed.engine().Queues());
}
BENCHMARK(Views)->Apply(Sizes);

// --- Time ---------------------------------------------------------------------------------------

// Recurring tasks, minutely; the last due time of each as long ago as `behind`.
void Minutely(SizeBed& bed, std::size_t tasks, Duration behind) {
    for (std::size_t i = 0; i < tasks; ++i) {
        auto task = SizeBed::NewTask("work");
        task->id = TaskId(Text("task-" + std::to_string(i)));
        task->created_at = bed.now().wall - 30 * 24h;
        TaskOptions options;
        options.recurrence.emplace().cron = "* * * * *";
        task->options = std::make_unique<TaskOptions>(std::move(options));
        TaskRow row{.task = std::move(task), .state = {}};
        row.state.first_at = row.state.last_at = bed.now().wall - behind;
        row.state.next_at = row.state.last_at + 60s;
        bed.engine().RestoreTask(std::move(row));
    }
    bed.Begin();
}

// A week without a leader; meanwhile a worker says that it is there.
void Downtime(benchmark::State& state) {
    const auto tasks = std::size_t(state.range(0));
    for (auto _ : state) {
        state.PauseTiming();
        SizeBed bed;
        Minutely(bed, tasks, 7 * 24h);
        bed.Step(Attach{1, SizeBed::NewWorker(1), {}});
        state.ResumeTiming();
        bed.Watch();
        bed.Settle();
        if (bed.engine().counters().fired != tasks) state.SkipWithError("not all were made up for");
        state.counters["longest_ms"] = bed.longest_ms();
        state.counters["steps"] = double(bed.steps());
    }
}
BENCHMARK(Downtime)->ArgName("n")->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Which of n recurring tasks are late, looked at again and again; `of` 0: none, 1: all are due since
// minutes, 2: all have a run that waits for a worker.
void Lateness(benchmark::State& state) {
    SizeBed bed;
    Minutely(bed, std::size_t(state.range(0)), 0ms);
    if (state.range(1) > 0) bed.now().wall += 5min, bed.now().steady += 5min;
    if (state.range(1) > 1) bed.Settle();
    LateRuns late;
    AlertReadings readings;
    for (auto _ : state) {
        readings.clear();
        late.Read(bed.engine(), bed.now().wall, readings);
    }
    state.counters["late"] = double(readings.size());
}
BENCHMARK(Lateness)
    ->ArgNames({"n", "of"})
    ->ArgsProduct({{10'000, 1'000'000}, {0, 1, 2}})
    ->Unit(benchmark::kMillisecond);

// All n workers come back to a new leader, as they were, while a million executions of n kinds wait.
void Takeover(benchmark::State& state) {
    const auto size = std::size_t(state.range(0));
    for (auto _ : state) {
        state.PauseTiming();
        SizeBed bed;
        for (std::size_t i = 1; i <= size; ++i) {
            bed.engine().RestoreWorker(SizeBed::NewWorker(i, 10));
        }
        for (std::uint64_t i = 1; i <= 1'000'000; ++i) {
            Execution row;
            row.id = ExecutionId(Text("e-" + std::to_string(i)));
            row.serial = i;
            row.task = SizeBed::NewTask(Type(i % size));
            bed.engine().RestoreExecution(std::move(row));
        }
        state.ResumeTiming();
        bed.Begin();
        bed.Watch();
        for (std::size_t i = 1; i <= size; ++i) {
            bed.Step(Attach{i, SizeBed::NewWorker(i, 10), {}});
        }
        bed.Settle();
        state.counters["longest_ms"] = bed.longest_ms();
        state.counters["steps"] = double(bed.steps());
    }
}
BENCHMARK(Takeover)->ArgName("n")->Arg(100)->Arg(10'000)->Iterations(1)->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace takt::internal

BENCHMARK_MAIN();
