#include "engine/awaited.h"

#include <algorithm>
#include <utility>

#include "model/execution.h"

namespace takt::internal {
namespace {

bool HasBegun(const Execution& row) {
    return row.attempt > 1 || row.started_at != Time{};
}

}  // namespace

void Awaited::Add(Live& live) {
    const Execution& row = live.row;
    if (row.origin != Origin::kFire || HasBegun(row)) return;
    Recurring& recurring = *live.recurring;
    Unbegun& unbegun = recurring.unbegun;
    unbegun.of = &recurring;
    live.unbegun = true;
    const bool first = unbegun.fires++ == 0;
    const Time since = first ? row.ready_at : std::min(row.ready_at, unbegun_.TimeOf(unbegun));
    unbegun_.Set(unbegun, since, recurring.order);
}

void Awaited::NoteIfBegun(Live& live, Place place) {
    if (place == Place::kLive && !HasBegun(live.row)) return;
    live.unbegun = false;
    Unbegun& unbegun = live.recurring->unbegun;
    if (--unbegun.fires == 0) unbegun_.Remove(unbegun);
}

bool Awaited::NoteUnplanned(Recurring& recurring) {
    if (std::exchange(recurring.told, true)) return false;
    unplanned_.emplace(recurring.order, &recurring);
    return true;
}

void Awaited::NotePlanned(Recurring& recurring) {
    if (std::exchange(recurring.told, false)) unplanned_.erase(recurring.order);
}

}  // namespace takt::internal
