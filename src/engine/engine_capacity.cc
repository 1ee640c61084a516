// How many attempts a worker is given at once: by its own word, or by an operator's.
#include <algorithm>

#include "base/failpoint.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// An operator's word goes before the worker's own.
std::uint32_t CapacityOf(const Worker& row) {
    return row.capacity_set != 0 ? row.capacity_set : row.capacity_said;
}

}  // namespace

void Engine::On(SetWorkerCapacity& set) {
    const auto found = workers_.find(set.worker.text());
    if (found == workers_.end()) {
        return draft_.Reply(
            set.request,
            Fail(ErrorCode::kNotFound, "there is no worker '" + set.worker.text().str() + "'"));
    }
    Slot& slot = *found->second;
    const auto document = [](std::uint32_t capacity) {
        return FieldsDocument({{"capacity", capacity == 0 ? "its own" : std::to_string(capacity)}});
    };
    draft_.Audit(set.by, {.target = TargetOf(slot.row),
                          .before = document(slot.row.capacity_set),
                          .after = document(set.capacity)});
    draft_.Reply(set.request, Answer{});
    // A row of an earlier version does not say which of the two its capacity was.
    const std::uint32_t said =
        slot.row.capacity_said != 0 ? slot.row.capacity_said : slot.row.capacity;
    ChangeCapacity(slot, said, set.capacity);
    if (slot.session != 0) draft_.Send(CapacityNotice{slot.session, set.capacity});
    ContinueWorker(slot);
}

// A worker that attaches brings its own word; an operator's is kept.
void Engine::TakeCapacity(Slot& slot, std::uint32_t set) {
    slot.row.capacity_said = std::clamp(slot.row.capacity, 1u, kCapacityMax);
    slot.row.capacity_set = set;
    slot.row.capacity = CapacityOf(slot.row);
}

// Writes down what is said of a worker's capacity; RefreshCapacity, or what calls it, has to follow.
void Engine::ChangeCapacity(Slot& slot, std::uint32_t said, std::uint32_t set) {
    const std::uint32_t before = slot.row.capacity;
    slot.row.capacity_said = std::clamp(said, 1u, kCapacityMax);
    slot.row.capacity_set = std::min(set, kCapacityMax);
    slot.row.capacity = CapacityOf(slot.row);
    draft_.PutWorker(slot.mark, slot.row);
    if (slot.row.capacity == before) return;
    Emit(EventType::kWorkerChanged, slot,
         Text("capacity " + std::to_string(slot.row.capacity) +
              (set != 0 ? ", as an operator has set it" : ", as it says itself")));
}

// Keeps the crews' count of workers with room in step.
void Engine::RefreshCapacity(Slot& slot) {
    const bool works = slot.works() || (slot.session != 0 && !slot.load.draining &&
                                        TAKT_MUTANT("engine.feed_drained"));
    // Locks may be kept in vain for executions of its lanes.
    kept_doubtful_ = kept_doubtful_ || !works;
    const bool can_take =
        works && slot.busy() < slot.row.capacity + (TAKT_MUTANT("engine.over_capacity") ? 1 : 0);
    if (can_take == slot.can_take) return;
    slot.can_take = can_take;
    for (Crew* crew : slot.crews) crew->Refresh(slot);
}

}  // namespace takt::internal
