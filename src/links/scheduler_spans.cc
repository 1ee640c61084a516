#include "links/scheduler_spans.h"

#include <algorithm>
#include <utility>

namespace takt::internal {
namespace {

// Traced attempts under way; more are rare, and go untold.
constexpr std::size_t kOpenMax = 100'000;

void AddAttempt(Span& span, const Execution& execution) {
    span.attributes.emplace_back("takt.attempt", std::to_string(execution.attempt));
    span.attributes.emplace_back("takt.worker_id", execution.worker.text().str());
}

}  // namespace

Span SchedulerSpans::SpanFor(const ExecutionTrace& trace, const Execution& execution,
                             std::string_view name) const {
    Span span{.trace = trace.trace, .parent = trace.root, .name = name};
    const Task& task = *execution.task;
    span.attributes = {{"takt.namespace", space_},
                       {"takt.execution_id", execution.id.text().str()},
                       {"takt.task_id", task.id.text().str()},
                       {"takt.task_name", task.name.str()},
                       {"takt.type", task.type.str()},
                       {"takt.queue", task.queue.str()}};
    return span;
}

void SchedulerSpans::Release(const Effects& effects) {
    const Time now = ReadClocks().wall;
    for (const Reply& reply : effects.replies) {
        const bool made = reply.answer && reply.answer->created && reply.answer->execution.task;
        if (made && reply.answer->execution.origin == Origin::kOnce) {
            OnSubmitted(reply.answer->execution, now);
        }
    }
    // An attempt that ended in the same batch that gave the execution to another: first the end.
    for (const Event& event : effects.events) OnEvent(event);
    for (const Assign& assign : effects.assigns) OnAssigned(assign, now);
}

void SchedulerSpans::OnRole(Role) {
    open_.clear();
}

void SchedulerSpans::OnSubmitted(const Execution& execution, Time now) {
    const auto trace = TraceOf(policy_, execution);
    if (!trace || !trace->sampled) return;
    Span span = SpanFor(*trace, execution, "submit");
    span.id = trace->root;
    span.parent = trace->parent;
    span.kind = SpanKind::kServer;
    span.start = execution.created_at;
    span.end = now;
    exporter_.Add(std::move(span));
}

void SchedulerSpans::OnAssigned(const Assign& assign, Time now) {
    const Execution& execution = assign.execution;
    const auto trace = TraceOf(policy_, execution);
    if (!trace || !trace->sampled) return;
    if (execution.attempt == 1 && execution.origin != Origin::kOnce) {
        Span fire = SpanFor(*trace, execution, "fire");
        fire.id = trace->root;
        fire.parent = trace->parent;
        fire.start = std::min(execution.scheduled_at, execution.created_at);
        fire.end = execution.created_at;
        exporter_.Add(std::move(fire));
    }
    Span queue = SpanFor(*trace, execution, "queue");
    queue.id = QueueSpan(*trace, execution.attempt);
    queue.start = std::max(execution.created_at, execution.ready_at);
    queue.end = now;
    AddAttempt(queue, execution);
    exporter_.Add(std::move(queue));
    const auto found = open_.find(execution.id.text());
    if (found != open_.end()) {
        End(found->second, {.at = now, .failed = true, .message = "its worker was lost"});
        open_.erase(found);
    }
    if (open_.size() >= kOpenMax) return;
    open_.emplace(execution.id.text(), Open{.trace = *trace,
                                            .execution = execution,
                                            .assigned_at = now,
                                            .push = is_push_(assign.session)});
}

void SchedulerSpans::OnEvent(const Event& event) {
    if (event.execution.empty()) return;
    const auto found = open_.find(event.execution.text());
    if (found == open_.end() || found->second.execution.attempt != event.attempt) return;
    Open& open = found->second;
    switch (event.type) {
        case EventType::kTaskStarted:
            open.started_at = event.at;
            return;
        case EventType::kTaskCompleted:
            End(open, {.at = event.at});
            break;
        case EventType::kTaskFailed:
        case EventType::kTaskRetrying:
        case EventType::kTaskCancelled:
            End(open, {.at = event.at, .failed = true, .message = event.detail});
            break;
        default:
            return;
    }
    open_.erase(found);
}

void SchedulerSpans::End(const Open& open, const Ending& ending) {
    const Execution& execution = open.execution;
    const bool started = open.started_at != Time{};
    Span dispatch = SpanFor(open.trace, execution, "dispatch");
    dispatch.id = DispatchSpan(open.trace, execution.attempt);
    dispatch.kind = SpanKind::kProducer;
    dispatch.start = open.assigned_at;
    dispatch.end = started ? open.started_at : ending.at;
    // Over before it began, and not because it was so quick.
    dispatch.failed = !started && ending.failed;
    if (dispatch.failed) dispatch.message = ending.message;
    AddAttempt(dispatch, execution);
    exporter_.Add(std::move(dispatch));
    if (!open.push || !started) return;
    Span run = SpanFor(open.trace, execution, "run");
    run.id = RunSpan(open.trace, execution.attempt);
    run.parent = DispatchSpan(open.trace, execution.attempt);
    run.kind = SpanKind::kClient;
    run.start = open.started_at;
    run.end = ending.at;
    run.failed = ending.failed;
    run.message = ending.message;
    AddAttempt(run, execution);
    exporter_.Add(std::move(run));
}

}  // namespace takt::internal
