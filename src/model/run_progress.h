// RunProgress: how far a run has come, step by step. While the run goes on it is a record beside the
// run's row, written in the same batch as whatever moves it; when the run has ended it stands in the
// row itself.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "base/time.h"
#include "model/execution.h"
#include "model/workflow.h"

namespace takt::internal {

// Stored by number: only ever append.
enum class StepStatus : std::uint8_t {
    kWaiting,   // For the steps before it.
    kReady,     // To begin, once the values that it needs are there.
    kRunning,   // Its children are being made, wait or run.
    kStopping,  // What it needed is there (min_success), or the run ends: the rest is ended.
    kSuccess,
    kFailed,
    kCancelled,
    kSkipped,
};
constexpr bool IsOver(StepStatus status) {
    return status >= StepStatus::kSuccess;
}
// As people see it: pending, running, success, failed, cancelled, skipped.
std::string_view Name(StepStatus status);

// One bit for each child of a step.
class ChildBits {
  public:
    bool Has(std::uint32_t index) const {
        return index / 8 < bytes_.size() && (std::uint8_t(bytes_[index / 8]) >> (index % 8) & 1);
    }
    void Set(std::uint32_t index);
    const std::string& bytes() const { return bytes_; }
    static ChildBits From(std::string bytes);
    friend bool operator==(const ChildBits&, const ChildBits&) = default;

  private:
    std::string bytes_;
};

struct StepProgress {
    StepStatus status = StepStatus::kWaiting;
    bool by_failure = false;   // Skipped or cancelled because another one failed.
    std::uint32_t total = 0;   // Children; known once it runs.
    std::uint32_t cursor = 0;  // Those below have been made, or need not be.
    std::uint32_t success = 0;
    std::uint32_t failed = 0;
    std::uint32_t cancelled = 0;
    std::uint32_t skipped = 0;
    ChildBits succeeded;
    // In which it made children. Most runs are run once.
    boost::container::small_vector<std::uint32_t, 2> rounds;
    std::vector<Text> workers;  // each_worker: who gets which, while they are being made.
    Time started_at{};
    Time finished_at{};
    Text note;  // Why it was skipped or failed; empty if its children tell.

    std::uint32_t ended() const { return success + failed + cancelled + skipped; }
    friend bool operator==(const StepProgress&, const StepProgress&) = default;
};

// How the run is to end once what goes on has ended.
struct RunEnding {
    Status status{};
    Reason reason = Reason::kNone;
    Text message;
    Text data;              // The result, if whoever ended it gave one.
    bool cleaning = false;  // What went on has ended; steps that clean up may begin.

    friend bool operator==(const RunEnding&, const RunEnding&) = default;
};

struct RunProgress {
    std::uint32_t round = 0;     // How often it was run again.
    std::uint32_t children = 0;  // Of an outermost run: all below it, of all rounds.
    std::uint32_t depth = 1;
    std::optional<RunEnding> ending;
    std::vector<StepProgress> steps;

    friend bool operator==(const RunProgress&, const RunProgress&) = default;
};

RunProgress NewProgress(const Workflow& workflow);

// `over` is what is remembered of earlier times: by the number of each step its own part, which stays
// the same once the step is over; nothing where it is not known yet. Filled in on the way, if it has
// room for all steps.
std::string EncodeProgress(const RunProgress& progress, std::span<Text> over = {});
// kInvalid if it is none, or not one of a run with so many steps.
Result<RunProgress> DecodeProgress(std::string_view bytes, std::size_t steps);
// Round and ending alone: what a live run's row says of it.
std::string EncodeProgressHead(const RunProgress& progress);
Result<RunProgress> DecodeProgressHead(std::string_view bytes);

// The id of a child: spelled from its run's, so that it need not be stored to be found, and of a
// form that callers cannot choose.
struct ChildPlace {
    std::uint32_t step = 0;
    std::uint32_t index = 0;
    std::uint32_t round = 0;
};
ExecutionId ChildId(const ExecutionId& run, const ChildPlace& place);
// The id of the execution that a backfill makes for a due time.
ExecutionId BackfillId(const TaskId& task, Time due);
// Whether an id has the form of one of these.
bool IsChildId(std::string_view id);

}  // namespace takt::internal
