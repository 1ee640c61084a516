// Event: something that happened, after it was stored. See Scheduler::RegisterEventCallback.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "takt/export.h"
#include "takt/name.h"
#include "takt/time.h"

namespace takt {

enum class EventType : std::uint8_t {
    kTaskSubmitted,
    kTaskScheduled,  // Given to a worker.
    kTaskStarted,    // The worker has begun. Not told of an attempt whose result came with it.
    kTaskCompleted,  // Success.
    kTaskFailed,     // For good: no retry is left.
    kTaskRetrying,   // An attempt failed, another will follow.
    kTaskCancelled,
    kTaskSkipped,    // A fire that the execution mode or the misfire policy dropped.
    kWorkerJoined,   // First seen.
    kWorkerLeft,     // Said goodbye or was removed.
    kWorkerOnline,   // Back after being offline or in maintenance.
    kWorkerOffline,  // Not heard of for too long.
    kLeaderChanged,
    kAlert,
    kTaskChanged,    // A recurring task was made, changed, paused or resumed; `detail` says which.
    kTaskDeleted,    // A recurring task.
    kQueueChanged,   // Its limits, or paused or resumed; `detail` is its name.
    kLockAcquired,   // `detail` is its name.
    kLockReleased,   // By whoever held it, or with the attempt that did.
    kLockLost,       // Its lease was over, or an operator took it away.
    kTaskEnding,     // A run is to end, and nothing of it starts any more; `detail` says as what.
    kWorkerChanged,  // Its capacity; `detail` says which it is now.
    // Events were lost on their way to this Client or Scheduler, as after a change of leaders. Read the
    // state again. Told to every callback.
    kMissed = 255,
};

// "task.completed" and so on.
TAKT_EXPORT std::string_view Name(EventType type);
TAKT_EXPORT std::optional<EventType> ParseEventType(std::string_view name);
template <>
inline constexpr bool kHasName<EventType> = true;

struct Event {
    std::uint64_t serial = 0;  // Rises; never the same twice.
    EventType type{};
    Time at{};
    std::string task_id;       // Empty if it is not about a task,
    std::string execution_id;  // an execution
    std::string worker_id;     // or a worker.
    std::uint32_t attempt = 0;
    std::string detail;  // One sentence, or empty.
};

using EventCallback = std::function<void(const Event&)>;

}  // namespace takt
