// Workers as the REST API spells them.
#pragma once

#include "base/json.h"
#include "engine/views.h"

namespace takt::internal {

void WriteWorker(JsonWriter& json, const WorkerView& view);

}  // namespace takt::internal
