// The cost of a step of a run beside a task: CPU of the engine and of the embedded store, and the bytes
// that the engine holds of what waits. All else that a task takes (requests, sessions, workers) is left
// out, so the figures show where a difference comes from; what users pay is bench/flows.py's.
//
//   flow_bench [directory] [tasks] [rounds] [task|step|waiting]
//
// With the last, that alone once: for who counts instructions (valgrind --tool=callgrind).
#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "bench/store_writer.h"
#include "engine/engine.h"
#include "model/workflow.h"
#include "store/embedded/store.h"

namespace takt::internal {
namespace {

constexpr std::size_t kSteps = 10;
constexpr std::uint32_t kCapacity = 1'000;
// Inputs that a busy node gathers in one commit.
constexpr std::size_t kBatchInputs = 500;

double CpuSeconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

NewTaskPtr NewTask(const char* name) {
    NewTaskPtr task(new Task);
    task->name = task->type = Text(name);
    task->queue = Text("default");
    return task;
}

WorkflowPtr Steps(std::size_t count, std::uint32_t shards) {
    std::vector<WorkflowStep> steps(count);
    for (std::size_t i = 0; i < count; ++i) {
        auto task = NewTask("noop");
        task->queue = Text();
        task->name = Text("s" + std::to_string(i));
        steps[i].task = std::move(task);
        steps[i].shards = shards;
        if (i > 0) steps[i].after = {steps[i - 1].task->name};
    }
    return *Workflow::Make(std::move(steps), {});
}

// An engine with one worker that succeeds at once, and a store that keeps its batches; or, without a
// directory, neither.
class Bench {
  public:
    explicit Bench(const std::string& directory) {
        const bool stores = !directory.empty();
        if (stores) Open(directory);
        EngineConfig config;
        config.pending_max = SIZE_MAX;
        engine_ =
            std::make_unique<Engine>(config, TermView{term_.partition, term_.epoch}, SeedOf(1));
        engine_->Begin(0, now_, effects_);
        Worker row;
        row.id = WorkerId(Text("worker"));
        row.capacity = kCapacity;
        if (stores) Step(Attach{1, row, {}});
        Commit();
    }

    // Submits so many, and works until nothing is left.
    void Run(std::size_t count, const WorkflowPtr& steps) {
        for (std::size_t i = 0; i < count || engine_->live_count() > 0;) {
            for (std::size_t inputs = 0; inputs < kBatchInputs;) {
                if (!given_.empty()) {
                    const AttemptRef ref = given_.front();
                    given_.pop_front();
                    Step(Started{1, ref});
                    Step(Report{1, ref, true, true, nullptr});
                    inputs += 2;
                } else if (i < count) {
                    ++i;
                    ++inputs;
                    Submit(steps);
                } else {
                    break;
                }
            }
            Step(Tick{});
            Commit();
        }
    }

    // So many tasks, or runs whose steps each came in a request of its own.
    void Wait(std::size_t count, std::uint32_t shards) {
        for (std::size_t i = 0; i < count; ++i) {
            Submit(shards > 0 ? Steps(1, shards) : WorkflowPtr());
            if (i % kBatchInputs == 0) Commit();
        }
        while (engine_->NextDeadline(now_) == Duration(0)) {
            Step(Tick{});
            Commit();
        }
        Commit();
    }

    std::size_t changes() const { return changes_; }
    std::size_t commits() const { return sequence_; }

  private:
    void Open(const std::string& directory) {
        std::filesystem::remove_all(directory);
        std::filesystem::create_directories(directory);
        store_ = std::move(*OpenEmbedded({.directory = directory}));
        term_ = *TakeLead(*store_, {.node = {.node = NodeId("bench")}, .ttl = Duration(3'600'000)});
    }

    void Step(Input input) {
        now_.wall += Duration(++steps_ % 16 == 0 ? 1 : 0);
        engine_->Step(std::move(input), now_, effects_);
    }

    void Submit(const WorkflowPtr& steps) {
        auto task = NewTask(steps ? "chain" : "noop");
        if (steps) {
            TaskOptions options;
            options.workflow = steps;
            task->type = Text();
            task->options = std::make_unique<TaskOptions>(std::move(options));
        }
        Step(internal::Submit{0, std::move(task)});
    }

