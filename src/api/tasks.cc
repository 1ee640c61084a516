// Tasks: create, read, change, delete.
#include "api/audit.h"
#include "api/call_flow.h"
#include "api/definition_kind.h"
#include "api/execution_json.h"
#include "api/json_read.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/services.h"
#include "api/submission.h"
#include "api/task_search.h"

namespace takt::internal {
namespace {

// A change that races with others is tried again this often before it is given up. Whoever loses a
// race has let another win it, so that only a crowd at one task comes near to it.
constexpr int kPatchTries = 100;

// --- Reading ------------------------------------------------------------------------------------

Flow<> ListTasks(Call call) {
    auto query = ReadTaskQuery(call.request());
    if (!query) co_return call.RefuseRequest(query.error());
    const auto page = co_await SearchTasks(call, std::move(*query));
    if (!page) co_return call.RefuseAnswer(page.error());
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("items").BeginArray();
    for (const TaskRow& row : page->rows) WriteTask(json, row);
    std::optional<std::string> next;
    if (page->more) next = IdCursor(page->last);
    EndPage(json, next);
    call.Json(200, std::move(body));
}

Error NoTaskOfEitherKind(const TaskId& id) {
    return {ErrorCode::kNotFound, "there is no task '" + id.text().str() + "'", "id"};
}

Flow<> GetTask(Call call) {
    const auto id = PathId<TaskId>(call);
    if (!id) co_return;
    const PartitionReader& rows = call.services().rows;
    const auto row = co_await Answered<Result<TaskRow>>(
        call, [&](auto done) { rows.FindTask(*id, std::move(done)); });
    if (row) co_return SendTask(call, *row, 200);
    if (row.error().code != ErrorCode::kNotFound) co_return call.RefuseAnswer(row.error());
    const auto found = co_await Answered<FoundExecutions>(
        call, [&](auto done) { rows.FindExecutions({ExecutionId(id->text())}, std::move(done)); });
    if (!found) co_return call.RefuseAnswer(found.error());
    const std::optional<Execution>& execution = found->front();
    // The execution of a recurring task has an id of its own, which names no task.
    if (!execution || execution->task->id != *id)
        co_return call.RefuseAnswer(NoTaskOfEitherKind(*id));
    SendOnceTask(call, *execution, 200);
}

// --- Changing -----------------------------------------------------------------------------------

void CreateTask(Call call) {
    auto request = ReadTaskBody(call, {.now = ReadClocks().wall});
    if (!request) return call.RefuseRequest(request.error());
    auto id = IdOfKey(KeyOf(call.request()));
    if (!id) return call.RefuseRequest(id.error());
    if (request->task->id.empty()) request->task->id = TaskId(std::move(*id));
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

// The change that a PATCH asks of the task as it is.
Result<PutTask> ReadPatch(Call& call, const TaskRow& row, std::uint32_t if_version) {
    auto request = ReadTaskBody(call, {.base = row.task.get(), .accept_read_only = true});
    if (!request) return std::unexpected(request.error());
    if (request->task->id != row.task->id) return BadField("id", "cannot be changed");
    PutTask put{.task = request->task,
                .if_version = if_version != 0 ? if_version : row.task->version,
                .by = ActOf(call)};
    if (request->enabled) put.paused = !*request->enabled;
    return put;
}

Flow<> PatchTask(Call call) {
    const auto id = PathId<TaskId>(call);
    if (!id) co_return;
    const auto condition = ReadIfMatch(call.request());
    if (!condition) co_return call.RefuseRequest(condition.error());
    for (int tries = kPatchTries;; --tries) {
        const auto row = co_await Answered<Result<TaskRow>>(
            call, [&](auto done) { call.services().rows.FindTask(*id, std::move(done)); });
        if (!row) co_return call.RefuseAnswer(row.error());
        auto put = ReadPatch(call, *row, condition->version);
        if (!put) co_return call.RefuseRequest(put.error());
        auto answer = co_await Asked(call, std::move(*put));
        // Somebody else was faster. Unless the caller insists on a version, look again.
        const bool raced = !answer && answer.error().code == ErrorCode::kConflict;
        if (raced && condition->version == 0 && tries > 1) continue;
        co_return FinishPut(std::move(call), std::move(answer));
    }
}

Flow<> DeleteOne(Call call) {
    const auto id = PathId<TaskId>(call);
    if (!id) co_return;
    const auto condition = ReadIfMatch(call.request());
    if (!condition) co_return call.RefuseRequest(condition.error());
    const std::string runs = call.request().Query("runs").value_or("cancel");
    if (runs != "cancel" && runs != "keep") {
        co_return call.RefuseRequest(
            BadField("runs", "must be cancel or keep: what becomes of runs that have not begun")
                .error());
    }
    const auto removed = co_await Asked(
        call, DeleteTask{.task = *id,
                         .if_version = condition->version,
                         .runs = runs == "keep" ? RunsOfDeleted::kKeep : RunsOfDeleted::kCancel,
                         .by = ActOf(call)});
    if (removed) {
        // One of the same id that somebody makes later is not whose files defined this one.
        call.services().node.Tell(SetSetting{.key = Text(OwnerKey("task", id->text().view()))});
        co_return SendTask(call, removed->task, 200);
    }
    if (removed.error().code != ErrorCode::kNotFound) {
        co_return RefuseChange(call, removed.error());
    }
    // A one-off task is its execution: without it there is nothing left to delete.
    const auto cancelled = co_await Asked(call, Cancel{.execution = ExecutionId(id->text()),
                                                       .reason = "its task was deleted",
                                                       .by = ActOf(call)});
    if (cancelled) co_return SendOnceTask(call, cancelled->execution, 200);
    const bool absent = cancelled.error().code == ErrorCode::kNotFound;
    call.RefuseAnswer(absent ? NoTaskOfEitherKind(*id) : cancelled.error());
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
                      .headers = {kIdempotencyKey},
                      .takes = "TaskRequest",
                      .gives = "Task",
                      .success = 201,
                      .also = 200,
                      .routine = true});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/tasks",
                      .permission = Permission::kViewer,
                      .handler = Flowing(ListTasks),
                      .tag = "tasks",
                      .summary = "List recurring tasks",
                      .query = TaskListParameters(),
                      .gives = "TaskList"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/tasks/{id}",
                      .permission = Permission::kViewer,
                      .handler = Flowing(GetTask),
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
                      .headers = {kIfMatch},
                      .takes = "TaskRequest",
                      .gives = "Task",
                      .also = 201});
    routes.push_back({.method = HttpMethod::kPatch,
                      .path = "/api/v1/tasks/{id}",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = Flowing(PatchTask),
                      .tag = "tasks",
                      .summary = "Change fields of a recurring task; null is the default",
                      .headers = {kIfMatch},
                      .takes = "TaskChange",
                      .gives = "Task"});
    routes.push_back({.method = HttpMethod::kDelete,
                      .path = "/api/v1/tasks/{id}",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = Flowing(DeleteOne),
                      .tag = "tasks",
                      .summary = "Delete a recurring task, or cancel a one-off one",
                      .query = {{"runs",
                                 "What becomes of its runs that have not begun: cancel (unless "
                                 "given), or keep: they run, in the order of its mode."}},
                      .headers = {kIfMatch},
                      .gives = "Task"});
}

}  // namespace takt::internal
