// Event: something that happened, for people and programs that watch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/id.h"
#include "base/text.h"
#include "base/time.h"

namespace takt::internal {

enum class EventType : std::uint8_t {
    kTaskSubmitted,
    kTaskScheduled,
    kTaskStarted,
    kTaskCompleted,
    kTaskFailed,
    kTaskRetrying,
    kTaskCancelled,
    kTaskSkipped,
    kWorkerJoined,   // First seen.
    kWorkerLeft,     // Said goodbye or was removed.
    kWorkerOnline,   // Back after being offline or in maintenance.
    kWorkerOffline,  // Not heard of for too long.
    kLeaderChanged,
    kAlert,
    kTaskChanged,    // A recurring task was made, changed, paused or resumed; `detail` says which.
    kTaskDeleted,    // A recurring task.
    kQueueChanged,   // Its limits, or paused or resumed; `detail` is its name.
    kLockAcquired,   // `detail` is its name; of an attempt also whose.
    kLockReleased,   // By whoever held it, or with the attempt that did.
    kLockLost,       // Its lease was over, or an operator took it away.
    kTaskEnding,     // A run is to end, and nothing of it starts any more; `detail` says as what.
    kWorkerChanged,  // Its capacity; `detail` says which it is now.
};
constexpr int kEventTypeCount = 22;

// "task.completed" and so on.
std::string_view Name(EventType type);
std::optional<EventType> ParseEventType(std::string_view name);

struct Event {
    Serial serial = 0;  // Rises; what Last-Event-ID names.
    EventType type{};
    Time at{};
    TaskId task;
    ExecutionId execution;
    WorkerId worker;
    std::uint32_t attempt = 0;
    Text detail;  // One sentence, or empty; of an alert the JSON that watchers see.
};

}  // namespace takt::internal
