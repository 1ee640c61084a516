// Workflows by REST: made, refused, watched, cancelled, run again.
#include "api/test_scheduler.h"
#include "model/run_progress.h"

namespace takt::internal {
namespace {

constexpr const char* kEtl =
    R"({"id": "etl", "name": "nightly", "parameters": {"day": 1}, "steps": [
  {"name": "extract", "type": "pull", "payload": {"day": {"$input": "/day"}}},
  {"name": "parts", "after": ["extract"], "shards": 3, "max_retry": 0},
  {"name": "load", "after": ["parts"], "payload": {"all": {"$from": "parts"}},
   "if": {"value": {"$input": "/day"}, "equals": 1}}]})";

TEST(Flows, AWorkflowRunsAndShowsItsSteps) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    const Answered made = scheduler.Post("/api/v1/tasks", kEtl);
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.json.at("steps").as_array().size(), 3u);
    EXPECT_EQ(made.json.at("steps").as_array()[1].at("shards").to_number<int>(), 3);
    scheduler.sink().Await(EventType::kTaskCompleted, "etl");

    const Answered run = scheduler.Get("/api/v1/executions/etl");
    EXPECT_EQ(run.Text("status"), "success");
    EXPECT_TRUE(run.json.at("parent_id").is_null());
    const Answered steps = scheduler.Get("/api/v1/executions/etl/steps");
    ASSERT_EQ(steps.status, 200) << steps.body;
    const auto& items = steps.json.at("items").as_array();
    ASSERT_EQ(items.size(), 3u);
    EXPECT_EQ(items[0].at("name").as_string(), "extract");
    EXPECT_EQ(items[0].at("execution_id").as_string(), "etl~0.0");
    EXPECT_EQ(items[1].at("status").as_string(), "success");
    EXPECT_EQ(items[1].at("executions").at("total").to_number<int>(), 3);
    EXPECT_EQ(items[1].at("executions").at("success").to_number<int>(), 3);
    EXPECT_EQ(items[1].at("result").as_array().size(), 3u) << steps.body;

    const Answered children = scheduler.Get("/api/v1/executions?parent_id=etl");
    ASSERT_EQ(children.json.at("items").as_array().size(), 5u) << children.body;
    const Answered shard = scheduler.Get("/api/v1/executions/etl~1.2");
    EXPECT_EQ(shard.Text("parent_id"), "etl");
    EXPECT_EQ(shard.Text("step"), "parts");
    EXPECT_EQ(shard.json.at("shard").at("index").to_number<int>(), 2);
    EXPECT_EQ(shard.json.at("shard").at("total").to_number<int>(), 3);
    EXPECT_EQ(shard.Text("origin"), "step");
    // Lists show runs; their parts only to who asks for them.
    EXPECT_EQ(scheduler.Get("/api/v1/executions").json.at("items").as_array().size(), 1u);
    EXPECT_EQ(scheduler.Get("/api/v1/executions?children=true").json.at("items").as_array().size(),
              6u);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/etl~0.0/steps").status, 404);
    EXPECT_EQ(scheduler.Get("/api/v1/executions/none/steps").status, 404);
}