    void Commit() {
        for (const Assign& assign : effects_.assigns) {
            given_.push_back(
                {assign.execution.id, assign.execution.attempt, assign.execution.token});
        }
        auto batch = std::make_shared<Batch>();
        batch->term = term_;
        batch->sequence = ++sequence_;
        batch->last_serial = engine_->last_serial();
        batch->changes = std::move(effects_.changes);
        changes_ += batch->changes.size();
        const std::uint32_t generation = effects_.generation + 1;
        effects_ = {};
        effects_.generation = generation;
        if (!store_) return;
        Await<void>([&](Done<void> done) { store_->Commit(batch, std::move(done)); });
    }

    Instant now_{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1),
                 Steady(std::chrono::hours(1))};
    std::unique_ptr<Store> store_;
    Term term_;
    std::unique_ptr<Engine> engine_;
    Effects effects_;
    std::deque<AttemptRef> given_;
    std::uint64_t sequence_ = 0;
    std::size_t steps_ = 0;
    std::size_t changes_ = 0;
};

struct Cost {
    double engine = 0;  // Microseconds a task.
    double store = 0;
    double changes = 0;  // Rows written a task.
};

Cost Measure(Bench& bench, std::size_t tasks, const WorkflowPtr& steps) {
    const double own = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
    const double all = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
    const std::size_t changes = bench.changes();
    bench.Run(steps ? tasks / kSteps : tasks, steps);
    const double engine = CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - own;
    const double both = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - all;
    return {.engine = engine / double(tasks) * 1e6,
            .store = (both - engine) / double(tasks) * 1e6,
            .changes = double(bench.changes() - changes) / double(tasks)};
}

void Print(const char* what, const Cost& cost) {
    fmt::print("{:6} engine {:6.2f} us, store {:6.2f} us, rows written {:5.2f}\n", what,
               cost.engine, cost.store, cost.changes);
}

std::size_t HeapBytes() {
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

// Of each of `count` executions that wait, in `count / shards` runs if they are children. Without a
// store, whose cache of pages is as large as it may be, whatever waits.
double WaitingBytes(std::size_t count, std::uint32_t shards) {
    Bench bench("");
    const std::size_t before = HeapBytes();
    bench.Wait(shards > 0 ? count / shards : count, shards);
    return double(HeapBytes() - before) / double(count);
}

void PrintWaiting(std::size_t count) {
    const double plain = WaitingBytes(count, 0);
    const double child = WaitingBytes(count, kSteps);
    fmt::print("bytes of a task that waits {:.0f}, of a child with a tenth of its run {:.0f}\n",
               plain, child);
}

int Main(int count, char** arguments) {
    const std::string directory = count > 1 ? arguments[1] : "/tmp/takt-flow-bench";
    const std::size_t tasks = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 50'000;
    const int rounds = count > 3 ? std::atoi(arguments[3]) : 3;
    const std::string only = count > 4 ? arguments[4] : "";
    if (only == "waiting") {
        PrintWaiting(tasks);
        return 0;
    }
    const WorkflowPtr chain = Steps(kSteps, 0);
    std::vector<double> ratios;
    Bench bench(directory);
    Measure(bench, 1'000, {});
    if (!only.empty()) {
        Print(only.c_str(), Measure(bench, tasks, only == "step" ? chain : WorkflowPtr()));
        std::filesystem::remove_all(directory);
        return 0;
    }
    for (int i = 0; i < rounds; ++i) {
        const Cost plain = Measure(bench, tasks, {});
        const Cost step = Measure(bench, tasks, chain);
        Print("task", plain);
        Print("step", step);
        ratios.push_back((step.engine + step.store) / (plain.engine + plain.store));
    }
    std::ranges::sort(ratios);
    fmt::print("a step costs {:.2f} of a task (median)\n", ratios[ratios.size() / 2]);
    PrintWaiting(tasks);
    std::filesystem::remove_all(directory);
    return 0;
}

}  // namespace
}  // namespace takt::internal

int main(int count, char** arguments) {
    return takt::internal::Main(count, arguments);
}
