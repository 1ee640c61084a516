// Callers of whom nothing is known: how much they may send, and what is written down of them.
#include <gmock/gmock.h>

#include "api/access_policy.h"
#include "api/leader_reach.h"
#include "api/test_scheduler.h"
#include "base/log.h"
#include "store/lead.h"

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
    TestScheduler scheduler(
        {.more_routes = {CallbackRoute(200)},
         .knows_attempt = [](const Token& token) { return TokenText(token) == kToken; }});
    const std::string large = "\"" + std::string(100'000, 'x') + "\"";
    EXPECT_EQ(scheduler.Post("/api/v1/callback", large).status, 413);
    EXPECT_EQ(scheduler.Post("/api/v1/callback", large, {{"X-Takt-Token", "guess"}}).status, 413);
    const std::string made_up(32, 'b');
    EXPECT_EQ(scheduler.Post("/api/v1/callback", large, {{"X-Takt-Token", made_up}}).status, 413);
    EXPECT_EQ(scheduler.Post("/api/v1/callback", large, {{"X-Takt-Token", kToken}}).status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/callback", R"({"token": "in here"})").status, 200);
}

// Nobody has asked for a while, and the tokens were read long ago. Strangers fill what there is for
// strangers; the administrator must not be taken for one of them because of that.
TEST(Strangers, AnOldCopyOfTheTokensTellsWhoIsKnown) {
    TestSchedulerOptions options;
    options.config.access.age_max = Duration(0);
    options.config.access.refresh_interval = Duration(0);
    TestScheduler scheduler(std::move(options));
    const std::string token =
        scheduler.Post("/api/v1/tokens", R"({"name": "me", "role": "admin"})").Text("token");
    const auto is_stranger = [&](const std::string& text) {
        std::promise<bool> told;
        scheduler.Run([&] {
            HttpRequest request;
            request.method = HttpMethod::kPost;
            request.raw_path = request.path = "/api/v1/tasks";
            request.headers.Add("Authorization", "Bearer " + text);
            HttpHeadVerdict verdict{.body_bytes_max = 1 << 20};
            const auto exchange = scheduler.api().OnHead(request, verdict);
            EXPECT_FALSE(verdict.refusal) << "the verdict waits for the store";
            told.set_value(verdict.stranger);
        });
        return told.get_future().get();
    };
    EXPECT_FALSE(is_stranger(token));
    EXPECT_TRUE(is_stranger("takt_made-up"));
}

// The client of a proxy asks in absolute form, and whom it asks does not lead.
TEST(Strangers, ARequestInAbsoluteFormIsPassedOn) {
    const auto database = std::make_shared<MemoryDatabase>();
    TestScheduler leader({.database = database});
    TestScheduler follower({.node = "node-b", .database = database, .await_lead = false});
    follower.AwaitLeaderKnown();
    RawClient client(follower.port());
    const std::string host = "127.0.0.1:" + std::to_string(follower.port());
    client.Send("GET http://" + host + "/api/v1/workers?limit=5 HTTP/1.1\r\nHost: " + host +
                "\r\n\r\n");
    const std::string answer = client.ReadAnswer();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
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

// Somebody makes the first token of a scheduler that runs a worker of its own, and restarts it.
TEST(Strangers, TheWorkerInThisProcessIsNotLockedOutByTheFirstToken) {
    Random random(SeedOf(4));
    const Instant now = ReadClocks();
    const std::string own = MakeToken(AccessRole::kWorker, "", now.wall, {}, random).text;
    const NewToken admin = MakeToken(AccessRole::kAdmin, "a", now.wall, {}, random);
    AccessPolicy policy({.own_worker_token = own});
    policy.EndLoad(policy.BeginLoad(1), std::vector<SettingPut>{}, now.steady);
    EXPECT_TRUE(policy.Knows({}, now.wall)) << "it alone closes no door";
    policy.EndLoad(
        policy.BeginLoad(2),
        std::vector<SettingPut>{{Text("token/" + admin.token.id), Text(EncodeToken(admin.token))}},
        now.steady);
    EXPECT_EQ(policy.tokens().size(), 1u) << "it is in no list";
    const auto decide = [&](const std::string& text, Permission permission) {
        HttpRequest request;
        request.headers.Add("Authorization", "Bearer " + text);
        return policy.Decide(request, {.permission = permission}, now);
    };
    const auto worker = decide(own, Permission::kWorker);
    ASSERT_TRUE(std::holds_alternative<Principal>(worker));
    EXPECT_EQ(policy.WhyRefused(std::get<Principal>(worker).token_id, now.wall), "");
    EXPECT_EQ(policy.TakeUsed(), nullptr) << "nothing of it is written down";
    EXPECT_TRUE(std::holds_alternative<AccessPolicy::Refusal>(decide(own, Permission::kViewer)));
    EXPECT_TRUE(std::holds_alternative<AccessPolicy::Refusal>(decide("", Permission::kWorker)));
    TestScheduler scheduler({.config = {.access = {.own_worker_token = own}}});
    EXPECT_EQ(scheduler.Delete("/api/v1/tokens/own-worker").status, 404) << "nor can it be revoked";
}

// The certificates were renewed without the name that the leader goes by: whatever is sent to a
// follower is refused, and whoever looks at that one must see it. The log says it once.
TEST(Strangers, AFollowerSaysThatItCannotReachItsLeader) {
    const LogCapture log;
    const auto database = std::make_shared<MemoryDatabase>();
    MemoryStore store(database);
    const NodeRow away{.node = NodeId("node-a"), .address = Text("http://127.0.0.1:1")};
    ASSERT_TRUE(TakeLead(store, {.node = away, .ttl = 60s}));
    TestScheduler follower({.node = "node-b", .database = database, .await_lead = false});
    follower.AwaitLeaderKnown();
    EXPECT_EQ(follower.Get("/readyz").body, R"({"status":"ready"})");

    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(follower.Post("/api/v1/tasks", R"({"name": "n"})").status, 503);
    }

    const Answered ready = follower.Get("/readyz");
    EXPECT_EQ(ready.status, 200);
    EXPECT_TRUE(ready.Text("trouble").starts_with("the leader cannot be reached from here"))
        << ready.body;
    const auto lines = log.lines();
    EXPECT_EQ(std::ranges::count_if(
                  lines, [](const auto& line) { return line.contains("cannot be reached:"); }),
              1);
}

// An executor's callback needs no token of the API. Whoever can reach the port would learn the
// address of the leader, or of the store.
TEST(Strangers, ACallbackThatCannotBePassedOnNamesNoHosts) {
    const auto database = std::make_shared<MemoryDatabase>();
    MemoryStore store(database);
    const NodeRow away{.node = NodeId("node-a"), .address = Text("http://127.0.0.1:1")};
    const auto term = TakeLead(store, {.node = away, .ttl = 60s});
    ASSERT_TRUE(term);
    Random random(SeedOf(5));
    const NewToken admin = MakeToken(AccessRole::kAdmin, "a", ReadClocks().wall, {}, random);
    auto batch = std::make_shared<Batch>();
    *batch = {.term = *term, .sequence = 1};
    batch->changes.emplace_back(
        SettingPut{Text("token/" + admin.token.id), Text(EncodeToken(admin.token))});
    ASSERT_TRUE(AskStore<void>([&](auto done) { store.Commit(batch, std::move(done)); }));
    Route route = CallbackRoute(200);
    route.where = Where::kLeader;
    TestScheduler follower(
        {.node = "node-b", .database = database, .await_lead = false, .more_routes = {route}});
    follower.AwaitLeaderKnown();

    EXPECT_EQ(follower.Get("/api/v1/tasks").status, 401) << "the tokens are read";
    const Answered stranger = follower.Post("/api/v1/callback", R"({"status": "success"})");
    EXPECT_EQ(stranger.status, 503);
    EXPECT_EQ(stranger.Text("code"), "no_leader");
    EXPECT_FALSE(stranger.body.contains("127.0.0.1")) << stranger.body;
    const Answered known = follower.Post("/api/v1/callback", R"({"status": "success"})",
                                         {{"Authorization", "Bearer " + admin.text}});
    EXPECT_EQ(known.Text("code"), "no_leader");
    EXPECT_TRUE(known.body.contains("127.0.0.1:1")) << known.body;
}

// Namespaces have leaders of their own: trouble with one is not over because another has some.
TEST(Strangers, EachLeaderThatCannotBeReachedIsRememberedAndSaidOnce) {
    const LogCapture log;
    LeaderReach reach;
    const Steady now = SteadyClock::now();
    for (int i = 0; i < 3; ++i) {
        for (const char* address : {"http://a", "http://b"}) {
            reach.NoteFailure(address, {ErrorCode::kUnavailable, "refused"}, now);
        }
    }
    EXPECT_EQ(log.lines().size(), 2u);
    EXPECT_EQ(reach.TroubleWith("http://a", now), "refused");
    reach.NoteAnswer("http://b");
    EXPECT_EQ(reach.TroubleWith("http://b", now), "");
    EXPECT_EQ(reach.TroubleWith("http://a", now), "refused");
    EXPECT_EQ(reach.TroubleWith("http://a", now + 6min), "") << "that was long ago";
    // However many there were: the latest are known.
    for (int i = 0; i < 1'000; ++i) {
        const Steady then = now + std::chrono::milliseconds(i);
        reach.NoteFailure("http://" + std::to_string(i), {ErrorCode::kUnavailable, "away"}, then);
    }
    EXPECT_EQ(reach.TroubleWith("http://999", now + 1s), "away");
    EXPECT_EQ(reach.TroubleWith("http://0", now + 1s), "");
}

}  // namespace
}  // namespace takt::internal
