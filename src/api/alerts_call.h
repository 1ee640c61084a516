// A call about alerts, once they are there to be looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "alerts/alerts.h"
#include "api/services.h"

namespace takt::internal {

// Runs `look` on the node's thread once alerts are read; refuses the call otherwise.
inline void WithAlerts(Call call, std::move_only_function<void(Call, Alerts&)> look) {
    Alerts& alerts = call.services().alerts;
    alerts.With([call = std::move(call), look = std::move(look)](Alerts& alerts) mutable {
        if (auto ready = alerts.Ready(); !ready) return call.RefuseAnswer(ready.error());
        look(std::move(call), alerts);
    });
}

// The same for a call that changes a rule or a channel, once the changes before it are stored.
inline void ChangeAlerts(Call call, std::move_only_function<void(Call, Alerts&)> change) {
    Alerts& alerts = call.services().alerts;
    alerts.InTurn([call = std::move(call), change = std::move(change)](Alerts& alerts) mutable {
        if (auto ready = alerts.Ready(); !ready) return call.RefuseAnswer(ready.error());
        change(std::move(call), alerts);
    });
}

// If-Match and If-None-Match, as a rule or a channel obeys them.
Result<WriteCondition> ReadWriteCondition(const HttpRequest& request);
// A condition that does not hold is 412.
void RefuseWrite(Call& call, const Error& error);
// With the version as its ETag.
void SendVersioned(Call call, int status, std::string body, std::uint32_t version);

}  // namespace takt::internal
