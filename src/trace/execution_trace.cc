#include "trace/execution_trace.h"

#include <cmath>

namespace takt::internal {
namespace {

std::uint64_t Mix(std::uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9;
    x ^= x >> 27;
    x *= 0x94d049bb133111eb;
    return x ^ x >> 31;
}

// Not a secret, only well spread: FNV-1a, then a finalizer.
std::uint64_t Hash(std::uint64_t seed, std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325 ^ seed;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return Mix(hash);
}

void Put(std::uint64_t value, std::uint8_t* to) {
    if (value == 0) value = 1;
    for (int i = 7; i >= 0; --i, value >>= 8) to[i] = static_cast<std::uint8_t>(value);
}

std::uint64_t Get(const std::uint8_t* from) {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | from[i];
    return value;
}

// By the trace id itself, so that everybody who looks decides alike.
bool IsSampled(const TraceId& trace, double ratio) {
    if (ratio >= 1) return true;
    return static_cast<double>(Get(trace.data() + 8)) < std::ldexp(ratio, 64);
}

// By the root's id, so that two executions of one trace never share one.
SpanId SpanOf(const ExecutionTrace& trace, std::string_view what, std::uint32_t attempt) {
    SpanId span;
    Put(Hash(Get(trace.root.data()) ^ Mix(attempt), what), span.data());
    return span;
}

}  // namespace

SpanId QueueSpan(const ExecutionTrace& trace, std::uint32_t attempt) {
    return SpanOf(trace, "queue", attempt);
}

SpanId DispatchSpan(const ExecutionTrace& trace, std::uint32_t attempt) {
    return SpanOf(trace, "dispatch", attempt);
}

SpanId RunSpan(const ExecutionTrace& trace, std::uint32_t attempt) {
    return SpanOf(trace, "run", attempt);
}

std::optional<ExecutionTrace> TraceOf(const TracePolicy& policy, const Execution& execution) {
    ExecutionTrace trace;
    // Of a recurring task each run is a trace of its own: the one that made the task is long over.
    const auto caller = execution.origin == Origin::kOnce
                            ? ParseTraceParent(execution.task->opt().trace)
                            : std::nullopt;
    if (caller) {
        trace.trace = caller->trace;
        trace.parent = caller->span;
        trace.sampled = caller->sampled;
    } else if (policy.enabled) {
        Put(Hash(execution.serial, execution.id.view()), trace.trace.data());
        Put(Hash(Mix(execution.serial), execution.id.view()), trace.trace.data() + 8);
        trace.sampled = IsSampled(trace.trace, policy.sample_ratio);
    } else {
        return std::nullopt;
    }
    Put(Hash(Get(trace.trace.data()) ^ Mix(execution.serial), execution.id.view()),
        trace.root.data());
    return trace;
}

TraceHeaders AttemptHeaders(const TracePolicy& policy, const Execution& execution) {
    const auto trace = TraceOf(policy, execution);
    if (!trace) return {};
    TraceHeaders headers;
    if (policy.enabled) {
        headers.traceparent = FormatTraceParent(
            {trace->trace, DispatchSpan(*trace, execution.attempt), trace->sampled});
    } else {
        headers.traceparent = execution.task->opt().trace.str();  // We are not part of it.
    }
    if (trace->parent != SpanId{}) headers.tracestate = execution.task->opt().trace_state.str();
    return headers;
}

}  // namespace takt::internal
