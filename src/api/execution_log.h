// The log of an execution, as the REST API shows it.
#pragma once

#include "api/services.h"
#include "base/json.h"
#include "model/change.h"

namespace takt::internal {

// {"attempt", "at", "lines"}
void WriteChunk(JsonWriter& json, const LogChunk& chunk);

// Answers with server-sent events: `lines` for every chunk after `after`, with its index as id, and
// `end` when the execution is finished and everything is told. What is finished any node tells from
// the store; what still runs, the leader.
void FollowLog(Call call, ExecutionId id, Serial after);

}  // namespace takt::internal
