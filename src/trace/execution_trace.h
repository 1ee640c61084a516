// Where an execution stands in a trace.
//
// Nothing of it is stored but what the submitter sent: ids are derived from the execution's own, so
// that any leader, before and after a failover, speaks of the same spans.
//
//   (the caller's span)
//     └─ submit, or fire for a run of a recurring task
//          ├─ queue      waiting, once for each attempt
//          └─ dispatch   from the assignment to the start; one for each attempt
//               └─ run   by the worker; by the scheduler for HTTP executors
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/execution.h"
#include "trace/trace_context.h"

namespace takt::internal {

struct TracePolicy {
    bool enabled = false;
    // Of the executions that come without a traceparent. Those that have one do as it says.
    double sample_ratio = 1;
};

struct ExecutionTrace {
    TraceId trace{};
    SpanId parent{};  // The caller's; all zeros if there is none.
    SpanId root{};    // Of submit or fire.
    bool sampled = false;
};

// Nothing if traces are off and the execution came without one.
std::optional<ExecutionTrace> TraceOf(const TracePolicy& policy, const Execution& execution);

SpanId QueueSpan(const ExecutionTrace& trace, std::uint32_t attempt);
SpanId DispatchSpan(const ExecutionTrace& trace, std::uint32_t attempt);
SpanId RunSpan(const ExecutionTrace& trace, std::uint32_t attempt);

// The headers that go out with the current attempt; empty: none.
struct TraceHeaders {
    std::string traceparent;
    std::string tracestate;
};
TraceHeaders AttemptHeaders(const TracePolicy& policy, const Execution& execution);

}  // namespace takt::internal
