// Executions as the REST API spells them.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "engine/engine.h"
#include "model/execution.h"

namespace takt::internal {

enum class ExecutionDetail : std::uint8_t {
    kBrief,  // In lists: without the parameters, which may be large.
    kFull,
};
void WriteExecution(JsonWriter& json, const Execution& execution, ExecutionDetail detail);

// What is known of a single execution beyond its row.
struct ExecutionExtras {
    const ProgressView* progress = nullptr;  // Null: it said nothing, or only the leader knows.
    std::string trace_id;                    // Empty: it is not traced.
};
// Everything: the row, its attempts, and what is known beyond.
void WriteExecution(JsonWriter& json, const Execution& execution, const ExecutionExtras& extras);

}  // namespace takt::internal
