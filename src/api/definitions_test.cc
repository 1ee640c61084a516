// Definitions over REST: what they would become, and who owns what came of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/definition_kind.h"
#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kCheck = "/api/v1/definitions/check";
constexpr const char* kOwned = "/api/v1/definitions/owned";

std::string ItemOf(const std::string& kind, const std::string& name,
                   const std::string& definition) {
    return R"({"items": [{"kind": ")" + kind + R"(", "name": ")" + name + R"(", "definition": )" +
           definition + "}]}";
}

std::vector<std::string> FieldsAtFault(const Answered& answer) {
    std::vector<std::string> fields;
    for (const auto& mistake : answer.json.at("items").as_array()[0].at("mistakes").as_array()) {
        fields.emplace_back(mistake.at("field").as_string());
    }
    return fields;
}

TEST(Definitions, ATaskIsShownAsAnswersHaveIt) {
    TestScheduler scheduler;
    const auto checked = scheduler.Post(
        kCheck, ItemOf("task", "a", R"({"id": "a", "name": "a", "every": 90, "timeout": "2m",
                       "priority": "high", "max_retry": 2, "payload": {"x": 1.50}})"));
    ASSERT_EQ(checked.status, 200) << checked.body;
    EXPECT_THAT(checked.body, HasSubstr(R"("parameters":{"x": 1.50})"));
    const auto& shown = checked.json.at("items").as_array()[0].at("shown");
    EXPECT_EQ(shown.at("interval").as_string(), "1m30s");
    EXPECT_EQ(shown.at("timeout_seconds").as_int64(), 120);
    EXPECT_EQ(shown.at("retry_policy").at("max_retries").as_int64(), 2);
    EXPECT_TRUE(shown.at("enabled").as_bool());
    EXPECT_FALSE(shown.as_object().contains("version"));
    EXPECT_FALSE(shown.as_object().contains("max_retry"));
    EXPECT_EQ(scheduler.Get("/api/v1/tasks/a").status, 404) << "nothing is made";

    // A task that is made from it has the same fields.
    const std::string body = boost::json::serialize(shown);
    const auto made = scheduler.Send(HttpMethod::kPut, "/api/v1/tasks/a", body);
    ASSERT_EQ(made.status, 201) << made.body;
    for (const auto& [name, value] : shown.as_object()) {
        EXPECT_EQ(made.json.at(name), value) << name;
    }
}

// Definitions that an owner's files no longer have go by the rights of the one who applies them.
TEST(Definitions, NobodySaysWhoOwnsWhatTheyCouldNotDelete) {
    TestScheduler scheduler;
    const auto token = [&](std::string body, HttpHeaderList headers = {}) {
        const auto made = scheduler.Post("/api/v1/tokens", std::move(body), std::move(headers));
        EXPECT_EQ(made.status, 201) << made.body;
        return HttpHeaderList{{"Authorization", "Bearer " + made.Text("token")}};
    };
    const auto all = token(R"({"name": "root", "role": "admin"})");
    const auto admin = token(R"({"name": "a", "role": "admin", "namespace": "default"})", all);
    const auto operates = token(R"({"name": "o", "role": "operator"})", all);
    const auto claim = [](const char* kind, const char* verb = "claim") {
        return R"({"owner": "plat", ")" + std::string(verb) + R"(": [{"kind": ")" + kind +
               R"(", "name": "x"}]})";
    };
    for (const char* verb : {"claim", "release"}) {
        EXPECT_EQ(scheduler.Post(kOwned, claim("task", verb), operates).status, 200);
        EXPECT_EQ(scheduler.Post(kOwned, claim("alert_rule", verb), operates).status, 403);
        EXPECT_EQ(scheduler.Post(kOwned, claim("alert_rule", verb), admin).status, 200);
        EXPECT_EQ(scheduler.Post(kOwned, claim("namespace", verb), operates).status, 403);
        EXPECT_EQ(scheduler.Post(kOwned, claim("namespace", verb), admin).status, 403);
        EXPECT_EQ(scheduler.Post(kOwned, claim("namespace", verb), all).status, 200);
    }
    const auto audit = scheduler.Get("/api/v1/audit?limit=100", all);
    EXPECT_THAT(audit.body, HasSubstr("namespace/x")) << "what was claimed is told";
}