TEST(Flows, EachMistakeIsNamed) {
    TestScheduler scheduler;
    const struct {
        const char* steps;
        const char* field;
        const char* detail;
    } cases[] = {
        {R"([{"name": "a", "after": ["b"]}, {"name": "b", "after": ["a"]}])", "steps[0].after[0]",
         "in a circle: 'a' waits for 'b' waits for 'a'"},
        {R"([{"name": "a", "after": ["x"]}])", "steps[0].after[0]", "there is no such step"},
        {R"([{"name": "a", "when": "any_failed"}])", "steps[0].when", "can never begin"},
        {R"([{"name": "a", "payload": {"$from": "b"}}])", "steps[0].payload", "no such step"},
        {R"([{"name": "a", "shards": 10001}])", "steps[0].shards", "10000"},
        {R"([{"name": "a", "cron_expression": "* * * * *"}])", "steps[0].cron_expression",
         "is for whole tasks"},
        {R"([{"name": "a", "naem": 1}])", "steps[0].naem", "did you mean 'name'"},
        {R"([{"type": "a"}])", "steps[0].name", "is missing"},
        {R"([{"name": "a", "if": true}])", "steps[0].if", "must be an object"},
        {R"([{"name": "a", "for_each": 3}])", "steps[0].for_each", "must be a list"},
        {R"([{"name": "a", "task": "t", "max_retry": 3}])", "steps[0].task", "has its own queue"},
        {R"([])", "steps", "at least one step"},
        {R"({})", "steps", "must be a list of steps"},
    };
    for (const auto& [steps, field, detail] : cases) {
        const Answered refused = scheduler.Post(
            "/api/v1/tasks", R"({"name": "flow", "steps": )" + std::string(steps) + "}");
        EXPECT_EQ(refused.status, 400) << steps;
        EXPECT_EQ(refused.Text("field"), field) << refused.body;
        EXPECT_NE(refused.Text("detail").find(detail), std::string::npos) << refused.body;
    }
    const auto refusal = [&](const char* body) {
        return scheduler.Post("/api/v1/tasks", body).Text("field");
    };
    EXPECT_EQ(refusal(R"({"name": "a", "type": "x", "steps": [{"name": "a"}]})"), "type");
    EXPECT_EQ(refusal(R"({"name": "a", "executor": "svc", "steps": [{"name": "a"}]})"), "executor");
    EXPECT_EQ(refusal(R"({"name": "a", "parallel_max": 2, "steps": [{"name": "a"}]})"),
              "parallel_max");
    EXPECT_EQ(refusal(R"({"name": "a", "shards": 2, "steps": [{"name": "a"}]})"), "shards");
    EXPECT_EQ(refusal(R"({"name": "a", "locks": ["x"], "steps": [{"name": "a", "locks": ["y"]}]})"),
              "steps[0].locks");
    EXPECT_EQ(refusal(R"({"name": "a", "min_success": 2})"), "min_success");
    EXPECT_EQ(refusal(R"({"name": "a", "on_failure": "continue"})"), "on_failure");
    EXPECT_EQ(refusal(R"({"name": "a", "id": "run~0.0"})"), "id");
}

// An editor shows all mistakes where they are, at once, before anything is made.
TEST(Flows, AllMistakesAreToldWithoutMakingAnything) {
    TestScheduler scheduler;
    const auto mistakes = [&](const std::string& task) {
        const Answered told = scheduler.Post("/api/v1/tasks/validate", task);
        EXPECT_EQ(told.status, 200) << told.body;
        std::vector<std::string> paths;
        for (const auto& mistake : told.json.at("errors").as_array()) {
            paths.emplace_back(mistake.at("path").as_string());
            EXPECT_FALSE(mistake.at("message").as_string().empty());
        }
        EXPECT_EQ(told.json.at("valid").as_bool(), paths.empty()) << told.body;
        return paths;
    };
    using Paths = std::vector<std::string>;
    EXPECT_EQ(mistakes(kEtl), Paths());
    EXPECT_EQ(scheduler.Get("/api/v1/tasks/etl").status, 404);
    // Two circles, an unknown step, a number and a field that are not there, in one answer.
    EXPECT_EQ(mistakes(R"({"id": "f", "name": "f", "type": "x", "priority": 12, "steps": [
        {"name": "a", "after": ["b"]}, {"name": "b", "after": ["a"]},
        {"name": "c", "after": ["a", "nobody"]}, {"name": "d", "after": ["d"]},
        {"name": "e", "shards": 0, "naem": 1}, 7,
        {"name": "g", "payload": [{"$from": "h"}, {"$item": ""}]}]})"),
              (Paths{"priority", "steps[4].shards", "steps[4].naem", "steps[5]", "type",
                     "steps[0].after[0]", "steps[3].after[0]", "steps[6].payload"}));
    EXPECT_EQ(mistakes(R"({"name": "f", "steps": [{"name": "a", "after": ["nobody", "b", "b"]},
        {"name": "b"}, {"name": "b", "payload": {"$from": "c"}}]})"),
              (Paths{"steps[2].name", "steps[0].after[0]", "steps[0].after[2]"}));
    // Mistakes that follow from the graph are looked for once the graph is right.
    EXPECT_EQ(mistakes(R"({"name": "f", "cron_expression": "0 61 * * *", "steps": [
        {"name": "a", "when": "any_failed"}, {"name": "b", "payload": {"$from": "a"}},
        {"name": "c", "for_each": {"$from": "a"}, "if": {"value": {"$item": ""}, "equals": 1}}]})"),
              (Paths{"cron_expression", "steps[0].when", "steps[1].payload", "steps[2].for_each",
                     "steps[2].if"}));
    EXPECT_EQ(mistakes(R"({"steps": [], "unique_for": "1h"})"),
              (Paths{"name", "unique_for", "steps"}));
    EXPECT_EQ(mistakes(R"({"name": "plain", "min_success": 2, "on_failure": "stop"})"),
              (Paths{"min_success", "on_failure"}));
}

