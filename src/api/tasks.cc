// Tasks: create, read, change, delete.
#include <charconv>

#include "api/execution_json.h"
#include "api/json_read.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/services.h"
#include "api/submission.h"

namespace takt::internal {
namespace {

// A change that races with others is tried again this often before it is given up.
constexpr int kPatchTries = 3;

// --- Reading ------------------------------------------------------------------------------------

void ListTasks(Call call) {
    TaskFilter filter;
    const auto limit = QueryCount(call.request(), "limit");
    if (!limit) return call.RefuseRequest(limit.error());
    filter.limit = *limit;
    filter.name_contains = Text(call.request().Query("name").value_or(""));
    if (const auto cursor = call.request().Query("cursor")) {
        auto after = ParseIdCursor(*cursor);
        if (!after) return call.RefuseRequest(after.error());
        filter.after = std::move(*after);
    }
    Store& store = call.services().store;
    store.ListTasks(filter, [call = std::move(call),
                             limit = filter.limit](Result<std::vector<TaskRow>> rows) mutable {
        if (!rows) return call.RefuseAnswer(rows.error());
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        for (const TaskRow& row : *rows) WriteTask(json, row);
        std::optional<std::string> next;
        if (rows->size() == limit) next = IdCursor(rows->back().task->id.view());
        EndPage(json, next);
        call.Json(200, std::move(body));
    });
}

void FindOnceTask(Call call, TaskId id) {
    Store& store = call.services().store;
    std::vector<ExecutionId> ids = {ExecutionId(id.text())};
    store.FindExecutions(
        std::move(ids), [call = std::move(call), id = std::move(id)](
                            Result<std::vector<std::optional<Execution>>> found) mutable {
            if (!found) return call.RefuseAnswer(found.error());
            const std::optional<Execution>& execution = found->front();
            // The execution of a recurring task has an id of its own, which names no task.
            if (!execution || execution->task->id != id) {
                return call.RefuseAnswer(
                    {ErrorCode::kNotFound, "there is no task '" + id.text().str() + "'", "id"});
            }
            SendOnceTask(call, *execution, 200);
        });
}

void GetTask(Call call) {
    auto id = PathId<TaskId>(call);
    if (!id) return;
    Store& store = call.services().store;
    store.FindTask(*id, [call = std::move(call), id = *id](Result<TaskRow> row) mutable {
        if (row) return SendTask(call, *row, 200);
        if (row.error().code != ErrorCode::kNotFound) return call.RefuseAnswer(row.error());
        FindOnceTask(std::move(call), std::move(id));
    });
}

// --- Changing -----------------------------------------------------------------------------------

void CreateTask(Call call) {
    auto request = ReadTaskBody(call, {.now = ReadClocks().wall});
    if (!request) return call.RefuseRequest(request.error());
    if (auto named = NameByKey(call, *request->task); !named) {
        return call.RefuseRequest(named.error());
    }
    Create(std::move(call), std::move(*request), {.create_only = true});
}

void PutTaskWhole(Call call) {
    auto id = PathId<TaskId>(call);
    if (!id) return;
    auto request = ReadTaskBody(call, {.accept_read_only = true});
    if (!request) return call.RefuseRequest(request.error());
    TaskId& named = request->task->id;
    if (!named.empty() && named != *id) {
        return call.RefuseRequest(BadField("id", "is not the one in the address").error());
    }
    named = std::move(*id);
    const auto condition = ReadIfMatch(call.request());
    if (!condition) return call.RefuseRequest(condition.error());
    const bool absent = call.request().headers.Find("If-None-Match") == "*";
    Create(std::move(call), std::move(*request),
           {.create_only = absent, .if_version = condition->version});
}

void Patch(Call call, const TaskId& id, int tries);

void Patched(Call call, const TaskRow& row, int tries) {
    auto request = ReadTaskBody(call, {.base = row.task.get(), .accept_read_only = true});
    if (!request) return call.RefuseRequest(request.error());
    const TaskId id = row.task->id;
    if (request->task->id != id) {
        return call.RefuseRequest(BadField("id", "cannot be changed").error());
    }
    const auto condition = ReadIfMatch(call.request());
    if (!condition) return call.RefuseRequest(condition.error());
    const bool asked = condition->version != 0;
    PutTask put{.task = request->task,
                .if_version = asked ? condition->version : row.task->version};
    if (request->enabled) put.paused = !*request->enabled;
    Node& node = call.services().node;
    node.Ask(std::move(put),
             [call = std::move(call), id, tries, asked](Result<Answer> answer) mutable {
                 const bool raced = !answer && answer.error().code == ErrorCode::kConflict;
                 // Somebody else was faster. Unless the caller insists on a version, look again.
                 if (raced && !asked && tries > 1) {
                     auto services = call.shared_services();
                     return services->post([call = std::move(call), id, tries]() mutable {
                         Patch(std::move(call), id, tries - 1);
                     });
                 }
                 FinishPut(std::move(call), std::move(answer));
             });
}

void Patch(Call call, const TaskId& id, int tries) {
    Store& store = call.services().store;
    store.FindTask(id, [call = std::move(call), tries](Result<TaskRow> row) mutable {
        if (!row) return call.RefuseAnswer(row.error());
        auto services = call.shared_services();
        services->post([call = std::move(call), row = std::move(*row), tries]() mutable {
            Patched(std::move(call), row, tries);
        });
    });
}

void PatchTask(Call call) {
    auto id = PathId<TaskId>(call);
    if (id) Patch(std::move(call), *id, kPatchTries);
}

void DeleteOne(Call call) {
    auto id = PathId<TaskId>(call);
    if (!id) return;
    const auto condition = ReadIfMatch(call.request());
    if (!condition) return call.RefuseRequest(condition.error());
    Node& node = call.services().node;
    const DeleteTask remove{.task = *id, .if_version = condition->version};
    node.Ask(remove, [call = std::move(call), id = *id](Result<Answer> answer) mutable {
        if (answer) return SendTask(call, answer->task, 200);
        if (answer.error().code != ErrorCode::kNotFound) return RefuseChange(call, answer.error());
        // A one-off task is its execution: without it there is nothing left to delete.
        Node& node = call.services().node;
        const Cancel cancel{.execution = ExecutionId(id.text()), .reason = "its task was deleted"};
        node.Ask(cancel, [call = std::move(call), id](Result<Answer> answer) mutable {
            if (answer) return SendOnceTask(call, answer->execution, 200);
            if (answer.error().code == ErrorCode::kNotFound) {
                answer.error().detail = "there is no task '" + id.text().str() + "'";
            }
            call.RefuseAnswer(answer.error());
        });
    });
}

}  // namespace

void AddTaskRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/tasks",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = CreateTask,
                      .tag = "tasks",
                      .summary = "Create a task: one-off, delayed or recurring",
                      .takes = "Task",
                      .gives = "Task",
                      .success = 201,
                      .routine = true});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/tasks",
                      .permission = Permission::kViewer,
                      .handler = ListTasks,
                      .tag = "tasks",
                      .summary = "List recurring tasks",
                      .query = {{"name", "Only those whose name contains this."},
                                {"limit", "1 to 1000, 100 unless given."},
                                {"cursor", "Where the last page ended."}},
                      .gives = "TaskList"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/tasks/{id}",
                      .permission = Permission::kViewer,
                      .handler = GetTask,
                      .tag = "tasks",
                      .summary = "Get a task",
                      .gives = "Task"});
    routes.push_back({.method = HttpMethod::kPut,
                      .path = "/api/v1/tasks/{id}",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = PutTaskWhole,
                      .tag = "tasks",
                      .summary = "Create or replace a task; If-Match and If-None-Match are obeyed",
                      .takes = "Task",
                      .gives = "Task"});
    routes.push_back({.method = HttpMethod::kPatch,
                      .path = "/api/v1/tasks/{id}",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = PatchTask,
                      .tag = "tasks",
                      .summary = "Change fields of a recurring task; null is the default",
                      .takes = "Task",
                      .gives = "Task"});
    routes.push_back({.method = HttpMethod::kDelete,
                      .path = "/api/v1/tasks/{id}",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = DeleteOne,
                      .tag = "tasks",
                      .summary = "Delete a recurring task, or cancel a one-off one",
                      .gives = "Task"});
}

}  // namespace takt::internal
