// A rate limit as the REST API spells it, for tasks and queues: {"count": 10, "per": "1s"}, or in
// short "10/1s".
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/json_view.h"
#include "model/task.h"

namespace takt::internal {

// A part that is left out stays as it is in `now`; a new limit says both.
// kInvalid names the part at fault, "rate_limit.per".
Result<RateLimit> ReadRate(const JsonView& value, std::string_view field, RateLimit now);
void WriteRate(JsonWriter& json, const RateLimit& rate);

// JSON Schemas of what is taken and of what is given.
std::string RateRequestSchema();
std::string RateSchema();

}  // namespace takt::internal
