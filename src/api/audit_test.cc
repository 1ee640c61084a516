// The audit over REST: what is in it, how it is read, and who may.
#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "api/test_realm.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<boost::json::object> ItemsOf(const Answered& page) {
    std::vector<boost::json::object> items;
    if (!page.json.is_object()) return items;
    for (const auto& item : page.json.at("items").as_array()) items.push_back(item.as_object());
    return items;
}

std::vector<std::string> TargetsOf(const Answered& page) {
    std::vector<std::string> targets;
    for (const auto& item : ItemsOf(page)) {
        const auto& target = item.at("target").as_object();
        targets.push_back(std::string(target.at("kind").as_string()) + "/" +
                          std::string(target.at("id").as_string()));
    }
    return targets;
}

HttpHeaderList AuditBearer(const Answered& token) {
    return {{"Authorization", "Bearer " + token.Text("token")}};
}

constexpr std::string_view kNightly =
    R"({"id": "nightly", "name": "n", "cron_expression": "@daily", "payload": {"a": 1}})";

// An auditor asks who changed the nightly job, and what it was before.
TEST(AuditRest, AChangeIsThereWithWhoAndWhatItWas) {
    TestScheduler scheduler;
    const Answered admin = scheduler.Post("/api/v1/tokens", R"({"name": "ada", "role": "admin"})");
    const HttpHeaderList ada = AuditBearer(admin);
    ASSERT_EQ(scheduler.Post("/api/v1/tasks", std::string(kNightly), ada).status, 201);
    HttpHeaderList traced = ada;
    traced.emplace_back("X-Request-Id", "incident-7");
    ASSERT_EQ(scheduler.Patch("/api/v1/tasks/nightly", R"({"payload": {"a": 2}})", traced).status,
              200);
    const Answered page = scheduler.Get("/api/v1/audit", ada);
    ASSERT_EQ(page.status, 200) << page.body;
    EXPECT_THAT(TargetsOf(page),
                ElementsAre("task/nightly", "task/nightly", "token/" + admin.Text("id")));
    const auto entry = ItemsOf(page).front();
    EXPECT_EQ(entry.at("who").as_string(), "ada");
    EXPECT_EQ(entry.at("token_id").as_string(), admin.Text("id"));
    EXPECT_EQ(entry.at("role").as_string(), "admin");
    EXPECT_EQ(entry.at("action").as_string(), "patch_v1_tasks_id");
    EXPECT_EQ(entry.at("address").as_string(), "127.0.0.1");
    EXPECT_EQ(entry.at("request_id").as_string(), "incident-7");
    EXPECT_EQ(entry.at("namespace").as_string(), "default");
    EXPECT_EQ(entry.at("outcome").as_string(), "done");
    EXPECT_EQ(entry.at("before").at("parameters").at("a").as_int64(), 1);
    EXPECT_EQ(entry.at("after").at("parameters").at("a").as_int64(), 2);
    const auto first = ItemsOf(page).back();
    EXPECT_EQ(first.at("who").as_string(), "open") << "the first token is made by anybody";
    EXPECT_TRUE(first.at("token_id").is_null());
    EXPECT_THAT(page.body, ::testing::Not(HasSubstr(admin.Text("token"))));
    EXPECT_THAT(page.body, ::testing::Not(HasSubstr("hash")));
}

TEST(AuditRest, OnlyAnAdministratorReadsIt) {
    TestScheduler scheduler;
    const HttpHeaderList admin =
        AuditBearer(scheduler.Post("/api/v1/tokens", R"({"name": "a", "role": "admin"})"));
    const HttpHeaderList lesser = AuditBearer(
        scheduler.Post("/api/v1/tokens", R"({"name": "o", "role": "operator"})", admin));
    EXPECT_EQ(scheduler.Get("/api/v1/audit", lesser).status, 403);
    EXPECT_EQ(scheduler.Get("/api/v1/audit", admin).status, 200);
}

