// Results that a step needs of earlier ones and that are not in memory are asked of the store.
#include <utility>

#include "engine/engine.h"
#include "engine/run_values.h"

namespace takt::internal {
namespace {

// Results that a run asks the store for at once: each may be a megabyte.
constexpr std::uint32_t kResultsAtOnce = 32;

}  // namespace

// Whether all results that the step takes values from are in memory; else the store is being asked.
bool Engine::GatherValues(Run& run, std::uint32_t number) {
    if (run.workflow->sources(number).empty()) return true;
    const StepValues* known = run.steps[number].values.get();
    if (known && known->payload && run.step(number).for_each.empty()) return true;
    if (run.awaited > 0) return false;
    for (const std::uint32_t source : run.workflow->sources(number)) AskResults(run, source);
    return run.awaited == 0;
}

// The same of the results that make up the run's own, as far as it has room for them.
bool Engine::GatherResult(Run& run) {
    if (run.awaited > 0) return false;
    std::size_t bytes = 0;
    for (std::uint32_t number = 0; number < run.steps.size(); ++number) {
        if (!run.workflow->behind(number).empty()) continue;
        AskResults(run, number);
        if (run.awaited >= kResultsAtOnce) return false;
        if (run.awaited == 0) KeepWhatFits(run, number, bytes);
    }
    return run.awaited == 0;
}

void Engine::AskResults(Run& run, std::uint32_t source) {
    const StepProgress& progress = run.progress.steps[source];
    if (!HasResult(run.step(source), progress)) return;
    StepResults& results = run.steps[source].Values().results;
    if (results.too_large) return;
    results.parts.resize(progress.total);
    std::uint32_t asked = 0;
    for (std::uint32_t i = 0; i < progress.total && asked < kResultsAtOnce; ++i) {
        if (results.parts[i] || !progress.succeeded.Has(i)) continue;
        ++asked;
        for (const std::uint32_t round : progress.rounds) {
            const ExecutionId& id = run.live->row.id;
            ++run.awaited;
            AskStore(ChildId(id, {source, i, round}), ResultWanted{id, {source, i, round}});
        }
    }
}

void Engine::On(ResultWanted& wanted) {
    const ExecutionId id = ChildId(wanted.run, wanted.place);
    AskStore(id, std::move(wanted));
}

void Engine::AnswerTo(const ResultWanted& wanted, const std::optional<Execution>& found) {
    Live* live = FindLive(wanted.run);
    if (!live || !IsRun(*live) || live->flow->awaited == 0) return;
    Run& run = *live->flow;
    --run.awaited;
    const StepProgress& progress = run.progress.steps[wanted.place.step];
    const bool known = run.steps[wanted.place.step].results().Find(wanted.place.index) != nullptr;
    if (found && found->status == Status::kSuccess) {
        KeepResult(run, wanted.place, DataOf(*found));
    } else if (!known && !progress.rounds.empty() && wanted.place.round == progress.rounds.back()) {
        // None of its rounds has it, though one did: somebody deleted what was stored.
        KeepResult(run, wanted.place, Text());
    }
    if (run.awaited == 0) MoveRun(run);
}

}  // namespace takt::internal
