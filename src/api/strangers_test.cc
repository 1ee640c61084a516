// Callers of whom nothing is known: how much they may send, and what is written down of them.
#include <gmock/gmock.h>

#include "api/test_scheduler.h"
#include "base/log.h"

namespace takt::internal {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

// As the callbacks of executors: the token of an attempt, if any, is for the handler to check.
Route CallbackRoute(int status) {
    return {.method = HttpMethod::kPost,
            .path = "/api/v1/callback",
            .permission = Permission::kNone,
            .handler =
                [status](Call call) {
                    if (status == 200) return call.Json(200, "{}");
                    call.Refuse({status, "conflict", "as the test wants it"});
                },
            .summary = "An executor calls back",
            .takes = "Callback"};
}

const std::string kToken(32, 'a');

// Somebody who can reach the port, and has no token of any kind, sends a MiB on each of hundreds of
// connections.
TEST(Strangers, LargeCallbackNeedsATokenInItsHead) {
    TestScheduler scheduler({.more_routes = {CallbackRoute(200)}});
    const std::string large = "\"" + std::string(100'000, 'x') + "\"";
    EXPECT_EQ(scheduler.Post("/api/v1/callback", large).status, 413);
    EXPECT_EQ(scheduler.Post("/api/v1/callback", large, {{"X-Takt-Token", "guess"}}).status, 413);
    EXPECT_EQ(scheduler.Post("/api/v1/callback", large, {{"X-Takt-Token", kToken}}).status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/callback", R"({"token": "in here"})").status, 200);
}

// After an incident somebody asks who sent wrong results.
TEST(Strangers, RefusedCallbackIsWrittenDown) {
    const LogCapture log;
    for (const int status : {401, 409}) {
        TestScheduler scheduler({.more_routes = {CallbackRoute(status)}});
        scheduler.Post("/api/v1/callback", "{}");
        EXPECT_THAT(log.lines(),
                    Contains(AllOf(HasSubstr("audit: refused"), HasSubstr("path=/api/v1/callback"),
                                   HasSubstr("status=" + std::to_string(status)),
                                   HasSubstr("ip=127.0.0.1"))));
    }
}

// A change came to a scheduler that does not lead: the leader knows only that scheduler's address.
TEST(Strangers, ChangeThatIsPassedOnIsWrittenDownWithItsCaller) {
    const LogCapture log;
    const auto database = std::make_shared<MemoryDatabase>();
    TestScheduler leader({.database = database});
    TestScheduler follower({.node = "node-b", .database = database, .await_lead = false});
    follower.AwaitLeaderKnown();
    ASSERT_EQ(follower
                  .Post("/api/v1/tokens", R"({"name": "me", "role": "admin"})",
                        {{"X-Request-Id", "incident-7"}})
                  .status,
              201);
    const auto lines = log.lines();
    EXPECT_THAT(lines,
                Contains(AllOf(HasSubstr("audit: passed on"), HasSubstr("to=node-a"),
                               HasSubstr("ip=127.0.0.1"), HasSubstr("request_id=incident-7"))));
    EXPECT_THAT(lines,
                Contains(AllOf(HasSubstr("audit: change"), HasSubstr("request_id=incident-7"))));
}

}  // namespace
}  // namespace takt::internal
