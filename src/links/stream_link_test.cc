// Traffic of a stream session: assignments, results, cancels, payloads, log lines.
#include "links/stream_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "links/stream_link_fixture.h"
#include "wire/zstd.h"

namespace takt::internal {
namespace {

using testing::HasSubstr;
using namespace testing_support;
using worker::v1::SchedulerFrame;
using worker::v1::WorkerFrame;

// The ordinary life of a task: a worker says hello, is given it, says that it began and how it
// ended.
TEST_F(StreamLinkTest, AnAttemptIsAssignedStartedReportedAndAcknowledged) {
    auto worker = Connect();
    worker->Send(RawWorker::Hello("w-1"));
    const SchedulerFrame first = worker->Next();
    ASSERT_TRUE(first.has_welcome());
    EXPECT_EQ(first.welcome().protocol(), 1u);
    EXPECT_EQ(first.welcome().node_id(), "node-1");
    EXPECT_EQ(first.welcome().heartbeat_ms(), 10'000u);
    EXPECT_GT(first.welcome().epoch(), 0u);

    const ExecutionId id = stack_->Submit({.type = "add", .payload = "[1,2]", .timeout = 7s});
    const SchedulerFrame second = worker->Next();
    ASSERT_EQ(second.assigns_size(), 1);
    const auto& assign = second.assigns(0);
    EXPECT_EQ(assign.attempt().execution_id(), id.view());
    EXPECT_EQ(assign.attempt().attempt(), 1u);
    EXPECT_EQ(assign.attempt().token().size(), 32u);
    EXPECT_EQ(assign.type(), "add");
    EXPECT_EQ(assign.payload(), "[1,2]");
    EXPECT_EQ(assign.timeout_ms(), 7'000u);
    EXPECT_EQ(assign.epoch(), first.welcome().epoch());
    EXPECT_EQ(assign.metadata().at("customer"), "42");
    EXPECT_THAT(assign.traceparent(), HasSubstr("4bf92f3577b34da6"));

    WorkerFrame started;
    *started.add_started()->mutable_attempt() = assign.attempt();
    worker->Send(started);
    ASSERT_TRUE(stack_->watcher.AwaitEvent(EventType::kTaskStarted, id));
    worker->Send(ResultOf(assign.attempt()));
    const SchedulerFrame third = worker->Next();
    ASSERT_EQ(third.acks_size(), 1);
    EXPECT_TRUE(third.acks(0).accepted());
    EXPECT_EQ(third.acks(0).attempt().token(), assign.attempt().token());
    const Execution row = stack_->Read(id);
    EXPECT_EQ(row.status, Status::kSuccess);
    EXPECT_EQ(row.outcome->data, R"({"sum":3})");
}

// A program without protobuf speaks JSON, and is answered in JSON.
TEST_F(StreamLinkTest, AJsonWorkerIsAnsweredInJson) {
    auto worker = Connect();
    worker->SendText(R"({"hello": {"protocol": 1, "worker_id": "py-1", "capacity": 2}})");
    const auto welcome = worker->NextMessage();
    EXPECT_TRUE(welcome.text);
    EXPECT_THAT(welcome.bytes, HasSubstr(R"("heartbeat_ms":10000)"));
    const ExecutionId id = stack_->Submit({.type = "add", .payload = R"({"a":"ü"})"});
    const auto assigned = worker->NextMessage();
    ASSERT_TRUE(assigned.text);
    SchedulerFrame frame;
    ASSERT_TRUE(ReadFrame(FrameForm::kJson, assigned.bytes, frame));
    ASSERT_EQ(frame.assigns_size(), 1);
    EXPECT_EQ(frame.assigns(0).payload(), R"({"a":"ü"})");

    const auto& attempt = frame.assigns(0).attempt();
    worker->SendText(R"({"results": [{"attempt": {"execution_id": ")" + attempt.execution_id() +
                     R"(", "attempt": 1, "token": ")" + attempt.token() +
                     R"("}, "success": false, "final": true, "code": 7, "message": "no"}]})");
    const auto ack = worker->NextMessage();
    EXPECT_THAT(ack.bytes, HasSubstr(R"("accepted":true)"));
    const Execution row = stack_->Read(id);
    EXPECT_EQ(row.status, Status::kFailed);
    EXPECT_EQ(row.outcome->code, 7);
    EXPECT_EQ(row.outcome->reason, Reason::kHandlerFailed);
}

