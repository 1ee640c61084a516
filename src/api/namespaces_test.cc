// Namespaces over REST: the directory, and that one sees nothing of another.
#include <gtest/gtest.h>

#include "api/access.h"
#include "api/test_realm.h"

namespace takt::internal {
namespace {

constexpr const char* kSpaces = "/api/v1/namespaces";
const std::string kIn = "/api/v1/namespaces/billing/";

std::string Code(const Answered& answer) {
    return answer.Text("code");
}

TEST(Namespaces, DefaultIsThereWithoutAnybodyMakingIt) {
    TestScheduler scheduler;
    const auto list = scheduler.Get(kSpaces);
    ASSERT_EQ(list.status, 200);
    ASSERT_EQ(list.json.at("items").as_array().size(), 1u);
    const auto& entry = list.json.at("items").as_array()[0];
    EXPECT_EQ(entry.at("name").as_string(), "default");
    EXPECT_EQ(entry.at("leader").at("node_id").as_string(), "node-a");
    EXPECT_TRUE(entry.at("quotas").at("workers").is_null());
    EXPECT_EQ(Code(scheduler.Send(HttpMethod::kDelete,
                                  std::string(kSpaces) + "/default?confirm=default")),
              "conflict");
}

TEST(Namespaces, AreMadeChangedAndMarkedForDeletion) {
    TestScheduler scheduler;
    const auto made =
        scheduler.Post(kSpaces, R"({"name": "billing", "quotas": {"workers": 3, "retention": "1d"},
                     "settings": {"timeout": "30s", "strategy": "random"}})");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.Text("name"), "billing");
    EXPECT_EQ(made.json.at("number").as_int64(), 1);
    EXPECT_TRUE(made.json.at("leader").is_null()) << "nobody has heard of it yet";
    EXPECT_EQ(scheduler.Post(kSpaces, R"({"name": "billing"})").status, 409);

    const std::string one = std::string(kSpaces) + "/billing";
    const auto changed = scheduler.Send(HttpMethod::kPatch, one, R"({"quotas": {"workers": null},
        "settings": {"retry_policy": {"max_retries": 1}}})");
    ASSERT_EQ(changed.status, 200) << changed.body;
    const auto read = scheduler.Get(one);
    EXPECT_TRUE(read.json.at("quotas").at("workers").is_null());
    EXPECT_EQ(read.json.at("quotas").at("retention").as_string(), "1d");
    EXPECT_EQ(read.json.at("settings").at("retry_policy").at("max_retries").as_int64(), 1);
    EXPECT_EQ(read.json.at("settings").at("strategy").as_string(), "random");

    EXPECT_EQ(scheduler.Delete(one).status, 400) << "its name was not typed";
    const auto deleted = scheduler.Delete(one + "?confirm=billing");
    EXPECT_EQ(deleted.status, 202);
    EXPECT_EQ(deleted.Text("state"), "deleting");
    EXPECT_EQ(Code(scheduler.Get(std::string(kSpaces) + "/nobody")), "no_namespace");
}

TEST(Namespaces, WhatIsWrongIsNamed) {
    TestScheduler scheduler;
    const std::pair<const char*, const char*> wrong[] = {
        {R"({})", "name"},
        {R"({"name": "Billing"})", "name"},
        {R"({"name": "a", "quota": {}})", "quota"},
        {R"({"name": "a", "quotas": {"workers": 0}})", "quotas.workers"},
        {R"({"name": "a", "quotas": {"worker": 1}})", "quotas.worker"},
        {R"({"name": "a", "settings": {"strategy": "best"}})", "settings.strategy"},
        {R"({"name": "a", "quotas": {"retention": "1h"}, "settings": {"retention": "2h"}})",
         "settings.retention"}};
    for (const auto& [body, field] : wrong) {
        const auto answer = scheduler.Post(kSpaces, body);
        EXPECT_EQ(answer.status, 400) << body;
        EXPECT_EQ(answer.Text("field"), field) << body;
    }
}

// Numbers are part of every serial: there is no 256th.
TEST(Namespaces, ThereCanBe255BesideDefault) {
    TestScheduler scheduler;
    for (int i = 1; i <= 255; ++i) {
        const auto made = scheduler.Post(kSpaces, R"({"name": "n)" + std::to_string(i) + R"("})");
        ASSERT_EQ(made.status, 201) << made.body;
        EXPECT_EQ(made.json.at("number").as_int64(), i);
    }
    EXPECT_EQ(Code(scheduler.Post(kSpaces, R"({"name": "more"})")), "namespaces_full");
}

