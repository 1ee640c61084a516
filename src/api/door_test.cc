// The door: who is kept out, who cannot lock himself out, and what is written down of it.
#include <gmock/gmock.h>

#include "api/access_policy.h"
#include "api/test_scheduler.h"
#include "base/log.h"

namespace takt::internal {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

HttpHeaderList WithToken(const Answered& made) {
    return {{"Authorization", "Bearer " + made.Text("token")}};
}

Answered NewToken(TestScheduler& scheduler, const std::string& fields,
                  const HttpHeaderList& headers = {}) {
    return scheduler.Post("/api/v1/tokens", R"({"name": "somebody", )" + fields + "}", headers);
}

// Two seconds after somebody tried tokens out nobody could do anything any more.
TEST(Door, TheOnlyAdministratorDoesNotExpire) {
    TestScheduler scheduler;
    const Answered refused = NewToken(scheduler, R"("role": "admin", "expires_in": "2s")");
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.Text("field"), "expires_in");
    const Answered lasting = NewToken(scheduler, R"("role": "admin")");
    ASSERT_EQ(lasting.status, 201);
    const Answered guest =
        NewToken(scheduler, R"("role": "admin", "expires_in": "1h")", WithToken(lasting));
    ASSERT_EQ(guest.status, 201) << "somebody else's does not expire";
    EXPECT_EQ(scheduler.Delete("/api/v1/tokens/" + lasting.Text("id"), WithToken(guest)).status,
              409)
        << "in an hour nobody could come in";
    EXPECT_EQ(scheduler.Delete("/api/v1/tokens/" + guest.Text("id"), WithToken(lasting)).status,
              204);
}

// On an address that others reach the door is shut without tokens, not open.
TEST(Door, TheOnlyTokenOfAServerThatOthersReachIsNotRevoked) {
    const auto database = std::make_shared<MemoryDatabase>();
    std::optional<TestScheduler> here(std::in_place, TestSchedulerOptions{.database = database});
    const Answered made = NewToken(*here, R"("role": "admin")");
    ASSERT_EQ(made.status, 201);
    here.reset();
    TestScheduler everywhere(
        {.database = database, .config = {.access = {.loopback_only = false}}});
    const Answered refused =
        everywhere.Delete("/api/v1/tokens/" + made.Text("id"), WithToken(made));
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(everywhere.Get("/api/v1/tasks", WithToken(made)).status, 200);
}

// Somebody puts a proxy with TLS in front of a scheduler that trusts everybody on its machine.
TEST(Door, AProxyInFrontOfAnOpenServerIsRefused) {
    TestScheduler scheduler;
    for (const char* header : {"Forwarded", "X-Forwarded-For", "X-Forwarded-Host",
                               "X-Forwarded-Proto", "X-Real-IP", "Via"}) {
        const Answered refused = scheduler.Get("/api/v1/tasks", {{header, "for=192.0.2.7"}});
        EXPECT_EQ(refused.status, 403) << header;
        EXPECT_THAT(refused.Text("detail"), HasSubstr("proxy"));
    }
    const Answered made = NewToken(scheduler, R"("role": "admin")");
    HttpHeaderList headers = WithToken(made);
    headers.emplace_back("X-Forwarded-For", "192.0.2.7");
    EXPECT_EQ(scheduler.Get("/api/v1/tasks", headers).status, 200) << "tokens tell who is who";
}

// An attacker who wants to hide a try sends junk before it.
TEST(Door, JunkDoesNotPushTheRefusalOfAKnownTokenOutOfTheAudit) {
    TestScheduler scheduler;
    const Answered admin = NewToken(scheduler, R"("role": "admin")");
    const Answered thief = scheduler.Post(
        "/api/v1/tokens", R"({"name": "night shift", "role": "operator"})", WithToken(admin));
    const LogCapture log;
    for (int i = 0; i < 30; ++i) scheduler.Get("/api/v1/tasks");
    EXPECT_EQ(NewToken(scheduler, R"("role": "admin")", WithToken(thief)).status, 403);
    EXPECT_THAT(log.lines(),
                Contains(AllOf(HasSubstr("audit: refused"), HasSubstr("who=\"night shift\""),
                               HasSubstr("token=" + thief.Text("id")), HasSubstr("status=403"),
                               HasSubstr("path=/api/v1/tokens"))));
}

// A stolen worker token is told from its owner's by the address it came from.
TEST(Door, OpeningASessionIsWrittenDownWithItsToken) {
    TestScheduler scheduler({.more_routes = {{.method = HttpMethod::kGet,
                                              .path = "/api/v1/session",
                                              .permission = Permission::kWorker,
                                              .handler = [](Call call) { call.Json(200, "{}"); },
                                              .summary = "Opens a session",
                                              .opens_session = true}}});
    const Answered admin = NewToken(scheduler, R"("role": "admin")");
    const Answered worker = NewToken(scheduler, R"("role": "worker")", WithToken(admin));
    const LogCapture log;
    EXPECT_EQ(scheduler.Get("/api/v1/session", WithToken(worker)).status, 200);
    EXPECT_THAT(log.lines(),
                Contains(AllOf(HasSubstr("audit: change"), HasSubstr("token=" + worker.Text("id")),
                               HasSubstr("ip=127.0.0.1"))));
}

// A client library sends an empty object with every POST.
TEST(Door, AnAddressWithoutABodyAlsoTakesAnEmptyObject) {
    TestScheduler scheduler;
    ASSERT_EQ(
        scheduler.Post("/api/v1/tasks", R"({"id": "t", "name": "n", "cron_expression": "@daily"})")
            .status,
        201);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/t/pause", " {\n} ").status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/t/resume", "{}").status, 200);
    const Answered refused = scheduler.Post("/api/v1/tasks/t/pause", R"({"for": "1h"})");
    EXPECT_EQ(refused.status, 400);
    EXPECT_THAT(refused.Text("detail"), HasSubstr("no body"));
}