TEST(Definitions, AllMistakesAreTold) {
    TestScheduler scheduler;
    const auto fields = [&](const char* kind, const std::string& definition) {
        const auto answer = scheduler.Post(kCheck, ItemOf(kind, "a", definition));
        EXPECT_EQ(answer.status, 200) << answer.body;
        return FieldsAtFault(answer);
    };
    EXPECT_THAT(fields("task", R"({"name": "", "priority": 17, "quue": "x", "steps": [
                    {"name": "one", "shards": 0}, {"nme": "two"}, {"name": "three"}]})"),
                ElementsAre("name", "priority", "quue", "steps[0].shards", "steps[1].nme",
                            "steps[1].name"));
    EXPECT_THAT(fields("task", R"({"name": "a"})"), ElementsAre("cron_expression"));
    EXPECT_THAT(fields("task", R"({"name": "a", "every": "1m", "run_at": "2030-01-01T00:00:00Z"})"),
                ElementsAre("run_at"));
    EXPECT_THAT(fields("queue", R"({"name": "a", "concurrency_max": 0, "rate_limit": 3, "x": 1})"),
                ElementsAre("concurrency_max", "rate_limit", "x"));
    EXPECT_THAT(fields("alert_rule", R"({"name": "a", "severity": "bad", "threshold": "x"})"),
                ElementsAre("severity", "threshold", "metric", "operator"));
    EXPECT_THAT(fields("namespace", R"({"name": "A", "quotas": {"workers": 0}})"),
                ElementsAre("name", "quotas.workers"));
    EXPECT_THAT(fields("task", R"({"id": "a", "name": "a", "cron_expression": "0 0 1 1 * 1999"})"),
                ElementsAre("cron_expression"));
}

TEST(Definitions, OneThatWouldNeverFireIsRefusedOnlyWhenItIsNew) {
    TestScheduler scheduler;
    const std::string over =
        R"({"id": "a", "name": "a", "every": "1h", "end_at": "2001-01-01T00:00:00Z"})";
    const auto old = scheduler.Post(kCheck, ItemOf("task", "a", over));
    EXPECT_THAT(FieldsAtFault(old), ElementsAre());
    std::string body = ItemOf("task", "a", over);
    body.insert(body.find("\"name\""), "\"new\": true, ");
    EXPECT_EQ(FieldsAtFault(scheduler.Post(kCheck, body)).size(), 1u);
}

TEST(Definitions, ATaskThatIsDeletedIsNobodysAnyMore) {
    TestScheduler scheduler;
    const std::string task = R"({"name": "p1", "cron_expression": "0 5 * * *"})";
    ASSERT_EQ(scheduler.Put("/api/v1/tasks/p1", task).status, 201);
    scheduler.Post(kOwned, R"({"owner": "a", "claim": [{"kind": "task", "name": "p1"}]})");
    EXPECT_EQ(scheduler.Get(kOwned).json.at("items").as_array().size(), 1u);
    ASSERT_EQ(scheduler.Delete("/api/v1/tasks/p1").status, 200);
    // The next change comes after it.
    ASSERT_EQ(scheduler.Put("/api/v1/tasks/p1", task).status, 201);
    EXPECT_EQ(scheduler.Get(kOwned).json.at("items").as_array().size(), 0u);
}

