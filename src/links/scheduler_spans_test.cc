// Traces from end to end: a caller's span, the scheduler's, the worker's, at a real collector.
#include "links/scheduler_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "links/push_test_support.h"
#include "tests/support/collector.h"
#include "worker/worker_runtime.h"

namespace takt::internal {
namespace {

using namespace testing_support;
using testing::StartsWith;

constexpr const char* kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kCaller = "00f067aa0ba902b7";

std::unique_ptr<SpanExporter> ExportTo(const Collector& collector) {
    auto exporter = SpanExporter::Start({.endpoint = collector.url(),
                                         .service = "takt-scheduler",
                                         .instance = "node-1",
                                         .interval = Duration(20)});
    EXPECT_TRUE(exporter);
    return std::move(*exporter);
}

// An order is slow. Somebody opens its trace and sees the submit, the wait and the run in one
// place.
TEST(Traces, GoFromTheCallerThroughTheSchedulerToTheHandler) {
    Collector collector;
    const auto exporter = ExportTo(collector);
    const TracePolicy policy{.enabled = true};
    SchedulerSpans spans(policy, *exporter, [](SessionId) { return false; }, "billing");
    Stack stack({.link = {.space = "billing", .tracing = policy}});
    stack.watcher.TellAlso(&spans);
    ASSERT_TRUE(stack.watcher.AwaitRole(Role::kLeader));
    std::promise<std::string> seen;
    HandlerRegistry handlers;
    ASSERT_TRUE(handlers.AddFunction("noop", [&](TaskContext& context) {
        seen.set_value(context.task().traceparent);
        return TaskResult::Success();
    }));
    auto worker = WorkerRuntime::Create({.servers = {stack.url()},
                                         .space = "billing",
                                         .id = "w-1",
                                         .trace_endpoint = collector.url()},
                                        handlers);
    ASSERT_TRUE(worker);
    ASSERT_TRUE((*worker)->Start());

    const ExecutionId id = stack.Submit({});  // With the caller's traceparent.
    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskCompleted, id));

    const auto submit = collector.Await("submit");
    const auto queue = collector.Await("queue");
    const auto dispatch = collector.Await("dispatch");
    const auto run = collector.Await("run", "takt-worker");
    ASSERT_TRUE(submit && queue && dispatch && run);
    for (const auto& span : {submit, queue, dispatch, run}) {
        EXPECT_EQ(span->trace, kTrace) << span->name;
        EXPECT_LE(span->start_ns, span->end_ns) << span->name;
        EXPECT_FALSE(span->failed) << span->name;
        EXPECT_EQ(span->attributes.at("takt.execution_id"), id.view()) << span->name;
        EXPECT_EQ(span->attributes.at("takt.namespace"), "billing") << span->name;
    }
    EXPECT_EQ(submit->parent, kCaller);
    EXPECT_EQ(queue->parent, submit->id);
    EXPECT_EQ(dispatch->parent, submit->id);
    EXPECT_EQ(run->parent, dispatch->id);
    EXPECT_EQ(run->attributes.at("takt.worker_id"), "w-1");
    EXPECT_EQ(seen.get_future().get(), "00-" + std::string(kTrace) + "-" + run->id + "-01")
        << "what the handler does belongs to its run";
}

// An executor in another language continues the trace from its request's header.
TEST(Traces, GoToHttpExecutorsInTheirHeader) {
    Collector collector;
    const auto exporter = ExportTo(collector);
    const TracePolicy policy{.enabled = true};
    FakeExecutor executor;
    executor.AnswerWith(200, R"({"status":"failed","error":"no rows"})");
    PushStack stack({.tracing = policy});
    SchedulerSpans spans(
        policy, *exporter, [&](SessionId session) { return stack.link().Has(session); }, "billing");
    stack.watcher.TellAlso(&spans);
    ASSERT_TRUE(stack.Register(executor));

    const ExecutionId id = stack.Submit();
    ASSERT_TRUE(stack.watcher.AwaitEvent(EventType::kTaskFailed, id));

    const Order order = executor.AwaitOrder(1);
    const auto submit = collector.Await("submit");
    const auto dispatch = collector.Await("dispatch");
    const auto run = collector.Await("run");
    ASSERT_TRUE(submit && dispatch && run);
    EXPECT_EQ(submit->parent, "") << "nobody's trace: it begins here";
    EXPECT_EQ(order.traceparent, "00-" + submit->trace + "-" + dispatch->id + "-01");
    EXPECT_EQ(run->parent, dispatch->id);
    EXPECT_TRUE(run->failed);
    stack.Stop();  // Before the spans go.
}

// Traces are off at the scheduler, but the caller and the worker have theirs: we stay out of it.
TEST(Traces, ThatAreOffAreHandedOnAsTheyCame) {
    Execution execution;
    const NewTaskPtr task = new Task;
    auto options = std::make_unique<TaskOptions>();
    options->trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    options->trace_state = "vendor=1";
    task->options = std::move(options);
    execution.task = task;
    const TraceHeaders headers = AttemptHeaders({}, execution);
    EXPECT_EQ(headers.traceparent, task->opt().trace.view());
    EXPECT_EQ(headers.tracestate, "vendor=1");
}

}  // namespace
}  // namespace takt::internal
