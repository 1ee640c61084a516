// The stream link with a real node, a real port and workers that speak the protocol by hand.
#include "links/stream_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "tests/support/stack.h"
#include "wire/zstd.h"

namespace takt::internal {
namespace {

using testing::HasSubstr;
using namespace testing_support;
using worker::v1::SchedulerFrame;
using worker::v1::WorkerFrame;

class StreamLinkTest : public testing::Test {
  protected:
    void SetUp() override { Begin({}); }
    void Begin(StackOptions options) {
        stack_.reset();
        stack_ = std::make_unique<Stack>(std::move(options));
        ASSERT_TRUE(stack_->watcher.AwaitRole(Role::kLeader));
    }
    std::unique_ptr<RawWorker> Connect() { return std::make_unique<RawWorker>(stack_->url()); }
    std::unique_ptr<RawWorker> Attached(const WorkerFrame& hello) {
        auto worker = Connect();
        EXPECT_TRUE(worker->Send(hello));
        EXPECT_TRUE(worker->Next().has_welcome());
        return worker;
    }
    static WorkerFrame ResultOf(const worker::v1::Attempt& attempt) {
        WorkerFrame frame;
        auto& result = *frame.add_results();
        *result.mutable_attempt() = attempt;
        result.set_success(true);
        result.set_data(R"({"sum":3})");
        return frame;
    }

    std::unique_ptr<Stack> stack_;
};

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

// The authors of workers make mistakes; each gets a sentence that tells which.
struct BadHello {
    const char* name;
    const char* text;
    const char* code;
    const char* says;
};
class BadHelloTest : public StreamLinkTest, public testing::WithParamInterface<BadHello> {};
TEST_P(BadHelloTest, IsRefusedWithAReasonAndTheSessionClosed) {
    auto worker = Connect();
    worker->SendText(GetParam().text);
    const SchedulerFrame frame = worker->Next();
    ASSERT_TRUE(frame.has_refused());
    EXPECT_EQ(frame.refused().code(), GetParam().code);
    EXPECT_THAT(frame.refused().message(), HasSubstr(GetParam().says));
    EXPECT_EQ(worker->AwaitClose()->code, WebSocketCode::kPolicy);
    EXPECT_EQ(stack_->link().stats().refused, 1u);
}
INSTANTIATE_TEST_SUITE_P(
    All, BadHelloTest,
    testing::Values(
        BadHello{"Empty", "", "malformed", ""}, BadHello{"NoJson", "hello?", "malformed", "line 1"},
        BadHello{"Cut", R"({"hello": {)", "malformed", "line 1"},
        BadHello{"Array", "[]", "malformed", ""},
        BadHello{"DeepJson", "[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]", "malformed",
                 ""},
        BadHello{"UnknownField", R"({"hello": {"protocol": 1, "capasity": 3}})", "malformed",
                 "capasity"},
        BadHello{
            "QuotesUmlauts",
            R"({"hello": {"protocol": 1, "ööööööööööööööööööööööööööööööööööööööööööööö": 3}})",
            "malformed", ""},
        BadHello{"NoHello", R"({"heartbeat": {}})", "invalid_hello", "first frame"},
        BadHello{"Protocol", R"({"hello": {"protocol": 2, "worker_id": "w", "capacity": 1}})",
                 "protocol", "protocol 1"},
        BadHello{"NoId", R"({"hello": {"protocol": 1, "capacity": 1}})", "invalid_hello",
                 "worker_id"},
        BadHello{"BadId", R"({"hello": {"protocol": 1, "worker_id": "a/b", "capacity": 1}})",
                 "invalid_hello", "worker_id"},
        BadHello{"Capacity0", R"({"hello": {"protocol": 1, "worker_id": "w"}})", "invalid_hello",
                 "capacity must be 1 to 100000, but is 0"},
        BadHello{"CapacityMinus1",
                 R"({"hello": {"protocol": 1, "worker_id": "w", "capacity": -1}})", "malformed",
                 "-1"},
        BadHello{"CapacityHuge",
                 R"({"hello": {"protocol": 1, "worker_id": "w", "capacity": 2147483648}})",
                 "invalid_hello", "2147483648"},
        BadHello{"Weight",
                 R"({"hello": {"protocol": 1, "worker_id": "w", "capacity": 1, "weight": 1001}})",
                 "invalid_hello", "weight"},
        BadHello{"EmptyType",
                 R"({"hello": {"protocol": 1, "worker_id": "w", "capacity": 1, "types": [""]}})",
                 "invalid_hello", "types"},
        BadHello{"Epoch",
                 R"({"hello": {"protocol": 1, "worker_id": "w", "capacity": 1,
                     "epoch_seen": "18446744073709551615"}})",
                 "invalid_hello", "epoch_seen"},
        BadHello{"EpochThatRedisCannotCount",
                 R"({"hello": {"protocol": 1, "worker_id": "w", "capacity": 1,
                     "epoch_seen": "4503599627370497"}})",
                 "invalid_hello", "epoch_seen"},
        BadHello{"EpochFarAboveAnyTerm",
                 R"({"hello": {"protocol": 1, "worker_id": "w", "capacity": 1,
                     "epoch_seen": "2000000"}})",
                 "unknown_epoch", "restart the worker"},
        BadHello{"Holding",
                 R"({"hello": {"protocol": 1, "worker_id": "w", "capacity": 1,
                     "holding": [{"execution_id": "e", "attempt": 1, "token": "zz"}]}})",
                 "malformed", "holding[0].token"}),
    [](const auto& info) { return info.param.name; });

