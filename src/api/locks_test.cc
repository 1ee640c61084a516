// Locks over REST: as scripts and programs in any language use them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

using ::testing::HasSubstr;

std::string LockId(const Answered& given) {
    return R"({"lock_id": ")" + given.Text("lock_id") + R"("})";
}

TEST(LocksApi, ALockIsAcquiredRenewedAndReleased) {
    TestScheduler scheduler;
    const Answered given =
        scheduler.Post("/api/v1/locks/ledger/acquire", R"({"ttl": "30s", "owner": "host-a"})");
    ASSERT_EQ(given.status, 200) << given.body;
    EXPECT_EQ(given.Text("name"), "ledger");
    const std::int64_t token = given.json.at("token").as_int64();
    EXPECT_GT(token, std::int64_t{1} << 32);

    const Answered busy = scheduler.Post("/api/v1/locks/ledger/acquire");
    ASSERT_EQ(busy.status, 409) << busy.body;
    EXPECT_EQ(busy.Text("code"), "conflict");
    const auto& holders = busy.json.at("holders").as_array();
    ASSERT_EQ(holders.size(), 1u);
    EXPECT_EQ(holders[0].at("owner").as_string(), "host-a");

    EXPECT_EQ(scheduler.Post("/api/v1/locks/ledger/renew", LockId(given)).status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/locks/other/renew", LockId(given)).status, 409);
    EXPECT_EQ(scheduler.Post("/api/v1/locks/ledger/release", LockId(given)).status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/locks/ledger/release", LockId(given)).status, 409);
    EXPECT_EQ(scheduler.Post("/api/v1/locks/ledger/renew", LockId(given)).status, 409);
    const Answered next = scheduler.Post("/api/v1/locks/ledger/acquire", R"({"ttl": 5})");
    EXPECT_GT(next.json.at("token").as_int64(), token);
}

TEST(LocksApi, AnAcquireThatWaitsIsAnsweredWhenItHasTheLock) {
    TestScheduler scheduler;
    const Answered given = scheduler.Post("/api/v1/locks/ledger/acquire");
    const std::string url = scheduler.address() + "/api/v1/locks/ledger/acquire";
    auto waiter = std::async(std::launch::async, [&] {
        auto client = BlockingHttpClient::Create({});
        HttpCall call{.method = HttpMethod::kPost, .url = url, .body = R"({"wait": "30s"})"};
        call.headers.emplace_back("Content-Type", "application/json");
        return (*client)->Send(std::move(call))->status;
    });
    // In line when the list says so: asked again and again, without a clock.
    while (scheduler.Get("/api/v1/locks/ledger").json.at("waiting").as_int64() == 0) {
    }
    EXPECT_EQ(scheduler.Post("/api/v1/locks/ledger/release", LockId(given)).status, 200);
    EXPECT_EQ(waiter.get(), 200);
    EXPECT_EQ(scheduler.Get("/api/v1/locks/ledger").json.at("waiting").as_int64(), 0);
}

TEST(LocksApi, TheSameRequestIdGivesTheSameAnswer) {
    TestScheduler scheduler;
    const std::string body = R"({"request_id": "r-1"})";
    const Answered first = scheduler.Post("/api/v1/locks/ledger/acquire", body);
    const Answered again = scheduler.Post("/api/v1/locks/ledger/acquire", body);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.Text("lock_id"), first.Text("lock_id"));
    EXPECT_EQ(again.json.at("token"), first.json.at("token"));
}

TEST(LocksApi, AnOperatorSizesLocksAndTakesThemAway) {
    TestScheduler scheduler;
    EXPECT_EQ(scheduler.Put("/api/v1/locks/gpu", R"({"permits": 4})").status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/locks/gpu/acquire", R"({"permits": 5})").status, 400);
    const Answered one = scheduler.Post("/api/v1/locks/gpu/acquire", R"({"permits": 3})");
    const Answered two = scheduler.Post("/api/v1/locks/gpu/acquire");
    ASSERT_EQ(two.status, 200);
    const Answered seen = scheduler.Get("/api/v1/locks/gpu");
    EXPECT_EQ(seen.json.at("taken").as_int64(), 4);
    const Answered freed = scheduler.Delete("/api/v1/locks/gpu?lock_id=" + one.Text("lock_id"));
    EXPECT_EQ(freed.json.at("taken").as_int64(), 1);
    EXPECT_EQ(scheduler.Delete("/api/v1/locks/gpu").json.at("taken").as_int64(), 0);
    EXPECT_EQ(scheduler.Delete("/api/v1/locks/gpu").status, 404);
    EXPECT_EQ(scheduler.Get("/api/v1/locks").json.at("items").as_array().size(), 1u);
    EXPECT_EQ(scheduler.Put("/api/v1/locks/gpu", R"({"permits": 1})").status, 200);
    EXPECT_EQ(scheduler.Get("/api/v1/locks").json.at("items").as_array().size(), 0u);
}

TEST(LocksApi, ListsComeInPages) {
    TestScheduler scheduler;
    for (const char* name : {"a", "b", "c"}) {
        scheduler.Post("/api/v1/locks/" + std::string(name) + "/acquire");
    }
    const Answered first = scheduler.Get("/api/v1/locks?limit=2");
    EXPECT_EQ(first.json.at("items").as_array().size(), 2u);
    const Answered second =
        scheduler.Get("/api/v1/locks?limit=2&cursor=" + first.Text("next_cursor"));
    EXPECT_EQ(second.json.at("items").as_array()[0].at("name").as_string(), "c");
    EXPECT_TRUE(second.json.at("next_cursor").is_null());
    EXPECT_EQ(scheduler.Get("/api/v1/locks?cursor=%20").status, 400);
}

TEST(LocksApi, BadRequestsAreRefusedByTheFieldAtFault) {
    TestScheduler scheduler;
    const auto field = [&](std::string_view target, std::string body) {
        const Answered answer = scheduler.Post(target, std::move(body));
        EXPECT_EQ(answer.status, 400) << answer.body;
        return answer.Text("field");
    };
    const std::string acquire = "/api/v1/locks/ledger/acquire";
    EXPECT_EQ(field(acquire, R"({"ttl": "10ms"})"), "ttl");
    EXPECT_EQ(field(acquire, R"({"ttl": "2h"})"), "ttl");
    EXPECT_EQ(field(acquire, R"({"wait": "2h"})"), "wait");
    EXPECT_EQ(field(acquire, R"({"permits": 0})"), "permits");
    EXPECT_EQ(field(acquire, R"({"owner": 7})"), "owner");
    EXPECT_EQ(field(acquire, R"({"name": "x"})"), "name");
    EXPECT_EQ(field("/api/v1/locks/-x/acquire", "{}"), "name");
    EXPECT_EQ(field("/api/v1/locks/ledger/release", "{}"), "lock_id");
    EXPECT_EQ(scheduler.Put("/api/v1/locks/ledger", "{}").Text("field"), "permits");
    EXPECT_EQ(scheduler.Delete("/api/v1/locks/ledger?lock_id=%20").Text("field"), "lock_id");
    const std::string longest(128, 'n');
    EXPECT_EQ(scheduler.Post("/api/v1/locks/" + longest + "/acquire").status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/locks/" + longest + "n/acquire").status, 400);
}

TEST(LocksApi, ATaskDeclaresLocks) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    const Answered given = scheduler.Post("/api/v1/locks/ledger/acquire", R"({"owner": "host-a"})");
    const Answered made = scheduler.Post(
        "/api/v1/tasks",
        R"({"id": "x", "name": "n", "locks": ["ledger", {"name": "gpu", "permits": 1}]})");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.json.at("locks").as_array().size(), 2u);
    const Answered why = scheduler.Get("/api/v1/executions/x/explain");
    EXPECT_EQ(why.Text("code"), "lock");
    EXPECT_THAT(why.Text("explanation"), HasSubstr("'host-a' holds"));
    scheduler.Post("/api/v1/locks/ledger/release", LockId(given));
    scheduler.sink().Await(EventType::kTaskCompleted, "x");

    const auto refused = [&](std::string locks) {
        const Answered answer =
            scheduler.Post("/api/v1/tasks", R"({"name": "n", "locks": )" + locks + "}");
        EXPECT_EQ(answer.status, 400) << answer.body;
        return answer.Text("field");
    };
    EXPECT_EQ(refused(R"("ledger")"), "locks");
    EXPECT_EQ(refused(R"(["a", "a"])"), "locks");
    EXPECT_EQ(refused(R"(["-"])"), "locks");
    EXPECT_EQ(refused(R"([{"permits": 2}])"), "locks.name");
    EXPECT_EQ(refused(R"([{"name": "gpu", "permits": 2}])"), "locks");
    EXPECT_EQ(refused(R"([{"name": "gpu", "count": 2}])"), "locks.count");
}

// A client may ask any scheduler, also if it waits longer than others do for an answer.
TEST(LocksApi, AFollowerPassesLockCallsOn) {
    const auto database = std::make_shared<MemoryDatabase>();
    TestScheduler leader({.database = database});
    TestScheduler follower({.node = "node-b", .database = database, .await_lead = false});
    follower.AwaitLeaderKnown();
    const Answered given = follower.Post("/api/v1/locks/ledger/acquire");
    ASSERT_EQ(given.status, 200) << given.body;
    const Answered busy = follower.Post("/api/v1/locks/ledger/acquire", R"({"wait": "10ms"})");
    EXPECT_EQ(busy.status, 409);
    EXPECT_EQ(busy.json.at("holders").as_array().size(), 1u);
    EXPECT_EQ(follower.Get("/api/v1/locks/ledger").json.at("taken").as_int64(), 1);
    EXPECT_EQ(follower.Post("/api/v1/locks/ledger/release", LockId(given)).status, 200);
}

// A raw question that stands in line, over a socket that the test can close.
void StandInLine(RawClient& socket, const std::string& body) {
    ASSERT_TRUE(
        socket.Send("POST /api/v1/locks/ledger/acquire HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    "Content-Type: application/json\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body));
}
void AwaitInLine(TestScheduler& scheduler, std::int64_t count) {
    while (scheduler.Get("/api/v1/locks/ledger").json.at("waiting").as_int64() != count) {
    }
}

// A script is killed while it waits for a lock: nobody is kept waiting for it, and it gets nothing.
TEST(LocksApi, AClientThatClosesItsConnectionLeavesTheLine) {
    TestScheduler scheduler;
    const Answered given = scheduler.Post("/api/v1/locks/ledger/acquire");
    RawClient named(scheduler.port()), unnamed(scheduler.port());
    StandInLine(named, R"({"wait": "40s", "request_id": "r"})");
    StandInLine(unnamed, R"({"wait": "40s"})");
    AwaitInLine(scheduler, 2);
    named.Close();
    AwaitInLine(scheduler, 1);
    unnamed.Close();
    AwaitInLine(scheduler, 0);
    EXPECT_EQ(scheduler.Post("/api/v1/locks/ledger/release", LockId(given)).status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/locks/ledger/acquire").status, 200)
        << "it was not given away";
}

TEST(LocksApi, AClientOfAFollowerThatClosesItsConnectionLeavesTheLine) {
    const auto database = std::make_shared<MemoryDatabase>();
    TestScheduler leader({.node = "node-a", .database = database});
    TestScheduler follower({.node = "node-b", .database = database, .await_lead = false});
    follower.AwaitLeaderKnown();
    leader.Post("/api/v1/locks/ledger/acquire");
    RawClient socket(follower.port());
    StandInLine(socket, R"({"wait": "40s"})");
    AwaitInLine(leader, 1);
    socket.Close();
    AwaitInLine(leader, 0);
}

// More of the next request comes while the first waits: it is answered after it.
TEST(LocksApi, ARequestBehindOneThatWaitsIsAnsweredAfterIt) {
    TestScheduler scheduler;
    const Answered given = scheduler.Post("/api/v1/locks/ledger/acquire");
    RawClient socket(scheduler.port());
    StandInLine(socket, R"({"wait": "40s"})");
    AwaitInLine(scheduler, 1);
    ASSERT_TRUE(socket.Send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
    EXPECT_EQ(scheduler.Post("/api/v1/locks/ledger/release", LockId(given)).status, 200);
    EXPECT_THAT(socket.ReadAnswer(), HasSubstr("HTTP/1.1 200"));
    EXPECT_THAT(socket.ReadAnswer(), HasSubstr("HTTP/1.1 200"));
}

// A store lost its last writes, and with them a term; whoever has seen one of its tokens says so.
TEST(LocksApi, TokensRiseAboveThoseThatCallersRemember) {
    TestScheduler scheduler;
    const Answered first = scheduler.Post("/api/v1/locks/ledger/acquire");
    const std::int64_t later = first.json.at("token").as_int64() + (std::int64_t{5} << 32);
    const std::string body = R"({"last_token": )" + std::to_string(later) + "}";
    EXPECT_EQ(scheduler.Post("/api/v1/locks/other/acquire", body).status, 503);
    Answered given;
    do given = scheduler.Post("/api/v1/locks/other/acquire", body);
    while (given.status == 503);
    ASSERT_EQ(given.status, 200) << given.body;
    EXPECT_GT(given.json.at("token").as_int64(), later);
    const Answered wild =
        scheduler.Post("/api/v1/locks/other/acquire", R"({"last_token": 9007199254740991})");
    EXPECT_EQ(wild.status, 400) << wild.body;
    EXPECT_THAT(wild.body, HasSubstr("another cluster's"));
}

// The same, and the epoch of the lost term was given again: its number tells nothing, the token does.
TEST(LocksApi, TokensRiseAboveThoseOfALostTermOfTheSameEpoch) {
    TestScheduler scheduler;
    const Answered first = scheduler.Post("/api/v1/locks/ledger/acquire");
    const std::int64_t later = first.json.at("token").as_int64() + 40;
    const Answered given = scheduler.Post("/api/v1/locks/other/acquire",
                                          R"({"last_token": )" + std::to_string(later) + "}");
    ASSERT_EQ(given.status, 200) << given.body;
    EXPECT_GT(given.json.at("token").as_int64(), later);
}

}  // namespace
}  // namespace takt::internal
