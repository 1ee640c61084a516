// Why an execution waits for a handler that has yet to stop.
#include <string>

#include "engine/engine.h"

namespace takt::internal {

std::optional<Explanation> Engine::ExplainLeftover(const Live& live, const Hold* limit) const {
    const Leftover* found = nullptr;
    for (const auto& [number, leftover] : leftovers_.all) {
        if (leftover->run) continue;
        const bool turn = live.waits == Waits::kTurn && leftover->turn_of == live.recurring;
        const bool permit = live.waits == Waits::kLimit && limit && !limit->has_permit() &&
                            leftover->limit == limit->key;
        if (turn || permit || locks_.WaitsFor(live, leftover->locks)) found = leftover.get();
        if (found) break;
    }
    if (!found) return std::nullopt;
    const Slot* slot = found->handlers.begin()->second->slot;
    const std::string worker = slot ? slot->row.id.text().str() : "";
    const std::string since = FormatTime(found->since);
    const std::string execution = found->execution.text().str();
    return Explanation{"handler_stops",
                       "waits for the handler of '" + execution + "', which was ended at " + since +
                           ", to stop on worker '" + worker + "'",
                       {{"execution", execution}, {"worker", worker}, {"since", since}}};
}

}  // namespace takt::internal
