// How full the store is, for alert rules.
#pragma once

#include <fmt/core.h>

#include "alerts/metric.h"
#include "store/store_room.h"

namespace takt::internal {

// No reading of a store that has no bound or has not counted yet: it cannot be nearly full.
inline void ReadStoreRoom(const Store& store, AlertReadings& readings) {
    const std::optional<StoreRoom> room = RoomOf(store);
    if (!room || room->bytes_max == 0) return;
    const double used = room->used > 0 ? room->used : double(room->bytes) / double(room->bytes_max);
    readings.push_back(
        {.metric = kStoreUsedMetric,
         .value = used,
         .note = Text(fmt::format("{} holds {} MB; {:.0f} % of {} is in use", store.Describe(),
                                  room->bytes >> 20, used * 100, room->bound))});
}

}  // namespace takt::internal
