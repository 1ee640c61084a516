// The results of an earlier step, for an attempt whose payload only refers to them: a worker asks
// over its session, an executor by a call with its token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/execution.h"
#include "store/partition_reader.h"

namespace takt::internal {

class Node;

struct StepResultsQuestion {
    ExecutionId execution;
    Token token{};  // Of the attempt that asks.
    Text step;
    std::uint32_t first = 0;  // The first part that is wanted.
};

struct StepResultsPage {
    // JSON, from `first` on in the order of their shards; null for what did not succeed. As many as
    // may be sent at once.
    std::vector<std::string> parts;
    std::uint32_t total = 0;  // All that there are.
    bool list = false;        // Else the step is one execution, and its part the result.
};

// From any thread; `done` on whatever thread the answer comes by. Only steps of the attempt's own run
// that are over are told, and only while the attempt is the current one. kConflict: it is not.
// kNotFound: it is no part of a run, or that has no such step with results. kInvalid: `first` is too
// far. kUnavailable: this node does not lead, or cannot read. The node outlives the call.
void ReadStepResults(Node& node, const PartitionReader& rows, StepResultsQuestion question,
                     Done<StepResultsPage> done);

}  // namespace takt::internal
