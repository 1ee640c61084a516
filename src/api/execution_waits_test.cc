// GET /api/v1/executions/{id}?wait=…, over real sockets. Waits end by what happens, never by luck: the
// long ones are much longer than a test may take.
#include <gmock/gmock.h>

#include <future>
#include <thread>

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

using testing::HasSubstr;

void AwaitWaiting(TestScheduler& scheduler, std::size_t count) {
    while (scheduler.hub().ends().waiting() != count) std::this_thread::yield();
}

// A caller on a thread of its own, with a connection of its own.
std::future<Result<HttpAnswer>> AskLater(const TestScheduler& scheduler, const std::string& path) {
    return std::async(std::launch::async, [url = scheduler.address() + path] {
        auto client = BlockingHttpClient::Create({});
        return (*client)->Send({.url = url});
    });
}

class ExecutionWaitsTest : public testing::Test {
  protected:
    void Submit(std::string_view id, std::string_view parameters = "{}") {
        const Answered made = leader_.Post(
            "/api/v1/tasks", R"({"name": "n", "id": ")" + std::string(id) + R"(", "parameters": )" +
                                 std::string(parameters) + "}");
        ASSERT_EQ(made.status, 201) << made.body;
    }
    void Cancel(std::string_view id) {
        leader_.Post("/api/v1/executions/" + std::string(id) + "/cancel");
    }

    std::shared_ptr<MemoryDatabase> database_ = std::make_shared<MemoryDatabase>();
    TestScheduler leader_{{.database = database_}};
};

// A script waits for what it submitted: it is told when that ends, and not before.
TEST_F(ExecutionWaitsTest, AWaitIsAnsweredByTheEnd) {
    Submit("x");
    Submit("y");
    auto x = AskLater(leader_, "/api/v1/executions/x?wait=50s");
    auto also_x = AskLater(leader_, "/api/v1/executions/x?wait=50s");
    auto y = AskLater(leader_, "/api/v1/executions/y?wait=50s");
    AwaitWaiting(leader_, 3);
    Cancel("x");
    for (auto* asked : {&x, &also_x}) {
        const auto answer = asked->get();
        ASSERT_TRUE(answer) << answer.error().detail;
        EXPECT_EQ(answer->status, 200);
        EXPECT_THAT(answer->body, HasSubstr(R"("status":"cancelled")"));
    }
    AwaitWaiting(leader_, 1);
    Cancel("y");
    EXPECT_THAT(y.get()->body, HasSubstr(R"("status":"cancelled")"));
    AwaitWaiting(leader_, 0);
}

TEST_F(ExecutionWaitsTest, AWaitThatIsOverTellsHowItStands) {
    Submit("x");
    const Answered answer = leader_.Get("/api/v1/executions/x?wait=20ms");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.Text("status"), "pending");
    EXPECT_EQ(leader_.Get("/api/v1/executions/x?wait=0s").Text("status"), "pending");
    EXPECT_EQ(leader_.hub().ends().waiting(), 0u);
}

TEST_F(ExecutionWaitsTest, WhatHasEndedOrIsNotThereIsAnsweredAtOnce) {
    Submit("x");
    Cancel("x");
    EXPECT_EQ(leader_.Get("/api/v1/executions/x?wait=50s").Text("status"), "cancelled");
    EXPECT_EQ(leader_.Get("/api/v1/executions/nobody?wait=50s").status, 404);
    EXPECT_EQ(leader_.hub().ends().waiting(), 0u);
}

TEST_F(ExecutionWaitsTest, AWaitThatIsNoneIsRefusedWithItsName) {
    Submit("x");
    for (const std::string_view wait : {"30", "-1s", "soon", "51s", "1h", ""}) {
        const Answered answer = leader_.Get("/api/v1/executions/x?wait=" + std::string(wait));
        EXPECT_EQ(answer.status, 400) << wait << answer.body;
        EXPECT_EQ(answer.Text("field"), "wait") << wait;
    }
    EXPECT_THAT(leader_.Get("/api/v1/executions/x?wait=51s").body, HasSubstr("ask again"));
}

// A script is killed while it waits: nothing of it is left.
TEST_F(ExecutionWaitsTest, ACallerThatHangsUpIsForgotten) {
    Submit("x");
    RawClient socket(leader_.port());
    ASSERT_TRUE(
        socket.Send("GET /api/v1/executions/x?wait=50s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
    AwaitWaiting(leader_, 1);
    socket.Close();
    AwaitWaiting(leader_, 0);
}

// A client may ask any scheduler. What it waits for may be large.
TEST_F(ExecutionWaitsTest, AFollowerPassesAWaitOn) {
    TestScheduler follower({.node = "node-b", .database = database_, .await_lead = false});
    follower.AwaitLeaderKnown();
    Submit("x", "\"" + std::string(300'000, 'x') + "\"");
    auto asked = AskLater(follower, "/api/v1/executions/x?wait=50s");
    AwaitWaiting(leader_, 1);
    Cancel("x");
    const auto answer = asked.get();
    ASSERT_TRUE(answer) << answer.error().detail;
    EXPECT_EQ(answer->status, 200) << answer->body;
    EXPECT_THAT(answer->body, HasSubstr(R"("status":"cancelled")"));
    EXPECT_GT(answer->body.size(), 300'000u);

    Submit("y");
    RawClient socket(follower.port());
    ASSERT_TRUE(
        socket.Send("GET /api/v1/executions/y?wait=50s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
    AwaitWaiting(leader_, 1);
    socket.Close();
    AwaitWaiting(leader_, 0);
}

// The leader stops, or another takes its place: whoever waits hears how it stands and asks again.
TEST_F(ExecutionWaitsTest, ALeaderThatGivesUpItsLeadAnswersThoseWhoWait) {
    TestScheduler follower({.node = "node-b", .database = database_, .await_lead = false});
    follower.AwaitLeaderKnown();
    Submit("x");
    auto here = AskLater(leader_, "/api/v1/executions/x?wait=50s");
    auto there = AskLater(follower, "/api/v1/executions/x?wait=50s");
    AwaitWaiting(leader_, 2);
    leader_.StopNode();
    for (auto* asked : {&here, &there}) {
        const auto answer = asked->get();
        ASSERT_TRUE(answer) << answer.error().detail;
        EXPECT_EQ(answer->status, 200) << answer->body;
        EXPECT_THAT(answer->body, HasSubstr(R"("status":"pending")"));
    }
    EXPECT_EQ(leader_.hub().ends().waiting(), 0u);
}

}  // namespace
}  // namespace takt::internal
