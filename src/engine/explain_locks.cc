// Explanations that are about locks.
#include <string>

#include "engine/engine.h"

namespace takt::internal {
namespace {

// A holder of it: an execution, else whom the client says it is.
std::string HolderOf(const Lock& lock) {
    if (lock.holders.empty()) return "";
    const LockHolding& row = lock.holders.begin()->second->row;
    if (!row.execution.empty()) return row.execution.text().str();
    return row.owner.empty() ? row.id.str() : row.owner.str();
}

}  // namespace

// Why an execution waits for locks, before it starts or while it runs; nothing if it waits for none.
std::optional<Explanation> Engine::ExplainLocks(const Live& live) const {
    const auto waiting = locks_.WaitingOf(live);
    if (!waiting) return std::nullopt;
    const std::string name = waiting->lock->name.str();
    const std::string holder = HolderOf(*waiting->lock);
    if (live.slot) {
        const auto circle = locks_.CircleOf(live);
        if (!circle.empty()) {
            std::string path;
            for (const Live* one : circle) path += one->row.id.text().str() + " → ";
            path += live.row.id.text().str();
            return Explanation{"lock_circle",
                               "its handler waits for lock '" + name +
                                   "' in a circle of executions that wait for each other: " + path +
                                   "; the first whose wait is over fails",
                               {{"lock", name}, {"circle", path}}};
        }
    }
    const std::string held = holder.empty() ? "" : ", which '" + holder + "' holds";
    const std::string line =
        waiting->before == 0 ? "" : "; " + Counted(waiting->before, "other") + " before it in line";
    const std::uint64_t before = waiting->before;
    if (live.slot) {
        return Explanation{"handler_lock",
                           "its handler waits for lock '" + name + "'" + held + line,
                           {{"lock", name}, {"holder", holder}, {"before", before}}};
    }
    return Explanation{"lock",
                       "waits for lock '" + name + "'" + held + line,
                       {{"lock", name}, {"holder", holder}, {"before", before}}};
}

}  // namespace takt::internal
