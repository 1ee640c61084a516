#include "sdk/whole/node_events.h"

namespace takt {
namespace {

Event EventOf(const internal::Event& event) {
    return {.serial = event.serial,
            .type = static_cast<EventType>(event.type),
            .at = Time(event.at.time_since_epoch()),
            .task_id = event.task.text().str(),
            .execution_id = event.execution.text().str(),
            .worker_id = event.worker.text().str(),
            .attempt = event.attempt,
            .detail = event.detail.str()};
}

}  // namespace

void NodeEvents::Release(const internal::Effects& effects) {
    for (const internal::Event& event : effects.events) {
        to_.TellHeard(event.serial, [&] { return EventOf(event); });
    }
}

}  // namespace takt