TEST(Flows, ACircleOfTasksIsToldBeforeTheChangeThatWouldCloseIt) {
    TestScheduler scheduler;
    // Steps name tasks that are kept: one that runs once is an execution.
    for (const char* task : {R"({"name": "b", "id": "b", "cron_expression": "0 3 1 1 *",
                                 "steps": [{"name": "s", "task": "c"}]})",
                             R"({"name": "c", "id": "c", "cron_expression": "0 3 1 1 *",
                                 "steps": [{"name": "s", "task": "a"}]})"}) {
        const Answered made = scheduler.Post("/api/v1/tasks", task);
        ASSERT_EQ(made.status, 201) << made.body;
    }
    const std::string closes = R"({"name": "a", "id": "a", "cron_expression": "0 3 1 1 *",
        "steps": [{"name": "ok", "type": "x"}, {"name": "s", "task": "b"}]})";
    const Answered told = scheduler.Post("/api/v1/tasks/validate", closes);
    ASSERT_EQ(told.status, 200) << told.body;
    EXPECT_FALSE(told.json.at("valid").as_bool());
    ASSERT_EQ(told.json.at("errors").as_array().size(), 1u) << told.body;
    const auto& mistake = told.json.at("errors").at(0);
    EXPECT_EQ(mistake.at("path").as_string(), "steps[1].task");
    // The same sentence as that of the change itself.
    const Answered refused = scheduler.Post("/api/v1/tasks", closes);
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_EQ(refused.json.at("detail").as_string(), mistake.at("message").as_string());
    const Answered apart = scheduler.Post(
        "/api/v1/tasks/validate",
        R"({"name": "d", "id": "d", "steps": [{"name": "s", "task": "b"}, {"name": "t", "task": "gone"}]})");
    EXPECT_TRUE(apart.json.at("valid").as_bool()) << apart.body;
}

