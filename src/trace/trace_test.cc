#include <gtest/gtest.h>

#include <thread>

#include "trace/execution_trace.h"
#include "trace/span_exporter.h"

namespace takt::internal {
namespace {

constexpr std::string_view kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

Execution Once(Serial serial, std::string_view trace = {}) {
    Execution execution;
    execution.serial = serial;
    execution.id = ExecutionId(Text("e-1"));
    execution.attempt = 1;
    const NewTaskPtr task = new Task;
    if (!trace.empty()) {
        auto options = std::make_unique<TaskOptions>();
        options->trace = Text(trace);
        task->options = std::move(options);
    }
    execution.task = task;
    return execution;
}

TEST(TraceContext, IsReadAsItIsWritten) {
    const auto parent = ParseTraceParent(kParent);
    ASSERT_TRUE(parent);
    EXPECT_TRUE(parent->sampled);
    EXPECT_EQ(TraceIdText(parent->trace), "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(SpanIdText(parent->span), "00f067aa0ba902b7");
    EXPECT_EQ(FormatTraceParent(*parent), kParent);
    // A later version may say more than this one knows.
    EXPECT_EQ(ParseTraceParent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what"),
              parent);
}

TEST(TraceContext, OfStrangersIsRefusedWhenItIsNone) {
    for (const char* bad : {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
                            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01"}) {
        EXPECT_FALSE(ParseTraceParent(bad)) << bad;
    }
    EXPECT_TRUE(IsTraceState("vendor=opaque,other=1"));
    EXPECT_FALSE(IsTraceState(""));
    EXPECT_FALSE(IsTraceState("a=1\r\nX: y"));
    EXPECT_FALSE(IsTraceState(std::string(513, 'a')));
}

// The leader dies between the submit and the run: the next one speaks of the same spans.
TEST(ExecutionTrace, IsTheSameWhoeverLeads) {
    const TracePolicy policy{.enabled = true};
    const auto a = TraceOf(policy, Once(7));
    const auto b = TraceOf(policy, Once(7));
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->trace, b->trace);
    EXPECT_EQ(a->root, b->root);
    EXPECT_NE(a->trace, TraceOf(policy, Once(8))->trace);
    EXPECT_NE(DispatchSpan(*a, 1), DispatchSpan(*a, 2));
    EXPECT_NE(DispatchSpan(*a, 1), QueueSpan(*a, 1));
}

TEST(ExecutionTrace, FollowsTheCallersDecision) {
    const TracePolicy none{.enabled = true, .sample_ratio = 0};
    EXPECT_TRUE(TraceOf(none, Once(1, kParent))->sampled);
    const std::string unsampled(kParent.substr(0, kParent.size() - 1));
    EXPECT_FALSE(TraceOf({.enabled = true}, Once(1, unsampled + "0"))->sampled);
    EXPECT_FALSE(TraceOf({}, Once(1)));
    // Two tasks of one caller are two spans of one trace.
    const auto first = TraceOf(none, Once(1, kParent));
    const auto second = TraceOf(none, Once(2, kParent));
    EXPECT_EQ(first->trace, second->trace);
    EXPECT_NE(first->root, second->root);
    // Each run of a recurring task is a trace of its own.
    Execution fire = Once(3, kParent);
    fire.origin = Origin::kFire;
    EXPECT_NE(TraceOf({.enabled = true}, fire)->trace, first->trace);
}

TEST(ExecutionTrace, IsSampledAsOftenAsAsked) {
    const TracePolicy policy{.enabled = true, .sample_ratio = 0.25};
    int sampled = 0;
    for (Serial serial = 1; serial <= 4'000; ++serial) {
        sampled += TraceOf(policy, Once(serial << 14))->sampled;
    }
    EXPECT_GT(sampled, 850);
    EXPECT_LT(sampled, 1'150);
}

// The collector is away, for good. Nobody waits for it, and what is lost is counted.
TEST(SpanExporter, DropsWhatItCannotSendAndCountsIt) {
    auto exporter = SpanExporter::Start({.endpoint = "http://127.0.0.1:1",
                                         .service = "s",
                                         .queue_max = 10,
                                         .batch_max = 4,
                                         .interval = Duration(1)});
    ASSERT_TRUE(exporter);
    for (int i = 0; i < 1'000; ++i) (*exporter)->Add({.name = "n"});
    while ((*exporter)->dropped() < 990) std::this_thread::yield();
    EXPECT_EQ((*exporter)->exported(), 0u);
    EXPECT_FALSE(SpanExporter::Start({.endpoint = "not a url"}));
}

}  // namespace
}  // namespace takt::internal