// A result that comes a second time, because its acknowledgement was lost.
TEST_F(StreamLinkTest, AResultThatIsSentAgainIsAcceptedIfItIsTheStoredOne) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    stack_->Submit({});
    const auto attempt = worker->Next().assigns(0).attempt();
    worker->Send(ResultOf(attempt));
    EXPECT_TRUE(worker->Next().acks(0).accepted());
    worker->Send(ResultOf(attempt));
    EXPECT_TRUE(worker->Next().acks(0).accepted());
    WorkerFrame other = ResultOf(attempt);
    other.mutable_results(0)->set_success(false);
    worker->Send(other);
    EXPECT_FALSE(worker->Next().acks(0).accepted());
    other = ResultOf(attempt);
    other.mutable_results(0)->set_data(R"({"sum":4})");
    worker->Send(other);
    EXPECT_FALSE(worker->Next().acks(0).accepted());
}

TEST_F(StreamLinkTest, ACancelReachesTheWorker) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({});
    const auto attempt = worker->Next().assigns(0).attempt();
    ASSERT_TRUE(stack_->Ask(Cancel{.execution = id}));
    const SchedulerFrame frame = worker->Next();
    ASSERT_EQ(frame.cancels_size(), 1);
    EXPECT_EQ(frame.cancels(0).reason(), "cancelled");
    EXPECT_EQ(frame.cancels(0).attempt().token(), attempt.token());
}

// A burst for one worker goes out in few frames, not one for each task.
TEST_F(StreamLinkTest, WhatIsReleasedTogetherIsSentTogether) {
    for (int i = 0; i < 30; ++i) stack_->Submit({});
    auto worker = Attached(RawWorker::Hello("w-1", 100));
    EXPECT_EQ(worker->Next().assigns_size(), 30);
}

