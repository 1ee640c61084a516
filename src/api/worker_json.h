// Workers as the REST API spells them.
#pragma once

#include "base/json.h"
#include "engine/slot.h"

namespace takt::internal {

void WriteWorker(JsonWriter& json, const Slot& slot);

}  // namespace takt::internal