// A name that reads backwards on a screen, or that nobody can type again.
TEST(Door, NamesThatCannotBeSeenAreRefused) {
    TestScheduler scheduler;
    for (const char* name : {"pay\\u202Eroll", "a\\u2028b", "a\\u200bb", "\\ufeffa", "a\\u0085b"}) {
        const Answered refused =
            scheduler.Post("/api/v1/tasks", R"({"name": ")" + std::string(name) + "\"}");
        EXPECT_EQ(refused.status, 400) << name;
        EXPECT_EQ(refused.Text("field"), "name");
    }
    for (const char* name : {"工资单", "می\\u200cخواهم", "👩\\u200d💻"}) {
        EXPECT_EQ(
            scheduler.Post("/api/v1/tasks", R"({"name": ")" + std::string(name) + "\"}").status,
            201)
            << name;
    }
}

// A browser must not take an answer for a script or a page, nor come in the clear the next time. That
// holds for refusals too: they are what a stranger's browser sees.
TEST(Door, EveryAnswerIsGuarded) {
    TestScheduler scheduler;
    const Answered made = NewToken(scheduler, R"("role": "admin")");
    const auto ask = [&](const std::string& path, const HttpHeaderList& headers, bool tls) {
        std::promise<HttpResponse> answer;
        scheduler.Run([&] {
            HttpRequest request;
            request.path = request.raw_path = request.target = path;
            request.tls = tls;
            for (const auto& [name, value] : headers) request.headers.Add(name, value);
            scheduler.api().Handle(std::move(request),
                                   [&](HttpResponse said) { answer.set_value(std::move(said)); });
        });
        return answer.get_future().get();
    };
    const auto header = [](const HttpResponse& response, std::string_view name) {
        const auto found = std::ranges::find(response.headers, name, [](const auto& header) {
            return std::string_view(header.first);
        });
        return found == response.headers.end() ? std::string() : std::string(found->second);
    };
    for (const bool tls : {false, true}) {
        const HttpResponse answers[] = {ask("/api/v1/tasks", WithToken(made), tls),
                                        ask("/api/v1/tasks", {}, tls),
                                        ask("/api/v1/nothing", WithToken(made), tls)};
        EXPECT_EQ(answers[0].status, 200);
        EXPECT_EQ(answers[1].status, 401);
        EXPECT_EQ(answers[2].status, 404);
        for (const HttpResponse& answer : answers) {
            SCOPED_TRACE(answer.status);
            EXPECT_EQ(header(answer, "X-Content-Type-Options"), "nosniff");
            EXPECT_EQ(header(answer, "Cache-Control"), "no-store");
            EXPECT_EQ(header(answer, "Strict-Transport-Security"), tls ? "max-age=31536000" : "");
        }
    }
}

// Somebody empties Redis: nobody revoked the tokens, so nobody comes in without one. Whoever revokes
// the last one on another node, on a machine of one's own, means it.
TEST(Door, TokensThatVanishDoNotOpenTheDoor) {
    const LogCapture log;
    AccessPolicy policy({});
    Random random(SeedOf(5));
    const Instant now = ReadClocks();
    const auto made = MakeToken(AccessRole::kAdmin, "a", now.wall, {}, random);
    const std::string key = "token/" + made.token.id;
    const std::vector<SettingPut> one = {{Text(key), Text(EncodeToken(made.token))}};
    HttpRequest request;
    const auto refusal = [&] {
        const auto verdict = policy.Decide(request, {Permission::kViewer}, now);
        const auto* refused = std::get_if<AccessPolicy::Refusal>(&verdict);
        return refused ? refused->problem.detail : "";
    };
    policy.EndLoad(policy.BeginLoad(1), one, now.steady);
    for (std::uint64_t load = 2; load < 4; ++load) {
        policy.EndLoad(policy.BeginLoad(load), std::vector<SettingPut>{}, now.steady);
        EXPECT_TRUE(refusal().starts_with("all access tokens are gone")) << refusal();
    }
    EXPECT_FALSE(policy.Knows(request, now.wall));
    // A token's last use that was noted meanwhile is no revocation.
    const std::vector<SettingPut> used = {{Text(key + "/used"), Text(FormatTime(now.wall))}};
    policy.EndLoad(policy.BeginLoad(4), used, now.steady);
    EXPECT_NE(refusal(), "");

    policy.EndLoad(policy.BeginLoad(5), one, now.steady);
    const std::vector<SettingPut> revoked = {{Text(key + "/used"), Text(kLastTokenRevoked)}};
    policy.EndLoad(policy.BeginLoad(6), revoked, now.steady);
    EXPECT_EQ(refusal(), "");
    policy.EndLoad(policy.BeginLoad(7), revoked, now.steady);
    EXPECT_EQ(refusal(), "") << "it stays so";

    // The mark stays in the store, and says nothing of a token that was made later.
    const auto later = MakeToken(AccessRole::kAdmin, "b", now.wall, {}, random);
    policy.EndLoad(
        policy.BeginLoad(8),
        std::vector<SettingPut>{revoked.front(),
                                {Text("token/" + later.token.id), Text(EncodeToken(later.token))}},
        now.steady);
    policy.EndLoad(policy.BeginLoad(9), revoked, now.steady);
    EXPECT_TRUE(refusal().starts_with("all access tokens are gone")) << refusal();
}

}  // namespace
}  // namespace takt::internal