TEST(AuditRest, FiltersAndPages) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", std::string(kNightly));
    for (int i = 0; i < 3; ++i) {
        scheduler.Post("/api/v1/tasks/nightly/pause");
        scheduler.Post("/api/v1/tasks/nightly/resume");
    }
    scheduler.Post("/api/v1/queues/mail/pause");
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit")).size(), 8u);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?target=nightly")).size(), 7u);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?target=queue/mail")).size(), 1u);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?target=queue/nightly")).size(), 0u);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?action=pause")).size(), 4u);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?who=open&action=resume")).size(), 3u);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?who=ada")).size(), 0u);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?outcome=refused")).size(), 0u);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?until=2020-01-01T00:00:00Z")).size(), 0u);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?since=2020-01-01T00:00:00Z")).size(), 8u);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?since=2100-01-01T00:00:00Z")).size(), 0u);

    std::vector<std::string> ids;
    std::string cursor;
    int pages = 0;
    do {
        const Answered page = scheduler.Get("/api/v1/audit?limit=3" + cursor);
        for (const auto& item : ItemsOf(page)) ids.emplace_back(item.at("id").as_string());
        cursor = page.json.at("next_cursor").is_null() ? "" : "&cursor=" + page.Text("next_cursor");
    } while (!cursor.empty() && ++pages < 10);
    EXPECT_EQ(ids.size(), 8u);
    EXPECT_TRUE(std::ranges::is_sorted(ids, std::greater{})) << "newest first, none twice";

    const Answered one = scheduler.Get("/api/v1/audit?id=" + ids[4]);
    ASSERT_EQ(ItemsOf(one).size(), 1u);
    EXPECT_EQ(ItemsOf(one).front().at("id").as_string(), ids[4]);

    EXPECT_EQ(scheduler.Get("/api/v1/audit?id=x").status, 400);
    EXPECT_EQ(scheduler.Get("/api/v1/audit?since=yesterday").status, 400);
    EXPECT_EQ(scheduler.Get("/api/v1/audit?outcome=maybe").status, 400);
    EXPECT_EQ(scheduler.Get("/api/v1/audit?format=xml").status, 400);
    EXPECT_EQ(scheduler.Get("/api/v1/audit?cursor=x").status, 400);
}

// A log collector takes it line by line; where a page ended the header says.
TEST(AuditRest, LinesAreTheSameEntries) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", std::string(kNightly));
    scheduler.Post("/api/v1/tasks/nightly/pause");
    scheduler.Post("/api/v1/tasks/nightly/resume");
    const Answered page = scheduler.Get("/api/v1/audit");
    std::string lines;
    std::string cursor;
    for (int i = 0; i < 3; ++i) {
        const Answered part =
            scheduler.Get("/api/v1/audit?limit=1" + cursor, {{"Accept", "application/x-ndjson"}});
        EXPECT_EQ(part.Header("Content-Type"), "application/x-ndjson");
        lines += part.body;
        EXPECT_EQ(part.Header("X-Next-Cursor") != "", i < 2) << "the last page says that it is";
        cursor = "&cursor=" + part.Header("X-Next-Cursor");
    }
    EXPECT_EQ(scheduler.Get("/api/v1/audit?format=jsonl").body, lines);
    EXPECT_EQ(scheduler.Get("/api/v1/audit?format=jsonl").Header("X-Next-Cursor"), "");
    std::string items;
    for (const auto& item : ItemsOf(page)) items += boost::json::serialize(item) + "\n";
    std::string same;
    for (std::size_t at = 0, end = 0; (end = lines.find('\n', at)) != lines.npos; at = end + 1) {
        same += boost::json::serialize(boost::json::parse(lines.substr(at, end - at))) + "\n";
    }
    EXPECT_EQ(same, items);
}

// The change came to a scheduler that does not lead. Whoever writes such a header himself is not
// believed.
TEST(AuditRest, AChangeThatIsPassedOnNamesItsCaller) {
    const auto database = std::make_shared<MemoryDatabase>();
    TestScheduler leader({.database = database});
    TestScheduler follower({.node = "node-b", .database = database, .await_lead = false});
    follower.AwaitLeaderKnown();
    ASSERT_EQ(
        follower.Post("/api/v1/tasks", std::string(kNightly), {{"X-Request-Id", "r-7"}}).status,
        201);
    ASSERT_EQ(leader
                  .Post("/api/v1/tasks/nightly/pause", {},
                        {{"X-Takt-Forwarded", "node-x 192.0.2.7 " + std::string(64, '0')}})
                  .status,
              200);
    const auto entries = ItemsOf(follower.Get("/api/v1/audit"));
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[1].at("via").as_string(), "node-b");
    EXPECT_EQ(entries[1].at("address").as_string(), "127.0.0.1");
    EXPECT_EQ(entries[1].at("request_id").as_string(), "r-7");
    EXPECT_TRUE(entries[0].at("via").is_null());
    EXPECT_EQ(entries[0].at("address").as_string(), "127.0.0.1");
}

