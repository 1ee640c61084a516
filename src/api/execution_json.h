// Executions as the REST API spells them.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "model/execution.h"

namespace takt::internal {

enum class ExecutionDetail : std::uint8_t {
    kBrief,  // In lists: without the parameters, which may be large.
    kFull,
};
void WriteExecution(JsonWriter& json, const Execution& execution, ExecutionDetail detail);

}  // namespace takt::internal