// Bytes that are no protobuf, from a scanner or a broken build.
TEST_F(StreamLinkTest, BinaryGarbageIsRefused) {
    for (const std::string& bytes :
         {std::string("\xff\xff\xff\xff\xff\xff", 6), std::string(1, '\0'),
          std::string("\x0a\x7f\x08", 3), std::string("\x0a\x04\x12\x02\xc3\x28", 6)}) {
        auto worker = Connect();
        worker->SendBinary(bytes);
        EXPECT_EQ(worker->Next().refused().code(), "malformed");
        worker->AwaitClose();
    }
}

TEST_F(StreamLinkTest, TooManyTypesAreRefused) {
    WorkerFrame hello = RawWorker::Hello("w-1");
    for (int i = 0; i < 1001; ++i) hello.mutable_hello()->add_types("t" + std::to_string(i));
    auto worker = Connect();
    worker->Send(hello);
    EXPECT_THAT(worker->Next().refused().message(), HasSubstr("types must have at most 1000"));
}

// A worker that sends its whole disk: told so when it is a little too much, cut when it is far.
TEST_F(StreamLinkTest, AFrameThatIsTooLargeIsRefused) {
    Begin({.link = {.frame_bytes_max = 64 << 10}});
    auto worker = Attached(RawWorker::Hello("w-1"));
    worker->SendBinary(std::string(100 << 10, 'x'));
    EXPECT_EQ(worker->Next().refused().code(), "too_large");
    auto other = Connect();
    other->SendBinary(std::string(1 << 20, 'x'));
    EXPECT_EQ(other->AwaitClose()->code, WebSocketCode::kTooLarge);
}

// A wrong frame later on ends the session in the same way, and nothing of it counts.
TEST_F(StreamLinkTest, AMalformedResultEndsTheSessionAndTheWorkIsGivenOut) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({});
    SchedulerFrame frame = worker->Next();
    WorkerFrame results = ResultOf(frame.assigns(0).attempt());
    results.mutable_results(0)->mutable_attempt()->set_token("short");
    worker->Send(results);
    EXPECT_THAT(worker->Next().refused().message(), HasSubstr("results[0].attempt.token"));
    worker->AwaitClose();
    // The same process comes back without it: it never got it, as far as anybody can tell.
    auto again = Attached(RawWorker::Hello("w-1"));
    frame = again->Next();
    ASSERT_EQ(frame.assigns_size(), 1);
    EXPECT_EQ(frame.assigns(0).attempt().attempt(), 2u);
    EXPECT_EQ(stack_->Read(id).losses, 0u);
}

// Somebody connects and says nothing: a port scanner, or a worker that hangs at its start.
TEST_F(StreamLinkTest, AConnectionWithoutHelloIsClosed) {
    Begin({.link = {.hello_deadline = Duration(30)}});
    auto worker = Connect();
    EXPECT_EQ(worker->Next().refused().code(), "late_hello");
    EXPECT_EQ(worker->AwaitClose()->code, WebSocketCode::kPolicy);
}

TEST_F(StreamLinkTest, AHeartbeatIsAnswered) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    WorkerFrame frame;
    frame.mutable_heartbeat()->set_sent_at_ms(1234567);
    frame.mutable_heartbeat()->set_cpu(0.5F);
    frame.mutable_heartbeat()->set_memory(std::numeric_limits<float>::quiet_NaN());
    worker->Send(frame);
    EXPECT_EQ(worker->Next().beat().sent_at_ms(), 1234567u);
    const WorkerLoad load = stack_->Look(
        [](const Engine& engine) { return engine.FindWorker(WorkerId(Text("w-1")))->load; });
    EXPECT_EQ(load.cpu, 0.5F);
    EXPECT_EQ(load.memory, 0.0F);
}

