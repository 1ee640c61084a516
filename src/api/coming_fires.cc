// The next fire of each recurring task, the soonest first.
#include "api/call_flow.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/services.h"

namespace takt::internal {
namespace {

// As many as a person looks at; a caller who wants more of one task asks for its fires.
constexpr CountRange kComingFires = {1, 100, 10};

void WriteComingFire(JsonWriter& json, const TaskRow& row) {
    const Task& task = *row.task;
    const Recurrence& recurrence = *task.opt().recurrence;
    json.BeginObject().Field("at", row.state.next_at);
    json.Field("task_id", task.id.view()).Field("task_name", task.name.view());
    json.Field("type", task.type.view()).Field("queue", task.queue.view());
    if (!recurrence.cron.empty()) json.Field("cron_expression", recurrence.cron.view());
    if (recurrence.every > Duration(0)) {
        json.Field("interval", std::string_view(FormatDuration(recurrence.every)));
    }
    if (recurrence.every_after_end > Duration(0)) {
        json.Field("interval_after_end",
                   std::string_view(FormatDuration(recurrence.every_after_end)));
    }
    json.Field("timezone", recurrence.timezone.empty() ? "UTC" : recurrence.timezone.view());
    json.EndObject();
}

void ListComingFires(Call call) {
    const auto limit = QueryCount(call.request(), "limit", kComingFires);
    if (!limit) return call.RefuseRequest(limit.error());
    WithEngine(std::move(call), [limit = *limit](Call call, const Engine& engine) {
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        for (const TaskRow& row : engine.NextFires(limit)) WriteComingFire(json, row);
        EndPage(json, std::nullopt);
        call.Json(200, std::move(body));
    });
}

}  // namespace

void AddComingFireRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/scheduler/fires",
                      .permission = Permission::kViewer,
                      .where = Where::kLeader,
                      .handler = ListComingFires,
                      .tag = "scheduler",
                      .summary = "What fires next: the next fire of each task, the soonest first",
                      .query = {{"limit", "1 to 100, 10 unless given."}},
                      .gives = "ComingFireList"});
}

}  // namespace takt::internal