// Two teams use the same id, queue and unique key, as teams do.
TEST(Namespaces, OneSeesNothingOfAnother) {
    TestScheduler scheduler;
    TestRealm billing(scheduler, "billing", 1);
    const std::string task = R"({"id": "report", "name": "n", "type": "t", "unique_key": "k",
                                 "payload": {"of": )";
    ASSERT_EQ(scheduler.Post(kIn + "tasks", task + R"("billing"}})").status, 201);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/report").status, 404);
    ASSERT_EQ(scheduler.Post("/api/v1/tasks", task + R"("default"}})").status, 201);

    const auto there = scheduler.Get(kIn + "executions/report");
    const auto here = scheduler.Get("/api/v1/namespaces/default/executions/report");
    EXPECT_EQ(there.json.at("parameters").at("of").as_string(), "billing");
    EXPECT_EQ(here.json.at("parameters").at("of").as_string(), "default");
    EXPECT_EQ(scheduler.Post(kIn + "executions/report/cancel").status, 200);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/report").Text("status"), "pending");
    EXPECT_EQ(scheduler.Get(kIn + "executions").json.at("items").as_array().size(), 1u);
    EXPECT_EQ(scheduler.Get(kIn + "queues").json.at("items").as_array().size(), 1u);

    // A generated client has the namespace in its base address.
    const auto same = scheduler.Get("/namespaces/billing/api/v1/executions/report");
    EXPECT_EQ(same.json.at("parameters").at("of").as_string(), "billing");
    EXPECT_EQ(Code(scheduler.Get("/namespaces/billing/api/v1/tokens")), "no_route");
    EXPECT_EQ(Code(scheduler.Get("/namespaces/billing/metrics")), "no_route");

    EXPECT_EQ(Code(scheduler.Get("/api/v1/namespaces/nobody/executions")), "no_namespace");
    EXPECT_EQ(Code(scheduler.Get(kIn + "tokens")), "no_route") << "those are the cluster's";
    EXPECT_EQ(Code(scheduler.Get(kIn + "scheduler/status")), "no_route");
}

TEST(Namespaces, AnEventNamesIts) {
    TestScheduler scheduler;
    TestRealm billing(scheduler, "billing", 1);
    TestStream stream(scheduler.address() + kIn + "events");
    stream.AwaitHead();
    ASSERT_EQ(scheduler.Post(kIn + "tasks", R"({"id": "a", "name": "n"})").status, 201);
    ASSERT_EQ(scheduler.Post("/api/v1/tasks", R"({"id": "b", "name": "n"})").status, 201);
    ASSERT_EQ(scheduler.Post(kIn + "tasks", R"({"id": "c", "name": "n"})").status, 201);
    EXPECT_TRUE(stream.Await(R"("execution_id":"c")"));
    EXPECT_NE(stream.text().find(R"("namespace":"billing")"), std::string::npos);
    EXPECT_EQ(stream.text().find(R"("execution_id":"b")"), std::string::npos);
}

// A token that is for one namespace means that one, and opens no other.
TEST(Namespaces, ATokenIsForOneOrForAll) {
    TestScheduler scheduler;
    TestRealm billing(scheduler, "billing", 1);
    const auto token = [&](std::string body, HttpHeaderList headers = {}) {
        const auto made = scheduler.Post("/api/v1/tokens", std::move(body), std::move(headers));
        EXPECT_EQ(made.status, 201) << made.body;
        return HttpHeaderList{{"Authorization", "Bearer " + made.Text("token")}};
    };
    const auto all = token(R"({"name": "root", "role": "admin"})");
    const auto one = token(R"({"name": "b", "role": "admin", "namespace": "billing"})", all);
    ASSERT_EQ(scheduler.Post("/api/v1/tasks", R"({"id": "a", "name": "n"})", one).status, 201);
    EXPECT_EQ(scheduler.Get(kIn + "executions/a", all).status, 200);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/a", all).status, 404) << "all means default";
    EXPECT_EQ(Code(scheduler.Get("/api/v1/namespaces/default/executions", one)), "forbidden");
    EXPECT_EQ(Code(scheduler.Post(kSpaces, R"({"name": "mine"})", one)), "forbidden");
    ASSERT_EQ(scheduler.Post(kSpaces, R"({"name": "billing"})", all).status, 201);
    EXPECT_EQ(scheduler.Get(kSpaces, one).json.at("items").as_array().size(), 1u);

    // The names of other namespaces are nobody else's business.
    const auto leads = [&](const HttpHeaderList& who) {
        std::string names;
        const auto status = scheduler.Get("/api/v1/scheduler/status", who).json;
        for (const auto& node : status.at("nodes").as_array()) {
            for (const auto& name : node.at("leads").as_array()) {
                names += std::string(name.as_string()) + " ";
            }
        }
        return names;
    };
    EXPECT_TRUE(leads(all).contains("default")) << leads(all);
    EXPECT_FALSE(leads(one).contains("default")) << leads(one);

    // Its administrator makes, sees and revokes those of his own namespace only.
    const auto made = scheduler.Post("/api/v1/tokens", R"({"name": "w", "role": "worker"})", one);
    EXPECT_EQ(made.Text("namespace"), "billing");
    EXPECT_EQ(Code(scheduler.Post("/api/v1/tokens",
                                  R"({"name": "w", "role": "viewer", "namespace": "*"})", one)),
              "forbidden");
    EXPECT_EQ(scheduler.Get("/api/v1/tokens", one).json.at("items").as_array().size(), 2u);
    EXPECT_EQ(scheduler.Get("/api/v1/tokens", all).json.at("items").as_array().size(), 3u);
    for (const auto& item : scheduler.Get("/api/v1/tokens", all).json.at("items").as_array()) {
        if (item.at("name").as_string() != "root") continue;
        const std::string root = "/api/v1/tokens/" + std::string(item.at("id").as_string());
        EXPECT_EQ(scheduler.Delete(root, one).status, 404);
    }
}

