// Frames that are spelled by hand are as the messages of the protocol spell them.
#include "links/outgoing.h"

#include <gtest/gtest.h>

#include "wire/zstd.h"
#include "worker.pb.h"

namespace takt::internal {
namespace {

using worker::v1::SchedulerFrame;

const Token kToken = {0xab, 0xcd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0xf0};
constexpr std::string_view kTokenText = "abcd0102030405060708090a0b0c0df0";

void FillAttempt(worker::v1::Attempt& attempt, const char* execution) {
    attempt.set_execution_id(execution);
    attempt.set_attempt(300);
    attempt.set_token(std::string(kTokenText));
}

// Of a shard of a workflow's step, with everything that an assignment can have.
Assign FullAssign() {
    NewTaskPtr task(new Task);
    task->id = TaskId(Text("task-1"));
    task->name = Text("a name");
    task->type = Text("mail");
    task->queue = Text("slow");
    task->priority = 7;
    task->payload = Text("{\"to\":\"" + std::string(200, 'x') + "\"}");
    auto options = std::make_unique<TaskOptions>();
    options->metadata = {{Text("empty"), Text()}, {Text("owner"), Text("billing")}};
    options->trace = Text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    options->trace_state = Text("vendor=opaque");
    task->options = std::move(options);
    Assign assign;
    Execution& row = assign.execution;
    row.id = ExecutionId(Text("e-1"));
    row.task = task;
    row.attempt = 300;
    row.epoch = 1ULL << 40;
    row.failures = 2;
    row.token = kToken;
    row.parent = ExecutionId(Text("run-1"));
    row.step = Text("extract");
    row.shard_index = 3;
    row.shard_total = 130;
    row.scheduled_at = Time(Duration(1'794'700'800'000));
    assign.timeout = Duration(90'000);
    assign.locks = {{.name = Text("ledger"), .permits = 1, .token = 1ULL << 33},
                    {.name = Text("gpu"), .permits = 2, .token = 5}};
    return assign;
}

void FillAssign(worker::v1::Assign& out, const Assign& assign) {
    FillAttempt(*out.mutable_attempt(), "e-1");
    out.set_epoch(1ULL << 40);
    out.set_task_id("task-1");
    out.set_task_name("a name");
    out.set_type("mail");
    out.set_queue("slow");
    out.set_priority(7);
    out.set_payload(assign.execution.task->payload.str());
    (*out.mutable_metadata())["owner"] = "billing";
    (*out.mutable_metadata())["empty"] = "";
    out.set_timeout_ms(90'000);
    out.set_scheduled_at_ms(1'794'700'800'000);
    const TraceHeaders headers = AttemptHeaders({}, assign.execution);
    out.set_traceparent(headers.traceparent);
    out.set_tracestate(headers.tracestate);
    out.set_failures(2);
    out.set_parent_id("run-1");
    out.set_step("extract");
    out.mutable_shard()->set_index(3);
    out.mutable_shard()->set_total(130);
    for (const auto& [name, token, permits] :
         {std::tuple("ledger", 1ULL << 33, 1U), std::tuple("gpu", 5ULL, 2U)}) {
        worker::v1::LockToken& lock = *out.add_locks();
        lock.set_name(name);
        lock.set_token(token);
        lock.set_permits(permits);
    }
}

class OutgoingTest : public testing::Test {
  protected:
    Outgoing::Frame& Frame() { return outgoing_.MakeFrame(1, nullptr, peer_); }
    // The frames that go out, as a worker reads them.
    std::vector<SchedulerFrame> Drain() {
        std::vector<SchedulerFrame> frames;
        outgoing_.DrainFrames([&](const Outgoing::Frame& frame) {
            const std::string_view bytes = frame.spelled.view();
            EXPECT_TRUE(
                frames.emplace_back().ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
        });
        return frames;
    }

    OutgoingPeer peer_;
    Outgoing outgoing_{1'000, {}};
};

TEST_F(OutgoingTest, AFrameSaysAllThatItWasGiven) {
    const Assign assign = FullAssign();
    const AttemptRef other{ExecutionId(Text("e-2")), 300, kToken};
    Outgoing::Frame& frame = Frame();
    outgoing_.Add(frame, assign);
    Outgoing::Add(frame, StopAttempt{1, other, Reason::kTimeout});
    Outgoing::Add(frame, Verdict{1, other, true});
    Outgoing::Add(frame, Verdict{1, other, false});
    Outgoing::Add(frame, LockVerdict{1, other, 9, Text("ledger"), 1ULL << 34, Text("")});
    Outgoing::Add(frame, LockVerdict{1, other, 10, Text("gpu"), 0, Text("it was taken away")});
    Outgoing::Add(frame, DrainNotice{1, true});
    Outgoing::Add(frame, CapacityNotice{1, 200});

    SchedulerFrame expected;
    FillAssign(*expected.add_assigns(), assign);
    FillAttempt(*expected.add_cancels()->mutable_attempt(), "e-2");
    expected.mutable_cancels(0)->set_reason("timeout");
    for (const bool accepted : {true, false}) {
        worker::v1::Ack& ack = *expected.add_acks();
        FillAttempt(*ack.mutable_attempt(), "e-2");
        ack.set_accepted(accepted);
    }
    for (const bool had : {true, false}) {
        worker::v1::LockVerdict& verdict = *expected.add_lock_verdicts();
        FillAttempt(*verdict.mutable_attempt(), "e-2");
        verdict.set_ask(had ? 9 : 10);
        verdict.set_name(had ? "ledger" : "gpu");
        if (had) verdict.set_token(1ULL << 34);
        if (!had) verdict.set_why("it was taken away");
    }
    expected.mutable_drain()->set_draining(true);
    expected.mutable_capacity()->set_capacity(200);
    const auto frames = Drain();
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].DebugString(), expected.DebugString());
}

// An operator changes his mind within one commit: the worker must hear how it is now.
TEST_F(OutgoingTest, TheLastWordOnDrainingAndCapacityCounts) {
    Outgoing::Frame& frame = Frame();
    Outgoing::Add(frame, DrainNotice{1, true});
    Outgoing::Add(frame, DrainNotice{1, false});
    Outgoing::Add(frame, CapacityNotice{1, 5});
    Outgoing::Add(frame, CapacityNotice{1, 0});

    const auto frames = Drain();
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_TRUE(frames[0].has_drain());
    EXPECT_FALSE(frames[0].drain().draining());
    EXPECT_TRUE(frames[0].has_capacity());
    EXPECT_EQ(frames[0].capacity().capacity(), 0u);
}

// A frame keeps its memory for the next release, and nothing of what it said. One that has been sent
// already because it grew too large says nothing at the end.
TEST_F(OutgoingTest, WhatWasSaidIsNotSaidAgain) {
    outgoing_.Add(Frame(), FullAssign());
    Outgoing::Add(*outgoing_.FindFrame(1), DrainNotice{1, true});
    EXPECT_EQ(Drain().size(), 1u);

    Outgoing::Frame& frame = Frame();
    outgoing_.Add(frame, FullAssign());
    Outgoing::EmptyFrame(frame);

    EXPECT_TRUE(Drain().empty());
}

// A payload of a program that does not know UTF-8, and a large one for a worker that unpacks.
TEST_F(OutgoingTest, PayloadsAreUtf8OrPacked) {
    Assign broken = FullAssign();
    broken.execution.payload = Text("\"\xff\"");
    Assign large = FullAssign();
    large.execution.payload = Text("\"" + std::string(5'000, 'y') + "\"");
    peer_.accepts_zstd = true;
    Outgoing::Frame& frame = Frame();
    outgoing_.Add(frame, broken);
    outgoing_.Add(frame, large);
    outgoing_.Add(frame, large);

    const auto frames = Drain();
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].assigns(0).payload(), "\"\xEF\xBF\xBD\"");
    for (const int at : {1, 2}) {
        EXPECT_EQ(frames[0].assigns(at).payload(), "");
        EXPECT_EQ(Unzstd(frames[0].assigns(at).payload_zstd(), 10'000),
                  large.execution.payload.str());
    }
}

}  // namespace
}  // namespace takt::internal