TEST(Flows, StepsThatAreLookedAtAreGivenForDrawing) {
    TestScheduler scheduler;
    const Answered told = scheduler.Post("/api/v1/tasks/validate", kEtl);
    const auto& steps = told.json.at("steps").as_array();
    ASSERT_EQ(steps.size(), 3u) << told.body;
    EXPECT_EQ(steps[0].at("type").as_string(), "pull");
    EXPECT_EQ(steps[0].at("after").as_array().size(), 0u);
    EXPECT_EQ(steps[1].at("when").as_string(), "all_success");
    EXPECT_EQ(steps[2].at("after").at(0).as_string(), "parts");
    // One that cannot be read keeps its place.
    const Answered wrong = scheduler.Post(
        "/api/v1/tasks/validate", R"({"name": "f", "steps": [7, {"name": "b", "shards": 3}]})");
    EXPECT_EQ(wrong.json.at("steps").as_array().size(), 2u) << wrong.body;
    EXPECT_EQ(wrong.json.at("steps").at(1).at("shards").to_number<int>(), 3);
    const Answered short_form =
        scheduler.Post("/api/v1/tasks/validate", R"({"name": "wide", "shards": 4})");
    EXPECT_EQ(short_form.json.at("steps").at(0).at("shards").to_number<int>(), 4);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/validate", R"({"name")").status, 400);
}

// A stranger who sends nonsense by the thousand is answered with so much of it.
TEST(Flows, NoMoreThanAHundredMistakesAreTold) {
    TestScheduler scheduler;
    std::string steps;
    for (int i = 0; i < 300; ++i) steps += R"({"name": 1, "type": 2},)";
    steps.pop_back();
    const Answered told =
        scheduler.Post("/api/v1/tasks/validate", R"({"name": "f", "steps": [)" + steps + "]}");
    EXPECT_EQ(told.json.at("errors").as_array().size(), 100u);
    EXPECT_FALSE(told.json.at("valid").as_bool());
}

// "shards": 16 on an ordinary task is the short form of one step.
TEST(Flows, ATaskMayHaveShardsOfItsOwn) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    const Answered made = scheduler.Post(
        "/api/v1/tasks",
        R"({"id": "wide", "name": "wide", "type": "work", "parameters": [7], "shards": 4, "min_success": 3})");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.Text("type"), "work");
    EXPECT_EQ(made.json.at("shards").to_number<int>(), 4);
    EXPECT_FALSE(made.json.as_object().contains("steps"));
    scheduler.sink().Await(EventType::kTaskCompleted, "wide");
    const Answered shard = scheduler.Get("/api/v1/executions/wide~0.1");
    EXPECT_EQ(shard.Text("type"), "work");
    EXPECT_EQ(shard.json.at("parameters").as_array()[0].to_number<int>(), 7);

    const Answered again = scheduler.Post(
        "/api/v1/tasks",
        R"({"id": "wide", "name": "wide", "type": "work", "parameters": [7], "shards": 4, "min_success": 3})");
    EXPECT_EQ(again.status, 200) << "the same is the same: " << again.body;
}

TEST(Flows, ARunThatIsCancelledSaysSoAndEnds) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w", true);
    scheduler.Post("/api/v1/tasks",
                   R"({"id": "run", "name": "n", "steps": [{"name": "a", "shards": 2}]})");
    scheduler.sink().Await(EventType::kTaskStarted, "run~0.0");
    const Answered steps = scheduler.Get("/api/v1/executions/run/steps");
    EXPECT_EQ(steps.Text("status"), "running");
    const auto& counts = steps.json.at("items").as_array()[0].at("executions");
    EXPECT_EQ(counts.at("running").to_number<int>() + counts.at("waiting").to_number<int>(), 2);
    const Answered cancelled = scheduler.Post("/api/v1/executions/run/cancel");
    EXPECT_EQ(cancelled.status, 200);
    EXPECT_EQ(cancelled.Text("ending"), "cancelled") << cancelled.body;
    scheduler.sink().Await(EventType::kTaskCancelled, "run");
    EXPECT_EQ(scheduler.Get("/api/v1/executions/run").Text("status"), "cancelled");
    const Answered child = scheduler.Post("/api/v1/executions/run~0.0/retry");
    EXPECT_EQ(child.status, 409);
    EXPECT_NE(child.Text("detail").find("run 'run'"), std::string::npos) << child.body;
    EXPECT_EQ(scheduler.Post("/api/v1/executions/run/retry", R"({"steps": ["x"]})").status, 400);
    const Answered none = scheduler.Post("/api/v1/executions/run/retry", R"({"steps": []})");
    EXPECT_EQ(none.status, 400) << none.body;
    EXPECT_NE(none.Text("detail").find("is an empty list"), std::string::npos) << none.body;
    const Answered again = scheduler.Post("/api/v1/executions/run/retry", R"({"steps": ["a"]})");
    EXPECT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(again.json.at("round").to_number<int>(), 1);
    scheduler.sink().Await(EventType::kTaskStarted, "run~0.0.1");
}