TEST_F(StreamLinkTest, LargePayloadsAreCompressedForWorkersThatAcceptIt) {
    const std::string payload = '"' + std::string(20'000, 'x') + '"';
    WorkerFrame hello = RawWorker::Hello("w-1");
    hello.mutable_hello()->set_accepts_zstd(true);
    auto worker = Attached(hello);
    const ExecutionId id = stack_->Submit({.payload = payload});
    const SchedulerFrame frame = worker->Next();
    const auto& assign = frame.assigns(0);
    EXPECT_TRUE(assign.payload().empty());
    EXPECT_LT(assign.payload_zstd().size(), 1'000u);
    EXPECT_EQ(*Unzstd(assign.payload_zstd(), 1 << 20), payload);

    WorkerFrame result = ResultOf(assign.attempt());
    result.mutable_results(0)->clear_data();
    AppendZstd(*result.mutable_results(0)->mutable_data_zstd(), payload);
    worker->Send(result);
    EXPECT_TRUE(worker->Next().acks(0).accepted());
    EXPECT_EQ(stack_->Read(id).outcome->data, payload);
}

// Payloads are what submitters give; bytes that no frame can carry must not stop the frame.
TEST_F(StreamLinkTest, APayloadThatIsNotUtf8IsMadeSo) {
    auto worker = Connect();
    worker->SendText(R"({"hello": {"protocol": 1, "worker_id": "py-1", "capacity": 2}})");
    EXPECT_TRUE(worker->Next().has_welcome());
    stack_->Submit({.payload = "\"caf\xe9\""});
    EXPECT_EQ(worker->Next().assigns(0).payload(), "\"caf\xEF\xBF\xBD\"");
}

TEST_F(StreamLinkTest, PayloadsAreNotCompressedForOthers) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    stack_->Submit({.payload = '"' + std::string(20'000, 'x') + '"'});
    EXPECT_EQ(worker->Next().assigns(0).payload().size(), 20'002u);
}

// A frame of a few bytes that unpacks to gigabytes.
TEST_F(StreamLinkTest, AResultThatUnpacksToTooMuchFailsTheExecutionWithAReason) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({.retries_max = 5});
    WorkerFrame result = ResultOf(worker->Next().assigns(0).attempt());
    result.mutable_results(0)->clear_data();
    AppendZstd(*result.mutable_results(0)->mutable_data_zstd(), std::string(8 << 20, '0'));
    worker->Send(result);
    EXPECT_TRUE(worker->Next().acks(0).accepted());
    const Execution row = stack_->Read(id);
    EXPECT_EQ(row.status, Status::kFailed);
    EXPECT_THAT(row.outcome->message.str(), HasSubstr("more than the limit"));
}

// Data is shown inside other JSON; what is none must not break that.
TEST_F(StreamLinkTest, ResultDataThatIsNoJsonIsKeptAsAString) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({});
    WorkerFrame result = ResultOf(worker->Next().assigns(0).attempt());
    result.mutable_results(0)->set_data("say \"hi\"");
    worker->Send(result);
    worker->Next();
    EXPECT_EQ(stack_->Read(id).outcome->data, R"("say \"hi\"")");
}

// Kept as a string, an object would be misread by every step and client that gets it; and to run it
// again would give the same. What only looks like JSON at first is a text, and so is a number alone.
TEST_F(StreamLinkTest, AResultThatIsJsonButCannotBeKeptFailsForGood) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    const auto answer = [&](const std::string& data) {
        const ExecutionId id = stack_->Submit({.retries_max = 3});
        WorkerFrame result = ResultOf(worker->Next().assigns(0).attempt());
        result.mutable_results(0)->set_data(data);
        worker->Send(result);
        worker->Next();
        return stack_->Read(id);
    };
    const std::string deep = std::string(65, '[') + std::string(65, ']');
    for (const std::string& data :
         {std::string(R"({"n": 12345678901234567890123})"),
          std::string("\n[12345678901234567890123]"), std::string(R"(["a\ud800b"])"), deep,
          R"({"a":)" + deep + "}"}) {
        const Execution row = answer(data);
        EXPECT_EQ(row.status, Status::kFailed) << data;
        EXPECT_THAT(row.outcome->message.str(), HasSubstr("the result cannot be kept: ")) << data;
        EXPECT_TRUE(row.outcome->data.empty()) << data;
    }
    const std::string fits = deep.substr(1, 128);
    EXPECT_EQ(answer(fits).outcome->data, fits);
    for (const std::string& data :
         {std::string("12345678901234567890123"), std::string("[12345678901234567890123] began"),
          deep + " began"}) {
        const Execution row = answer(data);
        EXPECT_EQ(row.status, Status::kSuccess) << data;
        EXPECT_EQ(row.outcome->data, '"' + data + '"');
    }
}

TEST_F(StreamLinkTest, AFailureWhoseDataCannotBeKeptIsRetriedAllTheSame) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({.retries_max = 3});
    WorkerFrame result = ResultOf(worker->Next().assigns(0).attempt());
    result.mutable_results(0)->set_success(false);
    result.mutable_results(0)->set_message("the bank is down");
    result.mutable_results(0)->set_data(R"({"n": 12345678901234567890123})");
    worker->Send(result);
    worker->Next();
    const Execution row = stack_->Read(id);
    EXPECT_NE(row.status, Status::kFailed) << "the next attempt waits, or is sent already";
    EXPECT_EQ(row.failures, 1u);
    EXPECT_EQ(row.outcome->message.str(), "the bank is down");
}

TEST_F(StreamLinkTest, LogLinesAndProgressArrive) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({});
    const auto attempt = worker->Next().assigns(0).attempt();
    WorkerFrame frame;
    *frame.add_progress()->mutable_attempt() = attempt;
    frame.mutable_progress(0)->set_fraction(0.25);
    frame.mutable_progress(0)->set_message("a quarter");
    *frame.add_logs()->mutable_attempt() = attempt;
    frame.mutable_logs(0)->add_lines("one");
    frame.mutable_logs(0)->add_lines(std::string(20 << 10, 'y'));
    worker->Send(frame);
    ASSERT_TRUE(stack_->watcher.AwaitLog("one\n"));
    EXPECT_EQ(stack_->watcher.log().size(), 4 + (16 << 10) + 1u);
    EXPECT_EQ(stack_->Look([&](const Engine& engine) { return engine.FindProgress(id)->fraction; }),
              0.25);
}

}  // namespace
}  // namespace takt::internal
