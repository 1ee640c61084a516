// Executions: list, get, log, explain.
#include "api/execution_json.h"
#include "api/execution_reads.h"
#include "api/json_read.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/services.h"

namespace takt::internal {
namespace {

// A chunk is what a worker sent at once, up to some KB; a page of these stays under a MB or so.
constexpr CountRange kChunkCount = {1, 1000, 100};

Error NoSuchExecution(const ExecutionId& id) {
    return {ErrorCode::kNotFound, "there is no execution '" + id.text().str() + "'", "id"};
}

void ListExecutions(Call call) {
    const auto filter = QueryExecutions(call.request());
    if (!filter) return call.RefuseRequest(filter.error());
    Store& store = call.services().store;
    store.ListExecutions(*filter, [call = std::move(call), limit = filter->limit](
                                      Result<std::vector<Execution>> rows) mutable {
        if (!rows) return call.RefuseAnswer(rows.error());
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        for (const Execution& row : *rows) WriteExecution(json, row, ExecutionDetail::kBrief);
        std::optional<std::string> next;
        if (rows->size() == limit) next = SerialCursor(rows->back().serial);
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

void SendLog(Call& call, const std::vector<LogChunk>& chunks, std::size_t limit, bool text) {
    std::string body;
    std::optional<std::string> next;
    if (chunks.size() == limit) next = SerialCursor(chunks.back().index);
    if (text) {
        for (const LogChunk& chunk : chunks) body += chunk.lines.view();
        HttpResponse response = HttpResponse::Text(200, std::move(body));
        if (next) response.headers.emplace_back("X-Next-Cursor", *next);
        return call.Send(std::move(response));
    }
    JsonWriter json(body);
    json.BeginObject().Key("items").BeginArray();
    for (const LogChunk& chunk : chunks) {
        json.BeginObject().Field("attempt", chunk.attempt).Field("at", chunk.at);
        json.Field("lines", chunk.lines.view()).EndObject();
    }
    EndPage(json, next);
    call.Json(200, std::move(body));
}

void GetLog(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    const auto limit = QueryCount(call.request(), "limit", kChunkCount);
    if (!limit) return call.RefuseRequest(limit.error());
    const std::string format = call.request().Query("format").value_or("json");
    if (format != "json" && format != "text") {
        return call.RefuseRequest(BadField("format", "must be json or text").error());
    }
    Serial after = 0;
    if (const auto cursor = call.request().Query("cursor")) {
        const auto parsed = ParseSerialCursor(*cursor);
        if (!parsed) return call.RefuseRequest(parsed.error());
        after = *parsed;
    }
    Store& store = call.services().store;
    store.ReadLog(*id, after, *limit,
                  [call = std::move(call), limit = *limit,
                   text = format == "text"](Result<std::vector<LogChunk>> chunks) mutable {
                      if (!chunks) return call.RefuseAnswer(chunks.error());
                      SendLog(call, *chunks, limit, text);
                  });
}

void SendExplanation(Call& call, const ExecutionId& id, const Explanation& explanation) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("execution_id", id.view()).Field("code", explanation.code);
    json.Field("explanation", std::string_view(explanation.sentence)).EndObject();
    call.Json(200, std::move(body));
}

// What is finished explains itself by how it ended.
void ExplainFinished(Call call, ExecutionId id) {
    Store& store = call.services().store;
    std::vector<ExecutionId> ids = {id};
    store.FindExecutions(
        std::move(ids), [call = std::move(call), id = std::move(id)](
                            Result<std::vector<std::optional<Execution>>> found) mutable {
            if (!found) return call.RefuseAnswer(found.error());
            if (!found->front()) return call.RefuseAnswer(NoSuchExecution(id));
            const Execution& execution = *found->front();
            std::string sentence = "it is finished: " + std::string(Name(execution.status));
            if (execution.outcome && !execution.outcome->message.empty()) {
                sentence += " (" + execution.outcome->message.str() + ")";
            }
            SendExplanation(call, id, {Name(execution.status), std::move(sentence)});
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
                      .path = "/api/v1/executions/{id}/log",
                      .permission = Permission::kViewer,
                      .handler = GetLog,
                      .tag = "executions",
                      .summary = "What an execution wrote",
                      .query = {{"limit", "Chunks, 1 to 1000, 100 unless given."},
                                {"cursor", "Where the last page ended."},
                                {"format", "json or text."}},
                      .gives = "Log"});
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
