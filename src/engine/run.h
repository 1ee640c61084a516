// Run: the execution of a task that has steps, as the engine holds it beside its Live.
//
// Only `progress` must survive. It is stored with the row of the child that was made last, which is
// written anyhow, or else as a record: where there is a record it is the newest, where there is none
// that of the youngest child which has some. The rest is found again by whoever takes over, from the
// children that live and from their stored results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/draft.h"
#include "engine/live.h"
#include "model/run_progress.h"
#include "model/workflow.h"

namespace takt::internal {

struct Leftover;

// Results that a later step may ask for are kept up to this much a run; others are asked of the store.
constexpr std::size_t kRunCacheBytes = 64u << 10;
// Progress that is larger is stored as a record: a child's row is written again with each attempt.
constexpr std::size_t kCarriedBytesMax = 2u << 10;
// A list of results that is larger is handed on by reference.
constexpr std::size_t kResultsBytesMax = 256u << 10;

// The results of a step's children, as far as they are in memory.
struct StepResults {
    std::vector<std::optional<Text>> parts;  // By index; nothing: not known here.
    std::size_t bytes = 0;
    bool too_large = false;  // For a list: it goes by reference.

    // Of the child of this index; null if it is not known here.
    const Text* Find(std::uint32_t index) const {
        return index < parts.size() && parts[index] ? &*parts[index] : nullptr;
    }
};

// A list that children are being made of.
struct StepItems {
    std::string json;
    std::vector<std::string_view> items;
};

// Values of a step. Most have none: they take from no other step, and none takes from them.
struct StepValues {
    StepResults results;
    std::unique_ptr<StepItems> items;
    std::optional<Text> payload;  // Filled in, if its many children all have the same.
    // A backfill: whether a due time has its execution already; nothing: not known yet.
    std::vector<std::optional<bool>> existing;
};

struct RunStep {
    TaskPtr task;                        // What its children share; made with the first of them.
    std::unique_ptr<StepValues> values;  // Null: none.
    std::uint32_t unfinished = 0;        // Its children that live.

    StepValues& Values();
    const StepResults& results() const;
    const StepItems* items() const { return values ? values->items.get() : nullptr; }
    void DropItems() {
        if (values) values->items.reset();
    }
};

struct Run {
    Live* live = nullptr;                // Its execution.
    Leftover* leftover = nullptr;        // Of handlers that stop in it while it goes on.
    Run* parent = nullptr;               // The run that it is a child of.
    const Workflow* workflow = nullptr;  // Its task's.
    RunProgress progress;
    std::vector<RunStep> steps;
    std::vector<Text> over;       // For EncodeProgress; none before its first step is over.
    std::vector<Live*> children;  // Those that live, in no order; Live::child is the place.
    std::size_t cached_bytes = 0;
    std::uint32_t awaited = 0;     // Answers of the store that are still to come.
    Live* fresh = nullptr;         // The last child that the step which goes on has made.
    Live* carrier = nullptr;       // The child whose row has its progress; null: its record has.
    ChangeMark mark;               // Of its record.
    std::size_t record_bytes = 0;  // Of its progress as it was last written.
    bool recorded = false;         // It has a record.
    bool blind = false;            // A stored child, or its progress, cannot be read.
    bool unwritten = false;        // The step that goes on has changed its progress.
    bool moving = false;           // In the line of those with something to do.

    bool all_over() const;
    bool ending() const { return progress.ending && !progress.ending->cleaning; }
    Run& outermost() { return parent ? parent->outermost() : *this; }
    const WorkflowStep& step(std::uint32_t number) const { return workflow->steps()[number]; }
};

inline bool IsRun(const Live& live) {
    return live.is_run;
}
// The run that it is a child of; null if of none.
inline Run* ParentOf(const Live& live) {
    return IsRun(live) ? live.flow->parent : live.flow;
}
inline bool IsEnding(const Live& live) {
    return IsRun(live) && live.flow->progress.ending.has_value();
}
// The outermost of the run and those above it that declares locks: it holds them for all that is in it.
// Null if none does.
const Live* LockingRun(const Run* run);
// Whether only the worker that its row names may run it.
bool IsPinned(const Live& live);

static_assert(kRunChildrenMax <= kChildPlaces && kStepsMax <= kStepPlaces, "see Live::child");

// Gives the execution its run, if its task has steps.
void AttachRun(Live& live);
// The child that its progress is written with from now on; null: none, it has a record. Rows of
// earlier ones keep what they have, and say it no more when they are written again.
void CarryBy(Run& run, Live* child, Text progress);
// A stored child brings the progress of its run along, or none, or an old one. REQUIRES: children come
// by rising serial, after the record.
void TakeCarried(Run& run, Live& child);
// Children of the step that may be unfinished at a time.
std::uint32_t UnfinishedMax(const WorkflowStep& step);
// Whether a step that has room for more children makes use of it now.
bool WorthMaking(const Run& run, std::uint32_t number);
// Whether the failure of a step ends the run.
bool StopsAtFailure(const Run& run);
OutcomePtr WhyNotStarted(const Live& child);
// The result of a child, for those that come after it.
Text DataOf(const Execution& child);
// A stored child brings a copy of its step: all children of the step hold one.
void ShareTask(Run& run, std::uint32_t number, Live& live);
// kConflict: a child is run again through its run.
std::unexpected<Error> BelongsToRun(const Execution& child);
// The due time that a child of a backfill is made for. REQUIRES: the step's items are there.
Time DueOf(const Run& run, std::uint32_t number, std::uint32_t index);

}  // namespace takt::internal