// The worker's machine restarted, and it is back before anybody noticed that it was gone.
TEST_F(StreamLinkTest, TheNewestSessionOfAnIdWins) {
    auto old = Attached(RawWorker::Hello("w-1"));
    WorkerFrame hello = RawWorker::Hello("w-1");
    hello.mutable_hello()->set_instance("second");
    auto fresh = Attached(hello);
    EXPECT_EQ(old->Next().refused().code(), "replaced");
    old->AwaitClose();
    stack_->Submit({});
    EXPECT_EQ(fresh->Next().assigns_size(), 1);
}

// The same process reconnects: nothing is wrong with its older session, it is only over.
TEST_F(StreamLinkTest, ASessionThatItsOwnProcessReplacedIsOnlyClosed) {
    auto old = Attached(RawWorker::Hello("w-1"));
    auto fresh = Attached(RawWorker::Hello("w-1"));
    EXPECT_EQ(old->Next().refused().code(), "closed");
    EXPECT_EQ(old->AwaitClose()->code, WebSocketCode::kNormal);
}

// The connection breaks while work runs; the worker comes back, still has it, and delivers.
TEST_F(StreamLinkTest, WorkThatTheWorkerStillHoldsIsNotGivenToOthers) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({});
    const auto attempt = worker->Next().assigns(0).attempt();
    worker->Close();
    worker->AwaitClose();
    WorkerFrame hello = RawWorker::Hello("w-1");
    *hello.mutable_hello()->add_holding() = attempt;
    auto again = Attached(hello);
    again->Send(ResultOf(attempt));
    const SchedulerFrame frame = again->Next();
    ASSERT_EQ(frame.acks_size(), 1);
    EXPECT_TRUE(frame.acks(0).accepted());
    EXPECT_EQ(frame.assigns_size(), 0);
    EXPECT_EQ(stack_->Read(id).attempt, 1u);
}

// A result that comes a second time, because its acknowledgement was lost.
TEST_F(StreamLinkTest, ASecondReportOfTheSameAttemptIsRefusedAsStale) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    stack_->Submit({});
    const auto attempt = worker->Next().assigns(0).attempt();
    worker->Send(ResultOf(attempt));
    EXPECT_TRUE(worker->Next().acks(0).accepted());
    worker->Send(ResultOf(attempt));
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

TEST_F(StreamLinkTest, AWorkerThatSaysByeIsForgottenAndItsWorkGivenToOthers) {
    auto leaving = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({});
    leaving->Next();
    auto staying = Attached(RawWorker::Hello("w-2"));
    WorkerFrame bye;
    bye.mutable_bye()->set_reason("done");
    leaving->Send(bye);
    EXPECT_EQ(staying->Next().assigns(0).attempt().execution_id(), id.view());
    EXPECT_EQ(leaving->AwaitClose()->code, WebSocketCode::kNormal);
    EXPECT_EQ(stack_->Read(id).losses, 0u);
}

// A worker that shuts down finishes what it has, and must not be given more meanwhile.
TEST_F(StreamLinkTest, ADrainingWorkerIsGivenNothingNew) {
    auto draining = Attached(RawWorker::Hello("w-1", 10));
    WorkerFrame frame;
    frame.mutable_heartbeat()->set_draining(true);
    draining->Send(frame);
    EXPECT_TRUE(draining->Next().has_beat());
    auto other = Attached(RawWorker::Hello("w-2", 10));
    for (int i = 0; i < 4; ++i) {
        stack_->Submit({});
        EXPECT_EQ(other->Next().assigns_size(), 1);
    }
    EXPECT_EQ(stack_->InHand("w-1"), 0u);
}

// The node leads no more: workers are sent to whoever does.
TEST_F(StreamLinkTest, SessionsAreMovedWhenTheNodeStopsLeading) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    std::promise<void> stopped;
    stack_->node().Stop([&] { stopped.set_value(); });
    const SchedulerFrame frame = worker->Next();
    EXPECT_TRUE(frame.has_moved());
    EXPECT_EQ(worker->AwaitClose()->code, WebSocketCode::kGoingAway);
    stopped.get_future().wait();
    auto late = Connect();
    late->Send(RawWorker::Hello("w-2"));
    EXPECT_TRUE(late->Next().has_moved());
}

