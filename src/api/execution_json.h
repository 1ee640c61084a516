// Executions as the REST API spells them: the tables of their fields, and what is made from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/answer_table.h"
#include "base/json.h"
#include "engine/engine.h"
#include "model/execution.h"

namespace takt::internal {

enum class ExecutionDetail : std::uint8_t {
    kBrief,  // In lists: without parameters and result, which may be large.
    kFull,   // After a change: with them.
    kWhole,  // Alone: with its attempts too, and what is known beyond its row.
};

struct ExecutionView {
    const Execution& execution;
    ExecutionDetail detail = ExecutionDetail::kFull;
    const ProgressView* progress = nullptr;  // Null: it said nothing, or only the leader knows.
    std::string_view trace_id = {};          // Empty: it is not traced.
};

// How an execution stands. A one-off task, which shares its record with it, is shown with these.
const AnswerTable<ExecutionView>& ExecutionStateFields();

void WriteExecution(JsonWriter& json, const ExecutionView& view);
std::string ExecutionSchema();
std::string StatusSchema();  // The names of all states.

// By id, as the store finds them: nothing where there is none.
using FoundExecutions = Result<std::vector<std::optional<Execution>>>;

// "there is no execution '…'"
Error NoSuchExecution(const ExecutionId& id);

}  // namespace takt::internal
