// Workers as the REST API spells them.
#pragma once

#include <string>

#include "base/json.h"
#include "engine/views.h"

namespace takt::internal {

void WriteWorker(JsonWriter& json, const WorkerView& view);
std::string WorkerSchema();
std::string WorkerCapacitySchema();  // Of the request, see workers.cc.

// online, offline, draining, maintenance.
std::string WorkerStatusSchema();

}  // namespace takt::internal
