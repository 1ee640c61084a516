// Executors through the REST API of a whole server.
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <thread>

#include "server/executors_fixture.h"
#include "tests/support/stack.h"

namespace takt::internal {
namespace {

// A registration is written by hand, by people and by programs with faults.
TEST_F(ExecutorsTest, ABadRegistrationIsRefusedByFieldAndLeavesNothing) {
    const std::map<std::string, std::string> cases = {
        {Registration(R"(,"capacity":0)"), "capacity"},
        {Registration(R"(,"capacity":1e400)"), ""},
        {Registration(R"(,"capacity":"ten")"), "capacity"},
        {Registration(R"(,"weight":-1)"), "weight"},
        {Registration(R"(,"wieght":1)"), "wieght"},
        {Registration(R"(,"labels":[])"), "labels"},
        {Registration(R"(,"tasks":{})"), "tasks"},
        {Registration(R"(,"tasks":[7])"), "tasks[0]"},
        {Registration(R"(,"tasks":[{"cron":"0 0 2 * * *"}])"), "tasks[0].task_name"},
        {Registration(R"(,"tasks":[{"name":""}])"), "tasks[0].name"},
        {Registration(R"(,"tasks":[{"task_name":"a","cron":"61 * * * *"}])"), "tasks[0].cron"},
        {Registration(R"(,"tasks":[{"task_name":"a","cron_expression":"61 * * * *"}])"),
         "tasks[0].cron_expression"},
        {Registration(R"(,"tasks":[{"task_name":"a"},{"task_name":"b","timeout":3}])"),
         "tasks[1].timeout"},
        {Registration(R"(,"tasks":[{"task_name":"a","id":"x","cron":"@daily"}])"), "tasks[0].id"},
        {Registration(
             R"(,"tasks":[{"task_name":"a","cron":"@daily"},{"task_name":"a","cron":"@daily"}])"),
         "tasks[1].task_name"},
        {Registration(R"(,"tasks":[{"task_name":"a"},{"task_name":"b"},{"task_name":"a"}])"),
         "tasks[2].task_name"},
        {Registration(R"(,"health_check_url":"http://127.0.0.1:10/health")"), "health_check_url"},
        {Registration(R"(,"health_check_url":"http://10.0.0.1/health")"), "health_check_url"},
        {R"({"name":"reports","instance_id":"../r","base_url":"http://127.0.0.1:9"})",
         "instance_id"},
        {R"({"name":"reports","base_url":"http://127.0.0.1:9"})", "instance_id"},
        {R"({"instance_id":"r-1","base_url":"http://127.0.0.1:9"})", "name"},
        {R"({"name":"reports","instance_id":"r-1"})", "base_url"},
        {R"({"name":"reports","instance_id":"r-1","base_url":"http://169.254.169.254"})",
         "base_url"},
        {R"({"name":"reports","instance_id":"r-1","base_url":"http://u:p@127.0.0.1"})", "base_url"},
        {R"({"name":"reports","instance_id":"r-1","base_url":"http://example.com"})", "base_url"},
        {R"({"name":"reports","instance_id":"r-1","base_url":"http://127.0.0.1/?a=b"})",
         "base_url"},
        {R"({"name":"reports","instance_id":"r-1","base_url":"gopher://127.0.0.1"})", "base_url"},
    };
    for (const auto& [body, field] : cases) {
        const HttpAnswer answer = Register(body);
        EXPECT_EQ(answer.status, 400) << body << answer.body;
        if (!field.empty()) EXPECT_EQ(Field(answer, "field"), field) << body << answer.body;
    }
    EXPECT_EQ(Get("/api/v1/executors").body, R"({"items":[],"next_cursor":null})");
    EXPECT_EQ(Get("/api/v1/tasks").body, R"({"items":[],"next_cursor":null})");
}

// A person who reads the log of a service that cannot register finds the fault in one sentence.
TEST_F(ExecutorsTest, WhatIsWrongWithATaskOfARegistrationReadsAsASentence) {
    const std::pair<std::string, std::string> cases[] = {
        {R"({"task_name":"b","cron":"61 * * * *"})", "tasks[1].cron: column 1 (minute): "},
        {R"({"task_name":"b","cron":"@daily","timezone":"Mars/Base"})",
         "tasks[1].timezone: there is no time zone "},
        {R"({"task_name":"b","cron":"@daily","timeout":0})", "tasks[1].timeout must be "},
        {R"({"task_name":"b","cron":"@daily","tiemout":5})",
         "tasks[1].tiemout: there is no field 'tiemout'; did you mean"},
        {R"({"cron":"@daily"})", "tasks[1].task_name is missing"},
        {R"(7)", "tasks[1] must be a JSON object"},
    };
    for (const auto& [task, says] : cases) {
        const HttpAnswer answer =
            Register(Registration(R"(,"tasks":[{"task_name":"a"},)" + task + "]"));
        EXPECT_EQ(answer.status, 400) << answer.body;
        EXPECT_TRUE(Field(answer, "detail").starts_with(says)) << answer.body;
    }
}

// A service starts: its task is there under an id that people can read, and follows its changes.
TEST_F(ExecutorsTest, RegisteringBringsTasksAndRegisteringAgainUpdatesThem) {
    const HttpAnswer first = Register(
        Registration(R"(,"tasks":[{"task_name":"daily","cron":"0 0 2 * * *","timeout":300}])"));
    ASSERT_EQ(first.status, 200) << first.body;
    const HttpAnswer task = Get("/api/v1/tasks/reports.daily");
    ASSERT_EQ(task.status, 200) << task.body;
    EXPECT_EQ(Field(task, "executor"), "reports");
    EXPECT_EQ(Field(task, "type"), "daily");

    const HttpAnswer second = Register(
        Registration(R"(,"tasks":[{"task_name":"daily","cron":"0 0 3 * * *","enabled":false}])"));
    ASSERT_EQ(second.status, 200) << second.body;
    EXPECT_EQ(Field(Get("/api/v1/tasks/reports.daily"), "cron_expression"), "0 0 3 * * *");
    EXPECT_NE(Get("/api/v1/tasks/reports.daily").body.find(R"("enabled":false)"),
              std::string::npos);
}

// A job for the weeks of a campaign that is over: refused when it is new, and only then
// (RecurringTest has the change of one that has ended).
TEST_F(ExecutorsTest, ANewTaskThatWouldNeverFireIsRefused) {
    const HttpAnswer refused = Register(Registration(
        R"(,"tasks":[{"task_name":"daily","interval":"1h","end_at":"2020-01-01T00:00:00Z"}])"));

    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_EQ(Field(refused, "field"), "tasks");
    EXPECT_NE(refused.body.find("never fire"), std::string::npos) << refused.body;
    EXPECT_EQ(Get("/api/v1/executors/r-1").status, 404);
}

// Somebody has an executor's token and would like more: the name that a worker with a shell goes
// by, or the place of a task that an operator made.
TEST_F(ExecutorsTest, ARegistrationTakesNeitherAWorkersNameNorAnOperatorsTask) {
    testing_support::RawWorker worker(server_->url());
    auto hello = testing_support::RawWorker::Hello("w-1");
    hello.mutable_hello()->set_group("gpu");
    worker.Send(hello);
    ASSERT_TRUE(worker.Next().has_welcome());
    for (const std::string name : {"w-1", "gpu"}) {
        const HttpAnswer refused =
            Register(R"({"name":")" + name +
                     R"(","instance_id":"r-1","base_url":"http://127.0.0.1:9",)"
                     R"("tasks":[{"task_name":"a","type":"shell","cron":"@daily"}]})");
        EXPECT_EQ(refused.status, 409) << refused.body;
        EXPECT_EQ(Field(refused, "field"), "name");
    }
    EXPECT_EQ(Get("/api/v1/tasks").body, R"({"items":[],"next_cursor":null})");

    ASSERT_EQ(Send(HttpMethod::kPost, "/api/v1/tasks",
                   R"({"id":"reports.daily","name":"mine","cron_expression":"@daily"})")
                  .status,
              201);
    const HttpAnswer refused =
        Register(Registration(R"(,"tasks":[{"task_name":"daily","cron":"0 0 2 * * *"}])"));
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(Field(refused, "field"), "tasks");
    EXPECT_EQ(Field(Get("/api/v1/tasks/reports.daily"), "name"), "mine");
    EXPECT_EQ(Get("/api/v1/executors/r-1").status, 404);
}

// The name was free when the executor took it; the worker that has it for its group came later.
TEST_F(ExecutorsTest, ATaskThatAnExecutorBroughtNeverRunsOnAStreamWorker) {
    ASSERT_EQ(
        Register(Registration(R"(,"tasks":[{"task_name":"rm","type":"shell","cron":"@yearly"}])"))
            .status,
        200);
    ASSERT_EQ(Send(HttpMethod::kDelete, "/api/v1/executors/r-1").status, 204);
    testing_support::RawWorker worker(server_->url());
    auto hello = testing_support::RawWorker::Hello("w-1", 10);
    hello.mutable_hello()->set_group("reports");
    worker.Send(hello);
    ASSERT_TRUE(worker.Next().has_welcome());
    const HttpAnswer run = Send(HttpMethod::kPost, "/api/v1/tasks/reports.rm/trigger", "{}");
    ASSERT_LT(run.status, 300) << run.body;
    // Younger, so it would come second.
    ASSERT_EQ(Send(HttpMethod::kPost, "/api/v1/tasks",
                   R"({"id":"operators","name":"x","executor":"reports"})")
                  .status,
              201);
    worker::v1::SchedulerFrame frame;
    for (int i = 0; i < 100 && frame.assigns_size() == 0; ++i) frame = worker.Next();
    ASSERT_EQ(frame.assigns_size(), 1);
    EXPECT_EQ(frame.assigns(0).attempt().execution_id(), "operators");
}

// An operator's day: look, set aside, bring back, remove.
TEST_F(ExecutorsTest, StatusHeartbeatAndRemovalAnswerWithWhatBecameOfIt) {
    ASSERT_EQ(Register(Registration("")).status, 200);
    const std::string path = "/api/v1/executors/r-1";
    const auto put = [&](const std::string& body) {
        return Send(HttpMethod::kPut, path + "/status", body);
    };
    EXPECT_EQ(Field(put(R"({"status":"maintenance","reason":"upgrade"})"), "status"),
              "maintenance");
    EXPECT_EQ(Field(Get(path), "status_reason"), "upgrade");
    EXPECT_EQ(Field(put(R"({"status":"offline"})"), "status"), "offline");
    EXPECT_EQ(Field(put(R"({"status":"online"})"), "status"), "online");
    EXPECT_EQ(put(R"({"status":"draining"})").status, 400);
    EXPECT_EQ(put(R"({"reason":"x"})").status, 400);
    EXPECT_EQ(Send(HttpMethod::kPost, path + "/heartbeat").status, 200);
    EXPECT_EQ(Send(HttpMethod::kPost, path + "/heartbeat", R"({"cpu":2})").status, 400);
    EXPECT_EQ(Send(HttpMethod::kPost, "/api/v1/executors/r-2/heartbeat").status, 404);
    EXPECT_EQ(Send(HttpMethod::kDelete, path).status, 204);
    EXPECT_EQ(Get(path).status, 404);
    EXPECT_EQ(Send(HttpMethod::kDelete, path).status, 404);
}

// A callback from who knows where.
TEST_F(ExecutorsTest, CallbacksWithoutARightTokenAreRefusedWithAReason) {
    const std::string path = "/api/v1/executions/e-1/callback";
    const std::string token(32, 'a');
    const auto call = [&](const std::string& body, HttpHeaderList headers = {}) {
        return Send(HttpMethod::kPost, path, body, std::move(headers)).status;
    };
    EXPECT_EQ(call(R"({"status":"success"})"), 401);
    EXPECT_EQ(call(R"({"status":"success","token":"short"})"), 401);
    EXPECT_EQ(call(R"({"status":"success"})", {{"X-Takt-Token", token}}), 401);
    EXPECT_EQ(call(R"({"status":"success","token":")" + token + "\"}"), 401);
    EXPECT_EQ(call("{not json", {{"X-Takt-Token", token}}), 401) << "it was not worth reading";
    EXPECT_EQ(call(R"({"status":"done"})"), 400);
    const auto unknown =
        Send(HttpMethod::kPost, path, R"({"status":"success"})", {{"X-Takt-Token", token}});
    EXPECT_EQ(
        Send(HttpMethod::kPost, "/api/v1/tasks", R"({"id":"e-1","name":"waits","delay":"1h"})")
            .status,
        201);
    const auto known =
        Send(HttpMethod::kPost, path, R"({"status":"success"})", {{"X-Takt-Token", token}});
    EXPECT_EQ(known.status, 401);
    EXPECT_EQ(Field(known, "detail"), Field(unknown, "detail")) << "which ids exist is not told";
}

// A log line from who knows where.
TEST_F(ExecutorsTest, LogsWithoutARightTokenAreRefusedWithAReason) {
    const std::string path = "/api/v1/executions/e-1/log";
    const std::string token(32, 'a');
    const auto call = [&](const std::string& body, HttpHeaderList headers = {}) {
        return Send(HttpMethod::kPost, path, body, std::move(headers)).status;
    };
    EXPECT_EQ(call(R"({"lines":"x"})"), 401);
    EXPECT_EQ(call(R"({"lines":7})", {{"X-Takt-Token", token}}), 401);
    EXPECT_EQ(call(R"({"lines":7})"), 400);
    EXPECT_EQ(
        Send(HttpMethod::kPost, "/api/v1/tasks", R"({"id":"e-1","name":"waits","delay":"1h"})")
            .status,
        201);
    EXPECT_EQ(call(R"({"lines":"x"})", {{"X-Takt-Token", token}}), 401);
}

// Programs are made from it.
TEST_F(ExecutorsTest, OpenApiDescribesEveryRouteOfExecutors) {
    const auto json = boost::json::parse(Get("/openapi.json").body);
    const auto& paths = json.at("paths").as_object();
    for (const char* path :
         {"/api/v1/executors", "/api/v1/executors/register", "/api/v1/executors/{id}",
          "/api/v1/executors/{id}/status", "/api/v1/executors/{id}/heartbeat",
          "/api/v1/executions/{id}/callback", "/api/v1/executions/{id}/log"}) {
        EXPECT_TRUE(paths.contains(path)) << path;
    }
    const auto& schemas = json.at("components").at("schemas").as_object();
    for (const char* schema : {"Registration", "Executor", "ExecutorList", "ExecutorLoad",
                               "ExecutorStatus", "Callback", "CallbackAnswer", "ExecutorNews"}) {
        EXPECT_TRUE(schemas.contains(schema)) << schema;
    }
}

// A namespace may have one worker: the second is told which bound it met, and who may raise it.
TEST_F(ExecutorsTest, ARegistrationBeyondTheQuotaNamesTheQuota) {
    const std::string space = "/api/v1/namespaces/small";
    ASSERT_EQ(Send(HttpMethod::kPost, "/api/v1/namespaces",
                   R"({"name": "small", "quotas": {"workers": 1}})")
                  .status,
              201);
    while (Send(HttpMethod::kPost, space + "/executors/nobody/heartbeat").status == 503) {
        std::this_thread::yield();
    }
    const auto put = [&](const std::string& id) {
        return Send(
            HttpMethod::kPost, space + "/executors/register",
            R"({"name": "pay", "base_url": "http://127.0.0.1:1", "instance_id": ")" + id +
                (id == "one" ? "\"}"
                             : R"(", "tasks": [{"task_name": "report", "cron": "@daily"}]})"));
    };
    EXPECT_EQ(put("one").status, 200);
    const HttpAnswer refused = put("two");
    EXPECT_EQ(refused.status, 429);
    const auto problem = boost::json::parse(refused.body);
    EXPECT_EQ(problem.at("field").as_string(), "quotas.workers");
    EXPECT_NE(problem.at("detail").as_string().find("its quota workers (1)"), std::string::npos);
    EXPECT_EQ(put("one").status, 200) << "it is there already";
    const auto tasks = boost::json::parse(Get(space + "/tasks").body);
    EXPECT_TRUE(tasks.at("items").as_array().empty()) << "whoever is refused has changed nothing";
}

}  // namespace
}  // namespace takt::internal
