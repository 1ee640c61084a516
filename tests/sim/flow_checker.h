// FlowChecker: what must hold of workflows, as the committed rows and records show it. A step begins
// only after what it waits for; each child is made once and none is forgotten; a run ends exactly
// when nothing of it is left; nothing starts in a run that ends; values are those of the accepted
// results.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "model/run_progress.h"
#include "sim/limit_checker.h"
#include "store/store.h"

namespace takt::internal::sim {

class FlowChecker {
  public:
    explicit FlowChecker(std::function<void(const std::string&)> fail) : fail_(std::move(fail)) {}

    void OnCommit(const Batch& batch, const std::vector<RowMove>& moves);

  private:
    struct Part {
        std::uint32_t step = 0;
        std::uint32_t index = 0;
        std::uint32_t round = 0;
        auto operator<=>(const Part&) const = default;
    };
    struct KnownRun {
        Execution row;
        std::optional<RunProgress> progress;  // As stored; nothing while it has none.
        bool recorded = false;                // It has a record.
        bool ends = false;                    // Its progress said that it is to end.
        Serial carried_by = 0;                // The youngest part that carried its progress.
        std::map<Part, Execution> parts;

        const Workflow& workflow() const { return *row.task->workflow(); }
        bool ending() const { return progress && progress->ending && !progress->ending->cleaning; }
    };

    void TakeProgress(KnownRun& run, const Text& stored, bool redriven);
    void DropEnded(const Execution& row);
    void NoteCarried(const Execution& part, std::set<ExecutionId>& touched,
                     const std::set<ExecutionId>& redriven);
    // `before`: for what reason it was to end before the batch.
    static bool CleansUp(const KnownRun& run, Reason before);
    void OnPart(KnownRun& run, const RowMove& move, bool ended_before);
    void CheckBegins(const KnownRun& run, const Execution& part, std::uint32_t step);
    void CheckValues(const KnownRun& run, const Execution& part, std::uint32_t step);
    Result<std::string> ValuesWithout(const KnownRun& run, std::uint32_t step,
                                      const std::set<ExecutionId>& unknown) const;
    void CheckProgress(const KnownRun& run);
    void CheckEnd(const KnownRun& run);
    // Null if that part has not succeeded, or was taken back since.
    static const Execution* SuccessOf(const KnownRun& run, std::uint32_t step, std::uint32_t index);

    std::function<void(const std::string&)> fail_;
    std::map<ExecutionId, KnownRun> runs_;
    // Parts that have succeeded by the batch that is looked at. A row that the batch changes twice
    // stands where it was changed first, so its changes do not tell which of them came before others.
    std::set<ExecutionId> arrived_;
};

}  // namespace takt::internal::sim
