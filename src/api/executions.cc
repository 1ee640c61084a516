// Executions: list, get, explain.
#include "api/execution_json.h"
#include "api/execution_reads.h"
#include "api/json_read.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/services.h"
#include "store/list_page.h"

namespace takt::internal {
namespace {

void ListExecutions(Call call) {
    auto filter = QueryExecutions(call.request());
    if (!filter) return call.RefuseRequest(filter.error());
    const auto details = call.request().Query("details").value_or("false");
    if (details != "true" && details != "false") {
        return call.RefuseRequest(BadField("details", "must be true or false").error());
    }
    // A page of a thousand results of a MiB each would be a GiB; whoever wants them gets shorter
    // pages.
    filter->brief = details == "false";
    const auto detail = filter->brief ? ExecutionDetail::kBrief : ExecutionDetail::kFull;
    Store& store = call.services().store;
    store.ListExecutions(*filter, [call = std::move(call), filter = *filter,
                                   detail](Result<std::vector<Execution>> rows) mutable {
        if (!rows) return call.RefuseAnswer(rows.error());
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        for (const Execution& row : *rows) WriteExecution(json, {row, detail});
        std::optional<std::string> next;
        if (MoreMayFollow(filter, *rows)) next = SerialCursor(rows->back().serial);
        EndPage(json, next);
        call.Json(200, std::move(body));
    });
}

void GetExecution(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    ExecutionReads& reads = *call.services().reads;
    reads.Get(std::move(call), std::move(*id));
}

void SendExplanation(Call& call, const ExecutionId& id, const Explanation& explanation) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("execution_id", id.view()).Field("code", explanation.code);
    json.Field("explanation", std::string_view(explanation.sentence));
    json.Key("values").BeginObject();
    for (const auto& [name, value] : explanation.values) {
        json.Key(name);
        std::visit([&](const auto& each) { json.Value(each); }, value);
    }
    json.EndObject().EndObject();
    call.Json(200, std::move(body));
}

// A finished execution explains itself by how it ended.
Explanation HowItEnded(const Execution& execution) {
    const std::string status(Name(execution.status));
    Explanation explanation{
        Name(execution.status), "it is finished: " + status, {{"status", status}}};
    if (execution.outcome && !execution.outcome->message.empty()) {
        std::string message = execution.outcome->message.str();
        explanation.sentence += " (" + message + ")";
        explanation.values.push_back({"message", std::move(message)});
    }
    return explanation;
}

void ExplainFinished(Call call, ExecutionId id) {
    Store& store = call.services().store;
    std::vector<ExecutionId> ids = {id};
    store.FindExecutions(std::move(ids), [call = std::move(call),
                                          id = std::move(id)](FoundExecutions found) mutable {
        if (!found) return call.RefuseAnswer(found.error());
        if (!found->front()) return call.RefuseAnswer(NoSuchExecution(id));
        SendExplanation(call, id, HowItEnded(*found->front()));
    });
}

void Explain(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    Node& node = call.services().node;
    node.Look([call = std::move(call), id = std::move(*id)](const Engine* engine) mutable {
        const auto explanation =
            engine ? engine->Explain(id, ReadClocks()) : std::optional<Explanation>();
        if (!explanation) return ExplainFinished(std::move(call), std::move(id));
        SendExplanation(call, id, *explanation);
    });
}

}  // namespace

void AddExecutionRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/executions",
                      .permission = Permission::kViewer,
                      .handler = ListExecutions,
                      .tag = "executions",
                      .summary = "List executions, newest first",
                      .query = {{"task_id", "Of this task."},
                                {"status", "In one of these states, separated by commas."},
                                {"worker_id", "On this worker."},
                                {"type", "Of this type."},
                                {"queue", "Of this queue."},
                                {"from", "Created at this time or later."},
                                {"to", "Created before this time."},
                                {"details",
                                 "true: with parameters and result; pages end at 8 MiB of "
                                 "them."},
                                {"limit", "1 to 1000, 100 unless given."},
                                {"cursor", "Where the last page ended."}},
                      .gives = "ExecutionList"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/executions/{id}",
                      .permission = Permission::kViewer,
                      .handler = GetExecution,
                      .tag = "executions",
                      .summary = "Get an execution",
                      .gives = "Execution"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/executions/{id}/explain",
                      .permission = Permission::kViewer,
                      .where = Where::kLeader,
                      .handler = Explain,
                      .tag = "executions",
                      .summary = "Why an execution has not started or is not finished",
                      .gives = "Explanation"});
}

}  // namespace takt::internal
