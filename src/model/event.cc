#include "model/event.h"

#include <array>

#include "model/names.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, kEventTypeCount> kTypes = {
    "task.submitted", "task.scheduled", "task.started",   "task.completed", "task.failed",
    "task.retrying",  "task.cancelled", "task.skipped",   "worker.joined",  "worker.left",
    "worker.online",  "worker.offline", "leader.changed", "alert",          "task.changed",
    "task.deleted",   "queue.changed",  "lock.acquired",  "lock.released",  "lock.lost",
    "task.ending",    "worker.changed",
};

}  // namespace

std::string_view Name(EventType type) {
    return names::Find(kTypes, type);
}

std::optional<EventType> ParseEventType(std::string_view name) {
    return names::Parse<EventType>(kTypes, name);
}

}  // namespace takt::internal
