#include "engine/growth.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/failpoint.h"
#include "model/change.h"
#include "model/namespace.h"

namespace takt::internal {
namespace {

std::size_t BytesOf(const TaskPtr& task) {
    return SizeOf(Change(TaskPut{TaskRow{.task = task, .state = {}}}));
}

// An executor brings its tasks each time it starts, and an operator who pauses a task by its
// definition writes it whole: both as large as it is.
bool GrowsTask(const PutTask& put, const Engine& engine) {
    if (TAKT_MUTANT("engine.tasks_are_no_growth")) return false;
    const std::optional<TaskView> known = engine.FindTask(put.task->id);
    return !known || BytesOf(put.task) > BytesOf(known->row.task);
}

// Names may be claimed without end, before anything of that name is there. The directory of
// namespaces has as many rows as there are partitions: who shortens a retention there makes room.
bool GrowsSettings(const SwapSettings& swap) {
    return swap.guard.view() != kDirectoryVersionKey &&
           std::ranges::any_of(swap.puts, [](const SettingPut& put) { return !put.value.empty(); });
}

}  // namespace

bool Grows(const Input& input, const Engine& engine) {
    return std::visit(
        [&]<typename Known>(const Known& known) {
            if constexpr (std::is_same_v<Known, PutTask>) {
                return GrowsTask(known, engine);
            } else if constexpr (std::is_same_v<Known, SwapSettings>) {
                return GrowsSettings(known);
            } else {
                // One that runs again is kept for another retention, and may have steps to run.
                return std::is_same_v<Known, Submit> || std::is_same_v<Known, Trigger> ||
                       std::is_same_v<Known, Redrive>;
            }
        },
        input);
}

}  // namespace takt::internal
