#include "alerts/delivery.h"

#include <gtest/gtest.h>

#include "http/client.h"
#include "http/test_support.h"
#include "node/driven.h"

namespace takt::internal {
namespace {

Notice NoticeOf(std::string id) {
    Notice notice;
    notice.alert.id = std::move(id);
    return notice;
}

// Two channels whose answers the test gives.
class DeliveryTest : public ::testing::Test {
  protected:
    struct Asked {
        std::string channel;
        std::string alert;
        std::move_only_function<void(Result<void>)> done;
    };

    void Answer(Result<void> result) {
        ASSERT_FALSE(asked.empty()) << "nobody was told";
        Asked first = std::move(asked.front());
        asked.pop_front();
        first.done(std::move(result));
        runtime.Run();
    }
    static Result<void> Away() { return Fail(ErrorCode::kUnavailable, "away"); }

    DrivenRuntime runtime;
    std::deque<Asked> asked;
    Delivery delivery{runtime,
                      {{.name = "ops", .kind = ChannelKind::kWebhook}, {.name = "log"}},
                      [this](const Channel& channel, const Notice& notice, auto done) {
                          asked.push_back({channel.name, notice.alert.id, std::move(done)});
                      }};
    int told = 0;
};

TEST_F(DeliveryTest, AllChannelsAreToldOnceAndThenItIsDone) {
    delivery.Send(NoticeOf("a"), {}, [this] { ++told; });
    ASSERT_EQ(asked.size(), 2u);
    Answer({});
    EXPECT_EQ(told, 0);
    Answer({});
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(asked.empty());
    EXPECT_TRUE(delivery.channels()[0].last->ok);
}

TEST_F(DeliveryTest, OnlyThoseNamedAreTold) {
    delivery.Send(NoticeOf("a"), {"ops", "nobody"}, [this] { ++told; });
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].channel, "ops");
    Answer({});
    delivery.Send(NoticeOf("b"), {"nobody"}, [this] { ++told; });
    EXPECT_EQ(told, 2) << "nobody is there to be waited for";
}

// The webhook's server is restarted just now.
TEST_F(DeliveryTest, AChannelThatIsAwayIsTriedAgainMoreAndMoreSlowly) {
    delivery.Send(NoticeOf("a"), {"ops"}, [this] { ++told; });
    delivery.Send(NoticeOf("b"), {"ops"}, [this] { ++told; });
    for (const auto delay : {1s, 5s, 30s, 120s, 600s}) {
        Answer(Away());
        EXPECT_FALSE(delivery.channels()[0].last->ok);
        runtime.Pass(delay - 1ms);
        EXPECT_TRUE(asked.empty()) << "not yet";
        runtime.Pass(1ms);
        ASSERT_EQ(asked.size(), 1u);
        EXPECT_EQ(asked[0].alert, "a") << "in order";
    }
    Answer(Away());
    EXPECT_EQ(told, 1) << "given up";
    EXPECT_EQ(delivery.channels()[0].counts.failed, 1u);
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].alert, "b") << "the next one gets its own tries";
    Answer({});
    EXPECT_EQ(told, 2);
}

TEST_F(DeliveryTest, WhatIsRefusedForEverIsNotTriedAgain) {
    delivery.Send(NoticeOf("a"), {"ops"}, [this] { ++told; });
    Answer(Fail(ErrorCode::kInvalid, "404"));
    EXPECT_EQ(told, 1);
    runtime.Pass(1h);
    EXPECT_TRUE(asked.empty());
    EXPECT_EQ(delivery.channels()[0].last->error, "404");
}

// One channel hangs; the other must not wait for it.
TEST_F(DeliveryTest, AChannelThatHangsHoldsUpNobodyElse) {
    for (int i = 0; i < 3; ++i) delivery.Send(NoticeOf("a"), {}, [this] { ++told; });
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_EQ(asked[0].channel, "ops");
    Asked hanging = std::move(asked.front());
    asked.pop_front();
    for (int i = 0; i < 3; ++i) Answer({});
    EXPECT_TRUE(asked.empty());
    EXPECT_EQ(delivery.channels()[1].counts.told, 3u);
    EXPECT_EQ(delivery.channels()[0].waiting, 3u);
}

TEST_F(DeliveryTest, AStormFillsTheQueueAndNotTheMemory) {
    for (std::size_t i = 0; i < Delivery::kWaitingMax + 100; ++i) {
        delivery.Send(NoticeOf("a"), {"ops"}, [this] { ++told; });
    }
    EXPECT_EQ(delivery.channels()[0].waiting, Delivery::kWaitingMax);
    EXPECT_EQ(delivery.channels()[0].counts.failed, 100u);
    EXPECT_EQ(told, 100);
}