TEST(Definitions, WhoOwnsWhatIsWrittenDown) {
    TestScheduler scheduler;
    const auto own = [&](const std::string& body) { return scheduler.Post(kOwned, body); };
    EXPECT_EQ(own(R"({"owner": "a", "claim": [{"kind": "task", "name": "x"},
                     {"kind": "queue", "name": "x"}]})")
                  .json.at("changed")
                  .as_int64(),
              2);
    EXPECT_EQ(own(R"({"owner": "a", "claim": [{"kind": "task", "name": "x"}]})")
                  .json.at("changed")
                  .as_int64(),
              0)
        << "it is its already";
    const auto taken = own(R"({"owner": "b", "claim": [{"kind": "task", "name": "x"}]})");
    EXPECT_EQ(taken.status, 409);
    EXPECT_THAT(taken.Text("detail"), HasSubstr("task 'x' is owned by 'a'"));
    EXPECT_EQ(own(R"({"owner": "b", "release": [{"kind": "task", "name": "x"}]})")
                  .json.at("changed")
                  .as_int64(),
              0)
        << "another's stays its";
    EXPECT_EQ(own(R"({"owner": "b", "adopt": true, "claim": [{"kind": "task", "name": "x"}]})")
                  .json.at("changed")
                  .as_int64(),
              1);
    const auto list = scheduler.Get(std::string(kOwned) + "?owner=b");
    ASSERT_EQ(list.json.at("items").as_array().size(), 1u);
    EXPECT_EQ(list.json.at("items").as_array()[0].at("kind").as_string(), "task");
    EXPECT_EQ(own(R"({"owner": "b", "release": [{"kind": "task", "name": "x"}]})")
                  .json.at("changed")
                  .as_int64(),
              1);
    EXPECT_EQ(scheduler.Get(kOwned).json.at("items").as_array().size(), 1u);
}

TEST(Definitions, BadBodiesAreNamed) {
    TestScheduler scheduler;
    const auto field = [&](const char* path, const char* body) {
        return scheduler.Post(path, body).Text("field");
    };
    EXPECT_EQ(field(kCheck, R"({"items": [{"kind": "tusk"}]})"), "items[0].kind");
    EXPECT_EQ(field(kCheck, R"({"items": [{"kind": "task", "name": "a"}]})"),
              "items[0].definition");
    EXPECT_EQ(field(kOwned, R"({"owner": "two words"})"), "owner");
    EXPECT_EQ(field(kOwned, R"({"owner": "a", "claim": [{"kind": "task", "name": "/"}]})"),
              "claim[0].name");
}

// Everything that the API takes of a definition an editor knows, and the examples are right by it.
TEST(Definitions, TheSchemaForEditorsTakesWhatTheApiTakes) {
    const auto schema = boost::json::parse(DefinitionSchema());
    const SchemaCheck check(schema);
    const auto fault = [&](const char* document) {
        return check.Fault(boost::json::parse(document), schema, "$");
    };
    EXPECT_EQ(fault(R"({"kind": "task", "name": "a", "cron_expression": "@daily", "timeout": 3})"),
              "");
    EXPECT_EQ(fault(R"({"kind": "workflow", "name": "a", "every": "1h", "namespace": "b",
                        "steps": [{"name": "x", "after": []}]})"),
              "");
    EXPECT_EQ(fault(R"({"kind": "queue", "name": "a", "rate_limit": {"count": 1, "per": "1s"}})"),
              "");
    EXPECT_EQ(fault(R"({"kind": "namespace", "name": "a", "quotas": {"workers": 3}})"), "");
    EXPECT_EQ(fault(R"({"kind": "alert_rule", "name": "a", "metric": "m", "operator": ">",
                        "threshold": 1})"),
              "");
    EXPECT_NE(fault(R"({"kind": "queue", "name": "a", "concurency_max": 1})"), "");
    EXPECT_NE(fault(R"({"kind": "alert_rule", "name": "a"})"), "");
    EXPECT_NE(fault(R"({"kind": "task", "name": "a", "run_at": "2030-01-01T00:00:00Z"})"), "");
    EXPECT_NE(fault(R"({"kind": "workflow", "name": "a", "steps": [{"nme": "x"}]})"), "");
    EXPECT_NE(fault(R"({"name": "a"})"), "");
}

}  // namespace
}  // namespace takt::internal
