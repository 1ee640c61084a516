#include "sim/flow_checker.h"

#include <algorithm>

#include "model/results_reference.h"
#include "model/step_decision.h"
#include "model/step_values.h"

namespace takt::internal::sim {
namespace {

std::string Named(const Execution& row) {
    return row.id.text().str() + " (" + std::string(Name(row.status)) + ")";
}

std::uint32_t TotalOf(const WorkflowStep& step) {
    return std::max(1u, step.shards);
}

}  // namespace

void FlowChecker::OnCommit(const Batch& batch, const std::vector<RowMove>& moves) {
    std::set<ExecutionId> touched;
    std::map<ExecutionId, Reason> ending;
    std::set<ExecutionId> redriven;
    for (const auto& [id, run] : runs_) {
        if (run.ending()) ending[id] = run.progress->ending->reason;
    }
    for (const RowMove& move : moves) {
        if (!move.after.task->workflow()) continue;
        KnownRun& run = runs_[move.after.id];
        if (!move.before.task) run = {};
        if (move.before.task && IsTerminal(move.before.status)) redriven.insert(move.after.id);
        run.row = move.after;
        touched.insert(move.after.id);
    }
    for (const Change& change : batch.changes) {
        const auto* record = std::get_if<RecordPut>(&change);
        if (!record || record->kind != RecordKind::kRun) continue;
        const ExecutionId id(record->key);
        KnownRun& run = runs_[id];
        touched.insert(id);
        run.recorded = !record->value.empty();
        run.progress.reset();
        if (run.recorded) TakeProgress(run, record->value, redriven.contains(id));
    }
    for (const RowMove& move : moves) DropEnded(move.after);
    for (const RowMove& move : moves) NoteCarried(move.after, touched, redriven);
    arrived_.clear();
    for (const RowMove& move : moves) {
        if (move.after.parent.empty() || move.after.status != Status::kSuccess) continue;
        if (!move.before.task || move.before.status != Status::kSuccess) {
            arrived_.insert(move.after.id);
        }
    }
    for (const RowMove& move : moves) {
        if (move.after.parent.empty()) continue;
        const auto run = runs_.find(move.after.parent);
        if (run == runs_.end()) return fail_(Named(move.after) + " is a part of no run");
        touched.insert(run->first);
        const auto ended = ending.find(run->first);
        OnPart(run->second, move, ended != ending.end() && !CleansUp(run->second, ended->second));
    }
    for (const ExecutionId& id : touched) {
        const KnownRun& run = runs_[id];
        if (!run.row.task) return fail_(id.text().str() + " has a record and no row");
        CheckProgress(run);
        CheckEnd(run);
    }
}

void FlowChecker::TakeProgress(KnownRun& run, const Text& stored, bool redriven) {
    const std::string name = run.row.id.text().str();
    auto progress = DecodeProgress(stored, run.workflow().steps().size());
    if (!progress) return fail_(name + " has progress that cannot be read");
    if (run.ends && !progress->ending && !redriven) fail_(name + " forgot that it was to end");
    run.ends = progress->ending.has_value();
    run.progress = std::move(*progress);
}

// A part that has ended carries nothing any more, and a run that has ended has its progress in its row.
void FlowChecker::DropEnded(const Execution& row) {
    if (!IsTerminal(row.status)) return;
    const bool is_run = row.task->workflow() != nullptr;
    if (is_run) runs_[row.id].ends = false;
    const auto run = runs_.find(is_run ? row.id : row.parent);
    if (run == runs_.end() || run->second.recorded) return;
    if (is_run || run->second.carried_by == row.serial) run->second.progress.reset();
}

// The youngest part of a run that lives has its progress, unless a record has.
void FlowChecker::NoteCarried(const Execution& part, std::set<ExecutionId>& touched,
                              const std::set<ExecutionId>& redriven) {
    if (part.parent.empty() || part.task->workflow() || part.progress.empty()) return;
    if (IsTerminal(part.status)) return fail_(Named(part) + " has ended and carries progress");
    const auto found = runs_.find(part.parent);
    if (found == runs_.end() || part.serial < found->second.carried_by) return;
    KnownRun& run = found->second;
    run.carried_by = part.serial;
    touched.insert(part.parent);
    if (!run.recorded) TakeProgress(run, part.progress, redriven.contains(part.parent));
}

// After a failure steps that clean up begin, once all else has ended; one batch may show both, and that
// a cancel or the run's timeout cut it short.
bool FlowChecker::CleansUp(const KnownRun& run, Reason before) {
    const auto head =
        run.progress ? Result<RunProgress>(*run.progress) : DecodeProgressHead(run.row.progress);
    if (!head || !head->ending) return false;
    const bool failed = head->ending->reason == Reason::kStepFailed;
    return failed ? head->ending->cleaning : before == Reason::kStepFailed;
}

void FlowChecker::OnPart(KnownRun& run, const RowMove& move, bool ended_before) {
    const Execution& after = move.after;
    const std::uint32_t step = run.workflow().Find(after.step).value();
    const Part part{step, after.shard_index, after.round};
    const bool fresh = !move.before.task;
    if (fresh) {
        if (run.parts.contains(part)) fail_(Named(after) + " was made twice");
        if (ended_before) fail_(Named(after) + " was made though its run was to end");
        CheckBegins(run, after, step);
        CheckValues(run, after, step);
    }
    if (after.attempt > move.before.attempt && ended_before) {
        fail_(Named(after) + " was started though its run was to end");
    }
    run.parts[part] = after;
}

const Execution* FlowChecker::SuccessOf(const KnownRun& run, std::uint32_t step,
                                        std::uint32_t index) {
    // Many times for each batch: a run's progress is neither copied nor read without need.
    std::optional<RunProgress> read;
    const RunProgress* progress = run.progress ? &*run.progress : nullptr;
    for (auto part = run.parts.lower_bound({step, index, 0}); part != run.parts.end(); ++part) {
        const auto& [key, row] = *part;
        if (key.step != step || key.index != index) break;
        if (row.status != Status::kSuccess) continue;
        if (!progress) {
            auto decoded = DecodeProgress(run.row.progress, run.workflow().steps().size());
            if (!decoded) return &row;
            progress = &read.emplace(std::move(*decoded));
        }
        // A success from before the step was taken back, to run anew, does not count any more.
        const auto& rounds = progress->steps[step].rounds;
        if (std::ranges::find(rounds, key.round) != rounds.end()) return &row;
    }
    return nullptr;
}

// Judged by the rows of those it waits for, not by what the engine says of them.
void FlowChecker::CheckBegins(const KnownRun& run, const Execution& part, std::uint32_t step) {
    std::size_t all = 0, success = 0, over = 0;
    // One batch may show the end of the run too, which leaves its progress with its row.
    const auto progress = run.progress
                              ? Result<RunProgress>(*run.progress)
                              : DecodeProgress(run.row.progress, run.workflow().steps().size());
    for (const std::uint32_t before : run.workflow().before(step)) {
        ++all;
        const WorkflowStep& other = run.workflow().steps()[before];
        std::uint32_t succeeded = 0;
        bool live = false;
        for (std::uint32_t i = 0; i < TotalOf(other); ++i) {
            succeeded += SuccessOf(run, before, i) != nullptr;
        }
        for (const auto& [key, row] : run.parts) {
            live = live || (key.step == before && !IsTerminal(row.status));
        }
        const std::uint32_t enough = other.min_success ? other.min_success : TotalOf(other);
        const bool done = succeeded >= enough;
        success += done;
        over += !live && (done || (progress && IsOver(progress->steps[before].status)));
    }
    const When when = run.workflow().steps()[step].when;
    const bool begins = when == When::kAllSuccess   ? success == all
                        : when == When::kAnySuccess ? success > 0
                        : when == When::kAnyFailed  ? over > success
                                                    : over == all;
    if (!begins) {
        fail_(Named(part) + " began though those before it have not ended as " +
              std::string(Name(when)) + " says");
    }
}

void FlowChecker::CheckValues(const KnownRun& run, const Execution& part, std::uint32_t step) {
    if (part.outcome && part.outcome->reason == Reason::kValueMissing) return;
    const auto expected = ValuesWithout(run, step, {});
    if (!expected || *expected == part.input().view()) return;
    // A step that begins at the first success or failure may have begun before others of the same
    // batch succeeded.
    const When when = run.workflow().steps()[step].when;
    const bool first = when == When::kAnySuccess || when == When::kAnyFailed;
    std::vector<ExecutionId> late;
    for (const auto& [key, row] : run.parts) {
        if (first && arrived_.contains(row.id)) late.push_back(row.id);
    }
    constexpr std::size_t kLateMax = 8;
    const std::size_t count = std::min(late.size(), kLateMax);
    for (std::size_t some = 1; some < std::size_t{1} << count; ++some) {
        std::set<ExecutionId> unknown;
        for (std::size_t i = 0; i < count; ++i) {
            if (some >> i & 1) unknown.insert(late[i]);
        }
        const auto without = ValuesWithout(run, step, unknown);
        if (without && *without == part.input().view()) return;
    }
    fail_(Named(part) + " was given " + part.input().str() + ", not " + *expected);
}

// The payload of the step with the results that are accepted, but for those that are not known yet.
Result<std::string> FlowChecker::ValuesWithout(const KnownRun& run, std::uint32_t step,
                                               const std::set<ExecutionId>& unknown) const {
    const WorkflowStep& own = run.workflow().steps()[step];
    std::map<std::string, std::string, std::less<>> results;
    for (const std::uint32_t source : run.workflow().sources(step)) {
        const WorkflowStep& from = run.workflow().steps()[source];
        std::string list;
        bool any = false;
        for (std::uint32_t i = 0; i < TotalOf(from); ++i) {
            const Execution* row = SuccessOf(run, source, i);
            if (row && unknown.contains(row->id)) row = nullptr;
            any = any || row;
            const std::string data = row && row->outcome && !row->outcome->data.empty()
                                         ? row->outcome->data.str()
                                         : "null";
            list += (i > 0 ? "," : "") + data;
        }
        if (any) results[from.task->name.str()] = from.fans_out() ? "[" + list + "]" : list;
    }
    ValueSources sources;
    sources.input = run.row.input();
    sources.result = [&](std::string_view name) -> std::optional<std::string_view> {
        const auto found = results.find(name);
        if (found == results.end()) return std::nullopt;
        return found->second;
    };
    return FillIn(own.task->payload, sources);
}

// The cursor and the counts are those of the rows: none is forgotten, none is counted twice.
void FlowChecker::CheckProgress(const KnownRun& run) {
    if (!run.progress) return;
    const std::string name = run.row.id.text().str();
    for (std::uint32_t number = 0; number < run.progress->steps.size(); ++number) {
        const StepProgress& step = run.progress->steps[number];
        const std::string where = name + ", step " + std::to_string(number);
        std::uint32_t success = 0;
        for (std::uint32_t i = 0; i < step.total; ++i) {
            success += SuccessOf(run, number, i) != nullptr;
            const bool made = run.parts.contains({number, i, run.progress->round});
            // A step of an earlier round is as that round left it.
            const bool own =
                std::ranges::find(step.rounds, run.progress->round) != step.rounds.end();
            if (own && i < step.cursor && !made && !SuccessOf(run, number, i)) {
                fail_(where + " forgot to make " + std::to_string(i));
            }
            const bool now = step.status == StepStatus::kRunning;
            if (i >= step.cursor && made && now) fail_(where + " made more than its cursor says");
        }
        const bool counts = step.status != StepStatus::kWaiting;
        if (counts && success != step.success) {
            fail_(where + " counts " + std::to_string(step.success) + " successes, not " +
                  std::to_string(success));
        }
    }
}

void FlowChecker::CheckEnd(const KnownRun& run) {
    const std::string name = run.row.id.text().str();
    const bool live = std::ranges::any_of(
        run.parts, [](const auto& entry) { return !IsTerminal(entry.second.status); });
    if (IsTerminal(run.row.status)) {
        if (live) fail_(name + " has ended before its parts");
        if (run.progress) fail_(name + " has ended and still has a record");
        const Outcome* outcome = run.row.outcome.get();
        if (outcome && FindReferred(outcome->data.view())) {
            fail_(name + " has a reference for a result, and none here is too large");
        }
        return;
    }
    if (run.row.status != Status::kRunning) return;
    if (!run.progress) return fail_(name + " goes on without a record");
    const bool over = std::ranges::all_of(
        run.progress->steps, [](const StepProgress& step) { return IsOver(step.status); });
    // One that succeeds may have to ask the store for its result first.
    const RunDecision as = DecideRun(*run.row.task->workflow(), *run.progress);
    const bool asks = !run.progress->ending && as.status == Status::kSuccess;
    if (over && !live && !asks) fail_(name + " has nothing left and has not ended");
}

}  // namespace takt::internal::sim