TEST_F(DeliveryTest, ATestSaysWhatHappened) {
    Result<void> result;
    delivery.Test("ops", [&](Result<void> answer) { result = std::move(answer); });
    ASSERT_EQ(asked.size(), 1u);
    Answer(Away());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().detail, "away");
    delivery.Test("nobody", [&](Result<void> answer) { result = std::move(answer); });
    EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
}

// Somebody presses the button again and again, and all namespaces share one mailer.
TEST_F(DeliveryTest, OneTestOfAChannelAtATime) {
    int ended = 0;
    Result<void> second;
    delivery.Test("ops", [&](Result<void>) { ++ended; });
    delivery.Test("ops", [&](Result<void> answer) { second = std::move(answer); });
    ASSERT_EQ(asked.size(), 1u);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    Answer({});
    EXPECT_EQ(ended, 1);
    delivery.Test("ops", [&](Result<void>) { ++ended; });
    Answer(Away());
    EXPECT_EQ(ended, 2) << "and the next one may";
}

// The scheduler stops while one channel is called and another waits for its next try.
TEST(DeliveryEnd, WhatIsUnderWayEndsWithIt) {
    DrivenRuntime runtime;
    std::vector<std::move_only_function<void(Result<void>)>> calls;
    const Tell tell = [&](const Channel& channel, const Notice&, auto done) {
        if (channel.name == "away") return done(Fail(ErrorCode::kUnavailable, "away"));
        calls.push_back(std::move(done));
    };
    int told = 0;
    {
        Delivery delivery(runtime, {{.name = "slow"}, {.name = "away"}}, tell);
        delivery.Send(NoticeOf("a"), {}, [&] { ++told; });
        delivery.Send(NoticeOf("b"), {}, [&] { ++told; });
        runtime.Run();
    }
    ASSERT_EQ(calls.size(), 1u);
    calls[0]({});
    runtime.Pass(1h);
    EXPECT_EQ(calls.size(), 1u) << "nobody is left to be told by";
    EXPECT_EQ(told, 0);
}

// Webhooks over a connection, to a server that answers as the test says.
class WebhookAnswerTest : public ServerTest {
  protected:
    Result<void> Answered(WebhookFormat format, int status, const std::string& body) {
        handler_->handle = [status, body](HttpRequest, HttpReply reply) {
            reply(HttpResponse::Json(status, body));
        };
        if (!server_) Serve();
        const auto client = HttpClient::Create(loop_.io(), {}).value();
        Mailer mailer;
        const Channel channel{.name = "ops",
                              .kind = ChannelKind::kWebhook,
                              .url = "http://127.0.0.1:" + std::to_string(server_->port()) + "/x",
                              .format = format};
        std::promise<Result<void>> told;
        TellBy(*client, mailer)(channel, NoticeOf("a"),
                                [&](Result<void> result) { told.set_value(std::move(result)); });
        return told.get_future().get();
    }
};

// A gateway of the company's own wraps every answer: {"code": 200} is its way to say that all is
// well. Taken as a refusal it would be told five times more, and hold up all others for 12 minutes.
TEST_F(WebhookAnswerTest, WhatAGatewayWritesIntoItsAnswerIsNoRefusal) {
    const std::string wrapped = R"({"code":200,"msg":"ok"})";
    EXPECT_TRUE(Answered(WebhookFormat::kJson, 200, wrapped));
    EXPECT_TRUE(Answered(WebhookFormat::kSlack, 200, wrapped));
    EXPECT_TRUE(Answered(WebhookFormat::kJson, 200, R"({"errcode":1,"errmsg":"mine"})"));
    EXPECT_FALSE(Answered(WebhookFormat::kJson, 500, wrapped)) << "its status counts";
    EXPECT_FALSE(Answered(WebhookFormat::kSlack, 404, "no_service"));
}

// A gateway answers with a page of its own, larger than anybody reads.
TEST_F(WebhookAnswerTest, AnAnswerLargerThanIsReadIsJudgedByItsStatus) {
    const std::string page(1 << 20, 'x');
    const auto told = Answered(WebhookFormat::kJson, 200, page);
    EXPECT_TRUE(told) << told.error().detail;
    const auto busy = Answered(WebhookFormat::kSlack, 503, page);
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, ErrorCode::kUnavailable) << "it is tried again";
}

TEST_F(WebhookAnswerTest, ARobotIsJudgedByItsBody) {
    const auto refused =
        Answered(WebhookFormat::kFeishu, 200, R"({"code":19021,"msg":"sign match fail"})");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().detail.find("sign match fail"), std::string::npos);
    EXPECT_FALSE(Answered(WebhookFormat::kDingTalk, 200, R"({"errcode":310000})"));
    EXPECT_TRUE(Answered(WebhookFormat::kDingTalk, 200, R"({"errcode":0,"errmsg":"ok"})"));
}

}  // namespace
}  // namespace takt::internal