// A team leaves and its namespace is deleted; another one gets the same name. The first team's tokens
// are still around.
TEST(Namespaces, TokensOfADeletedOneDoNotOpenItsSuccessor) {
    TestScheduler scheduler;
    auto billing = std::make_unique<TestRealm>(scheduler, "billing", 1, SpaceMark{.id = 7});
    const auto token = [&](std::string body, HttpHeaderList headers = {}) {
        const auto made = scheduler.Post("/api/v1/tokens", std::move(body), std::move(headers));
        EXPECT_EQ(made.status, 201) << made.body;
        return HttpHeaderList{{"Authorization", "Bearer " + made.Text("token")}};
    };
    const auto all = token(R"({"name": "root", "role": "admin"})");
    const std::string for_one = R"({"name": "b", "role": "admin", "namespace": "billing"})";
    const auto first = token(for_one, all);
    ASSERT_EQ(scheduler.Get("/api/v1/executions", first).status, 200);
    billing.reset();
    billing = std::make_unique<TestRealm>(scheduler, "billing", 2, SpaceMark{.id = 9});

    for (const std::string& path :
         {std::string("/api/v1/executions"), kIn + "executions", std::string("/api/v1/tokens")}) {
        const auto refused = scheduler.Get(path, first);
        EXPECT_EQ(refused.status, 401) << path;
        EXPECT_NE(refused.body.find("a namespace 'billing' that was deleted"), std::string::npos)
            << refused.body;
    }
    EXPECT_EQ(scheduler.Post("/api/v1/tokens", for_one, first).status, 401);
    const auto second = token(for_one, all);
    EXPECT_EQ(scheduler.Get(kIn + "executions", second).status, 200);
    EXPECT_EQ(scheduler.Get(kIn + "executions", all).status, 200);
}

// Tokens that were made before they said the id of their namespace go on to hold for the one that there
// was then.
TEST(Namespaces, AnOldTokenIsForTheOneOfItsTime) {
    const Time made(std::chrono::hours(1000));
    const AccessToken old{.space = "billing", .created_at = made};
    EXPECT_FALSE(IsForEarlier(old, {.id = 3, .created_at = made - std::chrono::hours(1)}));
    EXPECT_FALSE(IsForEarlier(old, {.id = 3, .created_at = made + std::chrono::seconds(59)}))
        << "clocks differ";
    EXPECT_TRUE(IsForEarlier(old, {.id = 3, .created_at = made + std::chrono::hours(1)}));
    EXPECT_FALSE(IsForEarlier(old, {})) << "default was always there";

    AccessToken token{.space = "billing", .space_id = 3, .created_at = made};
    EXPECT_FALSE(IsForEarlier(token, {.id = 3, .created_at = made + std::chrono::hours(1)}));
    EXPECT_TRUE(IsForEarlier(token, {.id = 4, .created_at = made - std::chrono::hours(1)}));
    EXPECT_EQ(DecodeToken("x", EncodeToken(token))->space_id, 3u);
    EXPECT_EQ(DecodeToken("x", EncodeToken(old))->space_id, 0u);
}

}  // namespace
}  // namespace takt::internal
