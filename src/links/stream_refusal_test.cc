// Things that a scheduler does not take from a worker: wrong hellos, bytes that are no frame,
// frames that are too large.
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

// A thousand long names are stored with the worker, and shown in every list.
TEST_F(StreamLinkTest, TooLongListsAreRefused) {
    WorkerFrame hello = RawWorker::Hello("w-1");
    for (int i = 0; i < 900; ++i) {
        hello.mutable_hello()->add_types(std::string(100, 't') + std::to_string(i));
    }
    auto worker = Connect();
    worker->Send(hello);
    const SchedulerFrame answer = worker->Next();
    EXPECT_EQ(answer.refused().code(), "invalid_hello");
    EXPECT_THAT(answer.refused().message(), HasSubstr("together must be at most 65536 bytes"));
}

// A few bytes unpack to megabytes. Of attempts that are not the worker's, nothing is unpacked.
TEST_F(StreamLinkTest, ResultsOfAttemptsThatTheWorkerDoesNotHaveAreNotUnpacked) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    worker::v1::Attempt foreign;
    foreign.set_execution_id("made-up");
    foreign.set_attempt(1);
    foreign.set_token(std::string(32, 'f'));
    WorkerFrame results = ResultOf(foreign);
    results.mutable_results(0)->clear_data();
    results.mutable_results(0)->set_data_zstd("what is no zstd frame is never looked at");
    worker->Send(results);

    const SchedulerFrame answer = worker->Next();

    ASSERT_EQ(answer.acks_size(), 1);
    EXPECT_FALSE(answer.acks(0).accepted());
}

// The same with attempts of its own: so much in one frame, and no more.
TEST_F(StreamLinkTest, WhatTheResultsOfAFrameUnpackToIsBounded) {
    Begin({.link = {.limits = {.unpacked_bytes_max = 1 << 20}}});
    WorkerFrame hello = RawWorker::Hello("w-1");
    hello.mutable_hello()->set_capacity(2);
    auto worker = Attached(hello);
    const std::string text = '"' + std::string(600 << 10, 'x') + '"';
    WorkerFrame both;
    for (int i = 0; i < 2; ++i) stack_->Submit({});
    while (both.results_size() < 2) {
        const SchedulerFrame frame = worker->Next();
        ASSERT_GT(frame.assigns_size(), 0);
        for (const auto& assign : frame.assigns()) {
            auto& result = *both.add_results();
            *result.mutable_attempt() = assign.attempt();
            result.set_success(true);
            AppendZstd(*result.mutable_data_zstd(), text);
        }
    }
    worker->Send(both);

    const SchedulerFrame answer = worker->Next();

    EXPECT_EQ(answer.refused().code(), "too_large");
    EXPECT_THAT(answer.refused().message(), HasSubstr("send fewer at once"));
}

// A result that is no JSON is kept as a JSON string, which is longer: that is what must fit.
TEST_F(StreamLinkTest, AResultThatGrowsOverTheLimitWhenQuotedIsAFailure) {
    auto worker = Attached(RawWorker::Hello("w-1"));
    const ExecutionId id = stack_->Submit({});
    WorkerFrame results = ResultOf(worker->Next().assigns(0).attempt());
    results.mutable_results(0)->set_data(std::string(300 << 10, '\0'));
    worker->Send(results);

    ASSERT_TRUE(stack_->watcher.AwaitEvent(EventType::kTaskFailed, id));
    EXPECT_THAT(stack_->Read(id).outcome->message.str(), HasSubstr("more than the limit"));
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

}  // namespace
}  // namespace takt::internal