TEST(Flows, TheStepsOfARecurringTaskCanBeChanged) {
    TestScheduler scheduler;
    const Answered made = scheduler.Post(
        "/api/v1/tasks",
        R"({"id": "t", "name": "t", "interval": "1h", "steps": [{"name": "a"}, {"name": "b", "after": ["a"], "when": "all_done"}], "on_failure": "continue"})");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.Text("on_failure"), "continue");
    // A task that was read may be sent back.
    EXPECT_EQ(scheduler.Put("/api/v1/tasks/t", scheduler.Get("/api/v1/tasks/t").body).status, 200);
    const Answered renamed = scheduler.Patch("/api/v1/tasks/t", R"({"name": "other"})");
    EXPECT_EQ(renamed.json.at("steps").as_array().size(), 2u) << renamed.body;
    const Answered changed =
        scheduler.Patch("/api/v1/tasks/t", R"({"steps": [{"name": "only", "each_worker": true}]})");
    ASSERT_EQ(changed.status, 200) << changed.body;
    EXPECT_EQ(changed.json.at("steps").as_array().size(), 1u);
    EXPECT_EQ(changed.Text("on_failure"), "continue");
    const Answered plain = scheduler.Patch("/api/v1/tasks/t", R"({"steps": null, "type": "work"})");
    ASSERT_EQ(plain.status, 200) << plain.body;
    EXPECT_FALSE(plain.json.as_object().contains("steps"));
}

// Somebody asks for the last hours again, twice.
TEST(Flows, PastDueTimesAreRunOnce) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    const Time now = std::chrono::floor<std::chrono::hours>(std::chrono::system_clock::now());
    const std::string from = FormatTime(now - std::chrono::hours(3));
    ASSERT_EQ(
        scheduler
            .Post(
                "/api/v1/tasks",
                R"({"id": "t", "name": "t", "cron_expression": "0 * * * *", "execution_mode": "parallel"})")
            .status,
        201);
    const std::string range = R"({"from": ")" + from + R"(", "to": ")" + FormatTime(now) + R"(")";
    const Answered preview =
        scheduler.Post("/api/v1/tasks/t/backfill", range + R"(, "dry_run": true})");
    ASSERT_EQ(preview.status, 200) << preview.body;
    EXPECT_EQ(preview.json.at("count").to_number<int>(), 3);
    EXPECT_TRUE(preview.json.at("run").is_null());
    EXPECT_EQ(preview.json.at("due").as_array()[0].as_string(), from);
    const Answered made = scheduler.Post("/api/v1/tasks/t/backfill", range + "}");
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string run(made.json.at("run").at("id").as_string());
    scheduler.sink().Await(EventType::kTaskCompleted, run);
    const Answered children = scheduler.Get("/api/v1/executions?parent_id=" + run);
    ASSERT_EQ(children.json.at("items").as_array().size(), 3u);
    EXPECT_EQ(children.json.at("items").as_array()[0].at("origin").as_string(), "backfill");
    EXPECT_EQ(children.json.at("items").as_array()[0].at("task_id").as_string(), "t");
    const Answered again = scheduler.Post("/api/v1/tasks/t/backfill", range + "}");
    EXPECT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(again.json.at("count").to_number<int>(), 0);
    EXPECT_EQ(again.json.at("existing").to_number<int>(), 3);

    EXPECT_EQ(scheduler.Post("/api/v1/tasks/none/backfill", range + "}").status, 404);
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/t/backfill", "{}").Text("field"), "from");
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/t/backfill", R"({"from": "2999-01-01T00:00:00Z"})")
                  .Text("field"),
              "from");
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/t/backfill", R"({"from": "2000-01-01T00:00:00Z"})")
                  .Text("field"),
              "to");
}

