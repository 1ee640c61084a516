#include "remote/remote.h"

#include <atomic>

#include "http/test_support.h"

namespace takt::internal {
namespace {

// A server, or a proxy in front of one, that always answers the same; named twice, so that who
// repeats a call is seen to.
class RemoteTest : public ServerTest {
  protected:
    void Answer(HttpResponse response) {
        handler_->handle = [this, response](HttpRequest, HttpReply reply) {
            ++calls_;
            reply(response);
        };
        Serve();
    }
    Result<RemoteAnswer> Call(HttpMethod method) {
        const std::string url = "http://127.0.0.1:" + std::to_string(server_->port());
        auto remote = Remote::Open({.servers = {url, url}, .token_advice = ": --token gives one"});
        EXPECT_TRUE(remote);
        return remote->Call(method, "/api/v1/tasks", method == HttpMethod::kPost ? "{}" : "");
    }

    std::atomic<int> calls_ = 0;
};

// The scheduler took the task, but the proxy lost patience. Submitting it to the next one would run
// it twice.
TEST_F(RemoteTest, SubmitThatAProxyGaveUpIsNotRepeated) {
    Answer(HttpResponse::Text(502, "Bad Gateway"));
    EXPECT_EQ(Call(HttpMethod::kPost).error().code, ErrorCode::kUnknown);
    EXPECT_EQ(calls_, 1);
}

// The same from a scheduler that is stuck: its port answers for it.
TEST_F(RemoteTest, SubmitThatWasNotAnsweredInTimeIsNotRepeated) {
    Answer(HttpResponse::Text(503, "the request was not answered in time"));
    EXPECT_EQ(Call(HttpMethod::kPost).error().code, ErrorCode::kUnknown);
    EXPECT_EQ(calls_, 1);
}

// The leader died after the task was sent to it. The scheduler says itself that it does not know.
TEST_F(RemoteTest, SubmitOfUnknownEndIsNotRepeated) {
    Answer(HttpResponse::Json(503, R"({"code": "unknown", "detail": "the leader went away"})"));
    const auto answer = Call(HttpMethod::kPost);
    EXPECT_EQ(answer.error().code, ErrorCode::kUnknown);
    EXPECT_EQ(answer.error().detail, "the leader went away");
    EXPECT_EQ(calls_, 1);
}

// A payload that never fits: who is told to back off and try again would do so for ever.
TEST_F(RemoteTest, WhatIsTooLargeIsWrongAndNotTriedAgain) {
    Answer(HttpResponse::Json(
        413, R"({"code": "too_large", "detail": "payload is too large", "field": "payload"})"));
    const auto answer = Call(HttpMethod::kPost);
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(answer.error().field, "payload");
    EXPECT_EQ(calls_, 1);
}

// A change of leaders: nothing was done, and another scheduler may know the new one already.
TEST_F(RemoteTest, SubmitIsTriedElsewhereWhileNobodyLeads) {
    Answer(HttpResponse::Json(503, R"({"code": "no_leader", "detail": "no scheduler leads"})"));
    EXPECT_EQ(Call(HttpMethod::kPost).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(calls_, 2);
}

// Somebody forgot the token: the command line says how it is given, not which header it becomes.
TEST_F(RemoteTest, AMissingTokenIsAskedForByTheNameOfItsFlag) {
    Answer(HttpResponse::Json(401, R"({"code": "unauthorized", "detail": "send a token"})"));
    const auto answer = Call(HttpMethod::kGet);
    ASSERT_FALSE(answer);
    EXPECT_TRUE(answer.error().detail.ends_with("wants an access token: --token gives one"))
        << answer.error().detail;
}

// Reading twice harms nobody, so a broken server does not keep it from the others.
TEST_F(RemoteTest, QuestionIsAskedElsewhereWhateverWentWrong) {
    Answer(HttpResponse::Text(500, "internal error"));
    EXPECT_EQ(Call(HttpMethod::kGet).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(calls_, 2);
}

}  // namespace
}  // namespace takt::internal
