// A task that is looked at and not made: all of its mistakes, and its steps for drawing.
#include "api/json_read.h"
#include "api/json_schema.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"
#include "api/step_json.h"
#include "api/task_json.h"

namespace takt::internal {
namespace {

void WriteMistake(JsonWriter& json, const Error& mistake) {
    json.BeginObject().Field("path", std::string_view(mistake.field));
    json.Field("message", std::string_view(mistake.detail)).EndObject();
}

void ValidateTask(Call call) {
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return call.RefuseRequest(object.error());
    TaskReview review;
    const auto read = ReadTask(*object, call.services().config.task_limits, call.services().texts,
                               {.now = ReadClocks().wall, .review = &review});
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("valid", read.has_value());
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
                      .handler = ValidateTask,
                      .tag = "tasks",
                      .summary = "What is wrong with a task, all at once; creates nothing",
                      .takes = "TaskRequest",
                      .gives = "TaskValidation"});
}

}  // namespace takt::internal
