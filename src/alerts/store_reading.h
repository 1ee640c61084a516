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
    readings.push_back(
        {.metric = kStoreUsedMetric,
         .value = double(room->bytes) / double(room->bytes_max),
         .note = Text(fmt::format("{} holds {} MB of the {} MB of {}", store.Describe(),
                                  room->bytes >> 20, room->bytes_max >> 20, room->bound))});
}

}  // namespace takt::internal