// A team reads its own audit, and the operators of the cluster theirs.
TEST(AuditRest, EachNamespaceHasItsOwn) {
    TestScheduler scheduler;
    TestRealm billing(scheduler, "billing", 1);
    const std::string in = "/api/v1/namespaces/billing/";
    ASSERT_EQ(scheduler.Post(in + "tasks", std::string(kNightly)).status, 201);
    ASSERT_EQ(scheduler.Post("/api/v1/queues/mail/pause").status, 200);
    const Answered there = scheduler.Get(in + "audit");
    EXPECT_THAT(TargetsOf(there), ElementsAre("task/nightly"));
    EXPECT_EQ(ItemsOf(there).front().at("namespace").as_string(), "billing");
    EXPECT_THAT(TargetsOf(scheduler.Get("/api/v1/audit")), ElementsAre("queue/mail"));
}

// A route that somebody adds is in the audit, or is said here to be the daily work of programs.
TEST(AuditRest, EveryChangeOfAnOperatorLeavesAnEntry) {
    TestScheduler scheduler;
    const auto ok = [](const Answered& answer) {
        EXPECT_TRUE(answer.status >= 200 && answer.status < 300) << answer.body;
        return answer;
    };
    scheduler.AttachWorker("w", true);
    ok(scheduler.Post("/api/v1/tasks", std::string(kNightly)));
    ok(scheduler.Post("/api/v1/tasks/bulk",
                      R"({"tasks": [{"id": "b", "name": "n", "cron_expression": "@daily"}]})"));
    ok(scheduler.Put("/api/v1/tasks/nightly", std::string(kNightly)));
    ok(scheduler.Patch("/api/v1/tasks/nightly", R"({"priority": 9})"));
    ok(scheduler.Post("/api/v1/tasks/nightly/pause"));
    ok(scheduler.Post("/api/v1/tasks/nightly/resume"));
    const std::string run = ok(scheduler.Post("/api/v1/tasks/nightly/trigger")).Text("id");
    ok(scheduler.Post("/api/v1/tasks/nightly/backfill",
                      R"({"from": "2026-01-01T00:00:00Z", "to": "2026-01-03T00:00:00Z"})"));
    ok(scheduler.Post("/api/v1/executions/" + run + "/cancel"));
    ok(scheduler.Post("/api/v1/executions/" + run + "/retry"));
    ok(scheduler.Put("/api/v1/executions/" + run + "/status", R"({"status": "failed"})"));
    ok(scheduler.Post("/api/v1/executions/retry", R"({"task_id": "nightly"})"));
    ok(scheduler.Post("/api/v1/executions/cancel", R"({"task_id": "nightly"})"));
    ok(scheduler.Put("/api/v1/queues/mail", R"({"concurrency_max": 3})"));
    ok(scheduler.Post("/api/v1/queues/mail/pause"));
    ok(scheduler.Post("/api/v1/queues/mail/resume"));
    ok(scheduler.Post("/api/v1/definitions/owned",
                      R"({"owner": "a", "claim": [{"kind": "queue", "name": "mail"}]})"));
    ok(scheduler.Put("/api/v1/workers/w/capacity", R"({"capacity": 2})"));
    ok(scheduler.Post("/api/v1/workers/w/drain"));
    ok(scheduler.Post("/api/v1/workers/w/resume"));
    ok(scheduler.Delete("/api/v1/workers/w?force=true"));
    ok(scheduler.Put("/api/v1/locks/db", R"({"permits": 2})"));
    ok(scheduler.Post("/api/v1/locks/db/acquire"));
    ok(scheduler.Delete("/api/v1/locks/db"));
    ok(scheduler.Put("/api/v1/scheduler/strategy", R"({"strategy": "random"})"));
    ok(scheduler.Post("/api/v1/scheduler/strategy/reset"));
    ok(scheduler.Put("/api/v1/alert-rules/mine",
                     R"({"metric": "tasks_pending", "operator": ">", "threshold": 1})"));
    ok(scheduler.Post("/api/v1/alert-rules/mine/silence", R"({"duration": "1h"})"));
    ok(scheduler.Delete("/api/v1/alert-rules/mine/silence"));
    ok(scheduler.Delete("/api/v1/alert-rules/mine"));
    ok(scheduler.Put("/api/v1/alert-channels/team", R"({"kind": "webhook", "url": "https://h/"})"));
    ok(scheduler.Delete("/api/v1/alert-channels/team"));
    ok(scheduler.Post("/api/v1/namespaces", R"({"name": "billing"})"));
    ok(scheduler.Patch("/api/v1/namespaces/billing", R"({"quotas": {"workers": 3}})"));
    ok(scheduler.Delete("/api/v1/namespaces/billing?confirm=billing"));
    ok(scheduler.Delete("/api/v1/tasks/nightly"));
    const Answered token =
        ok(scheduler.Post("/api/v1/tokens", R"({"name": "a", "role": "admin"})"));
    ok(scheduler.Delete("/api/v1/tokens/" + token.Text("id"), AuditBearer(token)));

    const std::set<std::string> not_there = {
        "post_v1_locks_name_acquire", "post_v1_locks_name_renew", "post_v1_locks_name_release",
        "post_v1_alert-channels_name_test",
        // Needs an alert; alerts_test has one.
        "post_v1_alerts_id_acknowledge"};
    std::set<std::string> there;
    for (const auto& item : ItemsOf(scheduler.Get("/api/v1/audit?limit=1000"))) {
        there.emplace(item.at("action").as_string());
    }
    for (const Route& route : scheduler.api().routes().routes()) {
        const bool changes =
            route.method != HttpMethod::kGet &&
            (route.permission == Permission::kOperator || route.permission == Permission::kAdmin);
        const std::string name = OperationId(route);
        EXPECT_EQ(there.contains(name), changes && !not_there.contains(name)) << name;
    }
}

// Runs by hand what was to be run a minute later.
struct Minute {
    std::mutex mutex;
    std::condition_variable begun;
    std::vector<std::move_only_function<void()>> actions;

    After after() {
        return [this](Duration delay, std::move_only_function<void()> action) {
            if (delay != 60s) return;
            const std::scoped_lock lock(mutex);
            actions.push_back(std::move(action));
            begun.notify_all();
        };
    }
    void AwaitBegun() {
        std::unique_lock lock(mutex);
        EXPECT_TRUE(begun.wait_for(lock, 10s, [&] { return !actions.empty(); }));
    }
    // On the server's thread, behind everything that was posted to it.
    void Pass(TestScheduler& scheduler) {
        std::promise<std::size_t> passed;
        scheduler.Run([&] {
            std::vector<std::move_only_function<void()>> now;
            {
                const std::scoped_lock lock(mutex);
                now.swap(actions);
            }
            for (auto& action : now) action();
            passed.set_value(now.size());
        });
        EXPECT_EQ(passed.get_future().get(), 1u) << "once for all that are gathered";
    }
};

// A token of the night shift tries every minute what it may not; a stranger too.
TEST(AuditRest, RefusalsOfWhoIsKnownAreOneEntryAMinute) {
    Minute minute;
    TestScheduler scheduler({.after = minute.after()});
    const HttpHeaderList admin =
        AuditBearer(scheduler.Post("/api/v1/tokens", R"({"name": "a", "role": "admin"})"));
    const HttpHeaderList viewer = AuditBearer(
        scheduler.Post("/api/v1/tokens", R"({"name": "night", "role": "viewer"})", admin));
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(scheduler.Post("/api/v1/tasks/x/pause", {}, viewer).status, 403);
        EXPECT_EQ(scheduler.Post("/api/v1/tasks/x/pause").status, 401);
    }
    EXPECT_EQ(scheduler.Get("/api/v1/tokens", viewer).status, 403);
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit?outcome=refused", admin)).size(), 0u);
    minute.Pass(scheduler);
    // An answer of the engine comes after what it was told before.
    ASSERT_EQ(scheduler.Post("/api/v1/queues/mail/pause", {}, admin).status, 200);

    const auto refused = ItemsOf(scheduler.Get("/api/v1/audit?outcome=refused", admin));
    ASSERT_EQ(refused.size(), 2u);
    for (const auto& entry : refused) {
        EXPECT_EQ(entry.at("who").as_string(), "night");
        EXPECT_EQ(entry.at("role").as_string(), "viewer");
        EXPECT_EQ(entry.at("status").as_int64(), 403);
        const bool pause = entry.at("action").as_string() == "post_v1_tasks_id_pause";
        EXPECT_EQ(entry.at("count").as_int64(), pause ? 5 : 1);
        EXPECT_EQ(entry.at("target").at("id").as_string(),
                  pause ? "/api/v1/tasks/x/pause" : "/api/v1/tokens");
    }
}

// The same at a scheduler that does not lead: it tells the leader, which believes nobody else.
TEST(AuditRest, RefusalsElsewhereAreToldToTheLeader) {
    Minute of_leader, of_follower;
    const auto database = std::make_shared<MemoryDatabase>();
    TestScheduler leader({.database = database, .after = of_leader.after()});
    TestScheduler follower({.node = "node-b",
                            .database = database,
                            .await_lead = false,
                            .after = of_follower.after()});
    follower.AwaitLeaderKnown();
    const HttpHeaderList admin =
        AuditBearer(leader.Post("/api/v1/tokens", R"({"name": "a", "role": "admin"})"));
    const HttpHeaderList viewer =
        AuditBearer(leader.Post("/api/v1/tokens", R"({"name": "night", "role": "viewer"})", admin));
    EXPECT_EQ(follower.Get("/api/v1/tokens", viewer).status, 403);
    EXPECT_EQ(follower.Get("/api/v1/tokens", viewer).status, 403);
    of_follower.Pass(follower);
    of_leader.AwaitBegun();
    EXPECT_EQ(leader.Get("/api/v1/tokens", viewer).status, 403);
    const std::string forged =
        R"({"who": "x", "token_id": "x", "action": "x", "status": 403, "count": 9})";
    EXPECT_EQ(leader.Post("/api/v1/audit/refusals", forged).status, 403);
    EXPECT_EQ(leader
                  .Post("/api/v1/audit/refusals", forged,
                        {{"X-Takt-Forwarded", "node-b 10.0.0.1 " + std::string(64, '0')}})
                  .status,
              403);
    of_leader.Pass(leader);
    ASSERT_EQ(leader.Post("/api/v1/queues/mail/resume", {}, admin).status, 200);

    const auto refused = ItemsOf(leader.Get("/api/v1/audit?outcome=refused", admin));
    ASSERT_EQ(refused.size(), 1u) << "those of both schedulers together";
    EXPECT_EQ(refused[0].at("who").as_string(), "night");
    EXPECT_EQ(refused[0].at("count").as_int64(), 3);
}

TEST(AuditRest, OneOffTasksAreTheDailyWorkOfPrograms) {
    TestScheduler scheduler;
    scheduler.Post("/api/v1/tasks", R"({"id": "a", "name": "n"})");
    scheduler.Post("/api/v1/tasks/bulk", R"({"tasks": [{"id": "b", "name": "n"}]})");
    EXPECT_EQ(ItemsOf(scheduler.Get("/api/v1/audit")).size(), 0u);
}

// The console asks what it may show.
TEST(Me, SaysWhoTheCallerIs) {
    TestScheduler scheduler;
    const Answered open = scheduler.Get("/api/v1/me");
    EXPECT_EQ(open.Text("who"), "open");
    EXPECT_EQ(open.Text("role"), "admin");
    EXPECT_EQ(open.Text("namespace"), "*");
    EXPECT_FALSE(open.json.at("access_control").as_bool());
    const HttpHeaderList admin =
        AuditBearer(scheduler.Post("/api/v1/tokens", R"({"name": "a", "role": "admin"})"));
    const Answered worker = scheduler.Post(
        "/api/v1/tokens",
        R"({"name": "w", "role": "worker", "namespace": "default", "expires_in": "1h"})", admin);
    const Answered me = scheduler.Get("/api/v1/me", AuditBearer(worker));
    EXPECT_EQ(me.status, 200) << me.body;
    EXPECT_EQ(me.Text("who"), "w");
    EXPECT_EQ(me.Text("role"), "worker");
    EXPECT_EQ(me.Text("token_id"), worker.Text("id"));
    EXPECT_EQ(me.Text("namespace"), "default");
    EXPECT_EQ(me.Text("expires_at"), worker.Text("expires_at"));
    EXPECT_TRUE(me.json.at("access_control").as_bool());
    EXPECT_EQ(boost::json::serialize(me.json.at("namespaces")), R"(["default"])");
    EXPECT_EQ(scheduler.Get("/api/v1/me").status, 401);
}

}  // namespace
}  // namespace takt::internal