// Two people ask for the same hours at once.
TEST(Flows, OneBackfillOfATaskGoesOnAtATime) {
    TestScheduler scheduler;
    const Time now = std::chrono::floor<std::chrono::hours>(std::chrono::system_clock::now());
    const std::string range = R"({"from": ")" + FormatTime(now - std::chrono::hours(3)) +
                              R"(", "to": ")" + FormatTime(now) + R"("})";
    const auto put = [&](const std::string& id) {
        return scheduler
            .Post("/api/v1/tasks", R"({"name": "t", "cron_expression": "0 * * * *", "id": ")" + id +
                                       R"(", "execution_mode": "skip"})")
            .status;
    };
    ASSERT_EQ(put("t"), 201);
    ASSERT_EQ(put("other"), 201);
    const Answered first = scheduler.Post("/api/v1/tasks/t/backfill", range);
    ASSERT_EQ(first.status, 201) << first.body;
    const std::string run(first.json.at("run").at("id").as_string());

    const Answered second = scheduler.Post("/api/v1/tasks/t/backfill", range);
    EXPECT_EQ(second.status, 409) << second.body;
    EXPECT_TRUE(second.body.contains(run)) << second.body;
    EXPECT_EQ(scheduler.Post("/api/v1/tasks/other/backfill", range).status, 201);

    scheduler.AttachWorker("w");
    scheduler.sink().Await(EventType::kTaskCompleted, run);
    const Answered third = scheduler.Post("/api/v1/tasks/t/backfill", range);
    EXPECT_EQ(third.status, 200) << third.body;
    EXPECT_EQ(third.json.at("existing").to_number<int>(), 3);
}

// A task whose runs are skipped while another one goes on is not to have ten at once.
TEST(Flows, ThePastOfATaskThatSkipsIsRunOneAfterTheOtherUnlessToldOtherwise) {
    TestScheduler scheduler;
    const Time now = std::chrono::floor<std::chrono::hours>(std::chrono::system_clock::now());
    const std::string range = R"({"from": ")" + FormatTime(now - std::chrono::hours(5)) +
                              R"(", "to": ")" + FormatTime(now) + R"(")";
    // Nobody works: all that may be unfinished at a time waits.
    const auto unfinished = [&](const std::string& mode, const std::string& more) {
        const std::string id = mode + std::to_string(more.size());
        EXPECT_EQ(
            scheduler
                .Post("/api/v1/tasks", R"({"name": "t", "cron_expression": "0 * * * *", "id": ")" +
                                           id + R"(", "execution_mode": ")" + mode + R"("})")
                .status,
            201);
        const Answered made =
            scheduler.Post("/api/v1/tasks/" + id + "/backfill", range + more + "}");
        EXPECT_EQ(made.status, 201) << made.body;
        const ExecutionId first = BackfillId(TaskId(Text(id)), now - std::chrono::hours(5));
        scheduler.sink().Await(EventType::kTaskSubmitted, first.text().str());
        const std::string run(made.json.at("run").at("id").as_string());
        return scheduler.Get("/api/v1/executions?parent_id=" + run)
            .json.at("items")
            .as_array()
            .size();
    };
    EXPECT_EQ(unfinished("skip", ""), 1u);
    EXPECT_EQ(unfinished("replace", ""), 1u);
    EXPECT_EQ(unfinished("skip", R"(, "parallel_max": 2)"), 2u);
    EXPECT_EQ(unfinished("sequential", R"(, "parallel_max": 2)"), 1u);
    EXPECT_EQ(unfinished("parallel", ""), 5u);
}

}  // namespace
}  // namespace takt::internal
