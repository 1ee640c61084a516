#include "links/step_results.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "model/run_progress.h"
#include "node/node.h"

namespace takt::internal {
namespace {

// Parts that are read at once, and bytes of them that are sent at once: a result may be a megabyte.
constexpr std::uint32_t kPartsRead = 32;
constexpr std::size_t kPageBytesMax = 1u << 20;

// The executions that may have the parts of a page.
struct Wanted {
    std::vector<ExecutionId> ids;
    std::vector<std::uint32_t> places;  // Of each id: the part that it would be, from 0.
    std::uint32_t parts = 0;
    StepResultsPage page;
};

Result<Wanted> FindWanted(const Engine& engine, const StepResultsQuestion& question) {
    const Execution* row = engine.FindExecution(question.execution);
    if (!row || row->token != question.token || !IsWorking(row->status)) {
        return Fail(ErrorCode::kConflict, "the attempt is over, or was never this one");
    }
    const auto run = engine.FindRun(row->parent);
    if (!run) return Fail(ErrorCode::kNotFound, "the execution is no part of a run");
    const Workflow& workflow = *run->execution.task->workflow();
    const auto number = workflow.Find(question.step);
    if (!number) {
        return Fail(ErrorCode::kNotFound, "its run has no step '" + question.step.str() + "'",
                    "step");
    }
    const StepProgress& progress = run->progress.steps[*number];
    if (!IsOver(progress.status)) {
        return Fail(ErrorCode::kNotFound, "step '" + question.step.str() + "' is not over", "step");
    }
    if (question.first > progress.total) {
        return Fail(ErrorCode::kInvalid,
                    "the step has " + std::to_string(progress.total) + " parts", "first");
    }
    Wanted wanted;
    wanted.page.total = progress.total;
    wanted.page.list = workflow.steps()[*number].fans_out();
    wanted.parts = std::min(kPartsRead, progress.total - question.first);
    for (std::uint32_t i = 0; i < wanted.parts; ++i) {
        const std::uint32_t index = question.first + i;
        if (!progress.succeeded.Has(index)) continue;
        for (const std::uint32_t round : progress.rounds) {
            wanted.ids.push_back(ChildId(row->parent, {*number, index, round}));
            wanted.places.push_back(i);
        }
    }
    return wanted;
}

// A result that is no JSON stands in the list as a string.
std::string PartOf(const Execution& row) {
    const Text data = row.outcome ? row.outcome->data : Text();
    if (data.empty()) return "null";
    if (CheckJson(data.view(), {.bytes_max = data.size()})) return data.str();
    std::string text;
    AppendJsonString(text, data.view());
    return text;
}

StepResultsPage PageOf(Wanted wanted, const std::vector<std::optional<Execution>>& found) {
    std::vector<std::string> parts(wanted.parts, "null");
    for (std::size_t i = 0; i < found.size() && i < wanted.places.size(); ++i) {
        if (!found[i] || found[i]->status != Status::kSuccess) continue;
        parts[wanted.places[i]] = PartOf(*found[i]);
    }
    std::size_t bytes = 0;
    for (std::string& part : parts) {
        bytes += part.size();
        // One at least: whoever asks gets on.
        if (bytes > kPageBytesMax && !wanted.page.parts.empty()) break;
        wanted.page.parts.push_back(std::move(part));
    }
    return std::move(wanted.page);
}

}  // namespace

void ReadStepResults(Node& node, const PartitionReader& rows, StepResultsQuestion question,
                     Done<StepResultsPage> done) {
    node.Look([rows, question = std::move(question),
               done = std::move(done)](const Engine* engine) mutable {
        if (!engine) return done(Fail(ErrorCode::kUnavailable, "the leader has just changed"));
        auto wanted = FindWanted(*engine, question);
        if (!wanted) return done(std::unexpected(wanted.error()));
        if (wanted->ids.empty()) return done(PageOf(std::move(*wanted), {}));
        std::vector<ExecutionId> ids = wanted->ids;
        rows.FindExecutions(
            std::move(ids), [wanted = std::move(*wanted), done = std::move(done)](
                                Result<std::vector<std::optional<Execution>>> found) mutable {
                if (!found) return done(Fail(ErrorCode::kUnavailable, found.error().detail));
                done(PageOf(std::move(wanted), *found));
            });
    });
}

}  // namespace takt::internal
