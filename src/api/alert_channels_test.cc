// Channels that operators make by the API.
#include <latch>
#include <thread>

#include "api/test_alerts.h"

namespace takt::internal {
namespace {

constexpr const char* kHook =
    R"({"kind": "webhook", "url": "https://hooks.example.com/T0/very-secret", "secret": "s3cret"})";

// Somebody connects the team's chat without touching a file on a server.
TEST(AlertChannelsApi, AChannelIsMadeToldChangedAndDeleted) {
    Ears ears;
    auto database = std::make_shared<MemoryDatabase>();
    TestScheduler scheduler(Quick(ears, database));
    AwaitReady(scheduler);
    const Answered made = scheduler.Put("/api/v1/alert-channels/team", kHook);
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.Text("target"), "https://hooks.example.com");
    EXPECT_TRUE(made.json.at("signed").as_bool());
    EXPECT_TRUE(made.json.at("stored").as_bool());
    EXPECT_EQ(made.Header("ETag"), "\"1\"");
    EXPECT_EQ(scheduler.Post("/api/v1/alert-channels/team/test").json.at("ok"), true);

    // A rule that tells this channel alone is told by it.
    ASSERT_EQ(scheduler
                  .Put("/api/v1/alert-rules/nobody_there",
                       R"({"metric": "workers_online", "operator": "<", "threshold": 1,
                           "channels": ["team"]})")
                  .status,
              201);
    ASSERT_TRUE(ears.Await("nobody_there", AlertState::kFiring));
    const Answered kept = scheduler.Delete("/api/v1/alert-channels/team");
    EXPECT_EQ(kept.status, 409) << "the rule would tell nobody";
    EXPECT_NE(kept.Text("detail").find("nobody_there"), std::string::npos);

    const Answered changed =
        scheduler.Put("/api/v1/alert-channels/team", R"({"kind": "webhook", "template": "slack"})");
    ASSERT_EQ(changed.status, 200) << changed.body;
    EXPECT_EQ(changed.Text("target"), "https://hooks.example.com") << "the address stays";
    EXPECT_TRUE(changed.json.at("signed").as_bool()) << "so does the secret";
    EXPECT_EQ(changed.Text("template"), "slack");

    ASSERT_EQ(scheduler.Delete("/api/v1/alert-rules/nobody_there").status, 204);
    EXPECT_EQ(scheduler.Delete("/api/v1/alert-channels/team").status, 204);
    EXPECT_EQ(scheduler.Get("/api/v1/alert-channels/team").status, 404);
    EXPECT_EQ(scheduler.Delete("/api/v1/alert-channels/team").status, 404);
}

// A reader of the page of channels, of the audit or of an answer learns nothing that opens a door.
TEST(AlertChannelsApi, NothingSecretIsShown) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    std::string seen = scheduler.Put("/api/v1/alert-channels/team", kHook).body;
    seen += scheduler
                .Put("/api/v1/alert-channels/mail",
                     R"({"kind": "email", "url": "smtp://mail.example.com:587", "user": "takt",
                         "password": "very-secret", "from": "t@example.com", "to": ["o@example.com"]})")
                .body;
    for (const char* path : {"/api/v1/alert-channels", "/api/v1/alert-channels/team",
                             "/api/v1/alert-channels/mail", "/api/v1/audit"}) {
        const Answered answer = scheduler.Get(path);
        EXPECT_EQ(answer.status, 200) << path;
        seen += answer.body;
    }
    EXPECT_NE(seen.find("o@example.com"), std::string::npos);
    EXPECT_EQ(seen.find("very-secret"), std::string::npos);
    EXPECT_EQ(seen.find("s3cret"), std::string::npos);
}

// Somebody points the team's channel elsewhere: the audit says that, and not where to.
TEST(AlertChannelsApi, TheAuditTellsThatWhatIsHiddenChanged) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    const auto hook = [](const std::string& url, const std::string& secret) {
        return R"({"kind": "webhook", "url": ")" + url + R"(", "secret": ")" + secret + R"("})";
    };
    const std::string path = "/api/v1/alert-channels/team";
    ASSERT_EQ(scheduler.Put(path, hook("https://h.example.com/one", "a")).status, 201);
    ASSERT_EQ(scheduler.Put(path, hook("https://h.example.com/two", "a")).status, 200);
    ASSERT_EQ(scheduler.Put(path, hook("https://h.example.com/two", "b")).status, 200);
    const auto after = [&](std::size_t index) {
        const auto items = scheduler.Get("/api/v1/audit").json.at("items").as_array();
        return items.at(index).at("after").as_object();
    };
    EXPECT_EQ(after(1).at("url").as_string(), "(hidden, changed)");
    EXPECT_EQ(after(1).at("secret").as_string(), "(hidden)");
    EXPECT_EQ(after(0).at("url").as_string(), "(hidden)");
    EXPECT_EQ(after(0).at("secret").as_string(), "(hidden, changed)");
}

// A rule that names a channel, and that channel's end, come in the same moment from two people. Both
// were taken, and the rule told nobody.
TEST(AlertChannelsApi, ARuleNeverNamesAChannelThatIsGone) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    const std::string channel = "/api/v1/alert-channels/team";
    const std::string rule = "/api/v1/alert-rules/r";
    int refused_rules = 0;
    for (int round = 0; round < 60; ++round) {
        ASSERT_EQ(scheduler.Put(channel, kHook).status, 201);
        int put = 0;
        std::latch begin(2);
        std::thread other([&] {
            begin.arrive_and_wait();
            put = scheduler
                      .Put(rule, R"({"metric": "tasks_pending", "operator": ">", "threshold": 5,
                                     "channels": ["team"]})")
                      .status;
        });
        begin.arrive_and_wait();
        const int gone = scheduler.Delete(channel).status;
        other.join();
        const bool named = put == 201 && gone == 409;
        const bool missed = put == 400 && gone == 204;
        ASSERT_TRUE(named || missed) << put << " and " << gone;
        refused_rules += missed;
        if (!named) continue;
        ASSERT_EQ(scheduler.Delete(rule).status, 204);
        ASSERT_EQ(scheduler.Delete(channel).status, 204);
    }
    RecordProperty("refused_rules", refused_rules);
}

