// A task that is looked at and not made: all of its mistakes, and its steps for drawing.
#include <map>

#include "api/call_flow.h"
#include "api/json_read.h"
#include "api/json_schema.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"
#include "api/step_json.h"
#include "api/task_json.h"
#include "model/task_circle.h"

namespace takt::internal {
namespace {

void WriteMistake(JsonWriter& json, const Error& mistake) {
    json.BeginObject().Field("path", std::string_view(mistake.field));
    json.Field("message", std::string_view(mistake.detail)).EndObject();
}

// A circle that is longer is found by the change that would close it.
constexpr std::size_t kLookedAtMax = 1'000;

// By id: the steps of a task that run others.
using NamingStepsById = std::map<std::string, std::vector<NamingStep>>;

// Adds the tasks that runs of these steps come to run. A row that cannot be read is left out: what
// can be said without it is said.
Flow<> AddNamed(const Call& call, std::vector<NamingStep> open, NamingStepsById& to) {
    while (!open.empty() && to.size() < kLookedAtMax) {
        const std::string id = std::move(open.back().named);
        open.pop_back();
        const auto [place, is_new] = to.try_emplace(id);
        if (!is_new) continue;
        const TaskId named{Text(id)};
        const auto row = co_await Answered<Result<TaskRow>>(
            call, [&](auto done) { call.services().rows.FindTask(named, std::move(done)); });
        if (!row) continue;
        place->second = NamingStepsOf(*row->task);
        open.insert(open.end(), place->second.begin(), place->second.end());
    }
}

Flow<> ValidateTask(Call call) {
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) co_return call.RefuseRequest(object.error());
    TaskReview review;
    auto read = ReadTask(*object, call.services().config.task_limits, call.services().texts,
                         {.now = ReadClocks().wall, .review = &review});
    if (read && !read->task->id.empty()) {
        const std::string id = read->task->id.text().str();
        NamingStepsById steps{{id, NamingStepsOf(*read->task)}};
        co_await AddNamed(call, steps.begin()->second, steps);
        const auto apart = CheckCircle(id, [&](const std::string& task) { return steps[task]; });
        if (!apart) review.mistakes.push_back(apart.error());
    }
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("valid", review.mistakes.empty());
    json.Key("errors").BeginArray();
    for (const Error& mistake : review.mistakes) WriteMistake(json, mistake);
    json.EndArray();
    json.Key("steps").BeginArray();
    for (const WorkflowStep& step : review.steps) WriteStep(json, step, true);
    json.EndArray().EndObject();
    call.Json(200, std::move(body));
}

}  // namespace

void AddTaskValidationSchemas(SchemaList& to) {
    const std::string mistake =
        schema::Object().Add("path", schema::Text()).Add("message", schema::Text()).Text();
    to.emplace_back("TaskValidation", schema::Object()
                                          .Add("valid", schema::Bool())
                                          .Add("errors", schema::ListOf(mistake))
                                          .Add("steps", schema::ListOf(schema::Reference("Step")))
                                          .Text());
}

void AddTaskValidationRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/tasks/validate",
                      .permission = Permission::kViewer,
                      .handler = Flowing(ValidateTask),
                      .tag = "tasks",
                      .summary = "What is wrong with a task, all at once; creates nothing",
                      .takes = "TaskRequest",
                      .gives = "TaskValidation"});
}

}  // namespace takt::internal
