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

}  // namespace
}  // namespace takt::internal

BENCHMARK_MAIN();