TEST_F(StreamLinkTest, AFollowerSendsWorkersToTheLeader) {
    const auto database = std::make_shared<MemoryDatabase>();
    Begin({.database = database, .node = "leader"});
    Stack follower({.database = database, .node = "follower"});
    // It knows once it has asked the store; until then it says that it does not.
    std::string address;
    const Steady deadline = SteadyClock::now() + std::chrono::seconds(20);
    while (address.empty() && SteadyClock::now() < deadline) {
        RawWorker worker(follower.url());
        worker.Send(RawWorker::Hello("w-1"));
        const SchedulerFrame frame = worker.Next();
        ASSERT_TRUE(frame.has_moved());
        address = frame.moved().address();
    }
    EXPECT_EQ(address, stack_->url());
}

// A worker has seen a later term than this node's: this node is the one that is late.
TEST_F(StreamLinkTest, AWorkerThatHasSeenALaterTermIsNotTakenIn) {
    WorkerFrame hello = RawWorker::Hello("w-1");
    hello.mutable_hello()->set_epoch_seen(1'000);
    auto worker = Connect();
    worker->Send(hello);
    const SchedulerFrame frame = worker->Next();
    EXPECT_TRUE(frame.has_moved());
    EXPECT_EQ(frame.moved().address(), "");
}

// The worker's machine lost power: no close, no reset, only silence.
TEST_F(StreamLinkTest, AWorkerThatReadsNothingIsCutOff) {
    Begin({.link = {.queue_bytes_max = 256 << 10}});
    WorkerFrame hello = RawWorker::Hello("w-1", 100'000);
    auto worker = Attached(hello);
    worker->Abort();  // Nobody reads the socket any more, and nobody closes it.
    const std::string payload = '"' + std::string(200'000, 'x') + '"';
    for (int i = 0; i < 100 && stack_->link().stats().too_slow == 0; ++i) {
        stack_->Submit({.payload = payload});
    }
    EXPECT_EQ(stack_->link().stats().too_slow, 1u);
    auto again = Connect();
    again->Send(hello);
    EXPECT_TRUE(again->Next().has_welcome());
    EXPECT_GT(again->Next().assigns_size(), 0);
}

TEST_F(StreamLinkTest, AHalfOpenConnectionIsNoticed) {
    Begin({.link = {.ping_interval = Duration(50)}});
    auto worker = Attached(RawWorker::Hello("w-1"));
    const LogCapture log;
    worker->Abort();
    // Nothing happens to the engine that a test could wait for; only time passes.
    for (int i = 0; i < 4'000 && stack_->link().stats().sessions > 0; ++i) {
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_EQ(stack_->link().stats().sessions, 0u);
    EXPECT_THAT(log.lines(), testing::Contains(HasSubstr("does not answer pings")));
}

// A worker written in an afternoon sends heartbeats only when it has nothing else to say.
TEST_F(StreamLinkTest, AnyFrameIsASignOfLife) {
    Begin({.link = {.heartbeat = Duration(20)}, .engine = {.worker_lease = Duration(400)}});
    auto worker = Attached(RawWorker::Hello("w-1", 2));
    const ExecutionId id = stack_->Submit({});
    const auto attempt = worker->Next().assigns(0).attempt();
    WorkerFrame progress;
    *progress.add_progress()->mutable_attempt() = attempt;
    for (int i = 0; i < 8; ++i) {
        worker->Send(progress);
        // Paces the test: together longer than the lease, each well within it.
        stack_->Submit({.id = "pace-" + std::to_string(i), .delay = 100ms});
        const SchedulerFrame frame = worker->Next();
        ASSERT_EQ(frame.assigns_size(), 1);
        worker->Send(ResultOf(frame.assigns(0).attempt()));
        ASSERT_EQ(worker->Next().acks_size(), 1);
    }
    EXPECT_EQ(stack_->watcher.Count(EventType::kWorkerOffline), 0u);
    worker->Send(ResultOf(attempt));
    EXPECT_TRUE(worker->Next().acks(0).accepted());
}

TEST_F(StreamLinkTest, ASilentWorkerLosesItsSessionWithItsLease) {
    Begin({.engine = {.worker_lease = Duration(100)}});
    auto worker = Attached(RawWorker::Hello("w-1"));
    const SchedulerFrame frame = worker->Next();
    EXPECT_EQ(frame.refused().code(), "closed");
    EXPECT_THAT(frame.refused().message(), HasSubstr("lease"));
}

}  // namespace
}  // namespace takt::internal