// An administrator of one namespace points a channel at a server of their own, to be sent the secret.
TEST(AlertChannelsApi, ASecretGoesToNoOtherServerThanItWasGivenFor) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    ASSERT_EQ(scheduler
                  .Put("/api/v1/alert-channels/mail",
                       R"({"kind": "email", "url": "smtp://mail.example.com:587", "user": "takt",
                         "password": "pw", "from": "t@example.com", "to": ["o@example.com"]})")
                  .status,
              201);
    const Answered moved =
        scheduler.Put("/api/v1/alert-channels/mail",
                      R"({"kind": "email", "url": "smtp://mine.example.net:25", "user": "takt",
            "from": "t@example.com", "to": ["o@example.com"]})");
    EXPECT_EQ(moved.status, 400);
    EXPECT_EQ(moved.Text("field"), "password");
    for (const char* opens :
         {R"("smtp://mail.example.com:2525")", R"("smtps://mail.example.com:587")",
          R"("smtp://mail.example.com:587", "require_tls": false)"}) {
        const Answered opened = scheduler.Put("/api/v1/alert-channels/mail",
                                              R"({"kind": "email", "url": )" + std::string(opens) +
                                                  R"(, "user": "takt", "from": "t@example.com",
                                                   "to": ["o@example.com"]})");
        EXPECT_EQ(opened.status, 400) << opens;
        EXPECT_EQ(opened.Text("field"), "password");
    }
    const Answered renamed =
        scheduler.Put("/api/v1/alert-channels/mail",
                      R"({"kind": "email", "url": "smtp://mail.example.com:587", "user": "takt",
            "from": "takt@example.com", "to": ["o@example.com"]})");
    EXPECT_EQ(renamed.status, 200) << renamed.body;
}

TEST(AlertChannelsApi, BadInputIsNamed) {
    Ears ears;
    TestScheduler scheduler(Quick(ears));
    AwaitReady(scheduler);
    const auto field = [&](std::string body) {
        const Answered bad = scheduler.Put("/api/v1/alert-channels/x", std::move(body));
        EXPECT_EQ(bad.status, 400) << bad.body;
        return bad.Text("field");
    };
    EXPECT_EQ(field(R"({"url": "https://h/"})"), "kind");
    EXPECT_EQ(field(R"({"kind": "log"})"), "kind");
    EXPECT_EQ(field(R"({"kind": "webhook"})"), "url");
    EXPECT_EQ(field(R"({"kind": "webhook", "url": "ftp://h/"})"), "url");
    EXPECT_EQ(field(R"({"kind": "webhook", "url": "https://h/", "template": "pager"})"),
              "template");
    EXPECT_EQ(
        field(R"({"kind": "email", "url": "smtp://h:25", "from": "a@b.c", "to": ["nobody"]})"),
        "to");
    EXPECT_EQ(field(R"({"kind": "email", "url": "smtp://h:25", "from": "a@b.c", "to": ["a@b.c"],
                        "user": "u"})"),
              "password");
    EXPECT_EQ(field(R"({"kind": "webhook", "url": "https://h/", "ca_file": "/etc/passwd"})"),
              "ca_file");
    // A field of another kind was dropped without a word.
    for (const char* more : {"user", "password", "from"}) {
        EXPECT_EQ(field(R"({"kind": "webhook", "url": "https://h/", ")" + std::string(more) +
                        R"(": "x"})"),
                  more);
    }
    EXPECT_EQ(field(R"({"kind": "webhook", "url": "https://h/", "to": ["a@b.c"]})"), "to");
    for (const char* more : {R"("secret": "x")", R"("template": "slack")"}) {
        EXPECT_NE(field(R"({"kind": "email", "url": "smtp://h:25", "from": "a@b.c", "to": ["a@b.c"],
                            )" +
                        std::string(more) + "}"),
                  "");
    }
    const Answered configured = scheduler.Put("/api/v1/alert-channels/ops", kHook);
    EXPECT_EQ(configured.status, 409) << "it stands in the configuration";
    EXPECT_EQ(scheduler.Delete("/api/v1/alert-channels/log").status, 409);
    EXPECT_EQ(scheduler.Put("/api/v1/alert-channels/x", kHook, {{"If-Match", "\"1\""}}).status,
              412);
}

TEST(AlertChannelsApi, AnotherLeaderKnowsIt) {
    Ears ears;
    auto database = std::make_shared<MemoryDatabase>();
    {
        TestScheduler scheduler(Quick(ears, database));
        AwaitReady(scheduler);
        ASSERT_EQ(scheduler.Put("/api/v1/alert-channels/team", kHook).status, 201);
    }
    TestSchedulerOptions options = Quick(ears, database);
    options.node = "node-b";
    TestScheduler next(std::move(options));
    AwaitReady(next);
    EXPECT_EQ(next.Get("/api/v1/alert-channels/team").Text("target"), "https://hooks.example.com");
    const Answered late = next.Put("/api/v1/alert-channels/team", kHook, {{"If-None-Match", "*"}});
    EXPECT_EQ(late.status, 412);
}

}  // namespace
}  // namespace takt::internal
