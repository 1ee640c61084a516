// The stored form of the model: protobuf, so that fields can be added and old rows still be read.
//
// Encoding never fails. Decoding returns kInvalid for bytes that are not such a record; a store
// turns that into a row that can be shown (Reason::kUndecodable), never into a crash. What was
// decoded is within bounds: known enumerators, no times or durations whose sums overflow, no NaN,
// ids not empty.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/event.h"
#include "model/execution.h"
#include "model/task.h"
#include "model/worker.h"

namespace takt::internal {

// Never empty, so that a store can write nothing for a task without options; decoding nothing
// gives null.
std::string EncodeOptions(const TaskOptions& options);
Result<std::unique_ptr<const TaskOptions>> DecodeOptions(std::string_view bytes);

std::string EncodeTaskRow(const TaskRow& row);
Result<TaskRow> DecodeTaskRow(std::string_view bytes);

// The whole execution, task included.
std::string EncodeExecution(const Execution& execution);
Result<Execution> DecodeExecution(std::string_view bytes);

// Empty for no outcome, and only for none.
std::string EncodeOutcome(const OutcomePtr& outcome);
Result<OutcomePtr> DecodeOutcome(std::string_view bytes);
// Reason, code and message of an encoded outcome of which only the first bytes were read. Of a
// message of n bytes all are there if kOutcomeHeadBytes + n were.
constexpr std::size_t kOutcomeHeadBytes = 32;
Result<OutcomePtr> DecodeOutcomeHead(std::string_view bytes);

std::string EncodeWorker(const Worker& worker);
Result<Worker> DecodeWorker(std::string_view bytes);

std::string EncodeEvent(const Event& event);
Result<Event> DecodeEvent(std::string_view bytes);

}  // namespace takt::internal
