// Tasks, executions, workers and numbers between their structs and the REST API's JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "sdk/json_fields.h"
#include "takt/error.h"
#include "takt/fleet.h"
#include "takt/metrics.h"
#include "takt/task.h"

namespace takt {

// kInvalid if the payload is not JSON: what the scheduler would say of it would be about the whole.
Result<std::string> JsonOf(const Task& task);
std::string JsonOf(const WorkerRegistration& worker);

// Beside the field retry_policy, which has all of it that is set.
void WriteRetry(internal::JsonWriter& json, const RetryPolicy& retry);
RetryPolicy ReadRetry(const JsonFields& fields);

TaskRecord ReadTask(const JsonFields& fields);
Execution ReadExecution(const JsonFields& fields);
WorkerRecord ReadWorker(const JsonFields& fields);
Metrics ReadMetrics(const JsonFields& fields);
SchedulerStatus ReadStatus(const JsonFields& fields);

}  // namespace takt
