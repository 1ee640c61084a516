// The log of an execution: page by page, or as it is written.
#include "api/execution_log.h"

#include "api/event_hub.h"
#include "api/json_read.h"
#include "api/query.h"
#include "api/resources.h"

namespace takt::internal {
namespace {

// A chunk is what a worker sent at once, up to some KB; a page of these stays under a MB or so.
constexpr CountRange kChunkCount = {1, 1000, 100};

bool WantsStream(const HttpRequest& request) {
    return request.Query("follow") == "true" ||
           ListHasToken(request.headers.Find("Accept").value_or(""), "text/event-stream");
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
        WriteChunk(json, chunk);
    }
    EndPage(json, next);
    call.Json(200, std::move(body));
}

// Nothing was written: there may be no such execution, or none any more.
void SendIfThere(Call call, ExecutionId id, std::size_t limit, bool text) {
    const PartitionReader& rows = call.services().rows;
    std::vector<ExecutionId> ids = {id};
    rows.FindExecutions(std::move(ids), [call = std::move(call), id = std::move(id), limit,
                                         text](const FoundExecutions& found) mutable {
        if (!found) return call.RefuseAnswer(found.error());
        if (!found->front()) return call.RefuseAnswer(NoSuchExecution(id));
        SendLog(call, {}, limit, text);
    });
}

Result<void> CheckFollow(const HttpRequest& request) {
    const auto follow = request.Query("follow");
    if (!follow || *follow == "true" || *follow == "false") return {};
    return BadField("follow", "must be true or false");
}

void GetLog(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    if (const auto checked = CheckFollow(call.request()); !checked) {
        return call.RefuseRequest(checked.error());
    }
    const auto limit = QueryCount(call.request(), "limit", kChunkCount);
    if (!limit) return call.RefuseRequest(limit.error());
    const std::string format = call.request().Query("format").value_or("json");
    if (format != "json" && format != "text") {
        return call.RefuseRequest(BadField("format", "must be json or text").error());
    }
    Serial after = LastEventSeen(call.request()).value_or(0);
    if (const auto cursor = call.request().Query("cursor")) {
        const auto parsed = ParseSerialCursor(*cursor);
        if (!parsed) return call.RefuseRequest(parsed.error());
        after = *parsed;
    }
    if (WantsStream(call.request())) return FollowLog(std::move(call), std::move(*id), after);
    const PartitionReader& rows = call.services().rows;
    rows.ReadLog(*id, after, *limit,
                 [call = std::move(call), id = *id, limit = *limit,
                  text = format == "text"](Result<std::vector<LogChunk>> chunks) mutable {
                     if (!chunks) return call.RefuseAnswer(chunks.error());
                     if (chunks->empty()) {
                         return SendIfThere(std::move(call), std::move(id), limit, text);
                     }
                     SendLog(call, *chunks, limit, text);
                 });
}

}  // namespace

void WriteChunk(JsonWriter& json, const LogChunk& chunk) {
    json.BeginObject().Field("attempt", chunk.attempt).Field("at", chunk.at);
    json.Field("lines", chunk.lines.view());
    // As a text: JavaScript would round so large a number.
    json.Field("id", std::string_view(std::to_string(chunk.index))).EndObject();
}

void AddLogRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/executions/{id}/log",
                      .permission = Permission::kViewer,
                      .handler = GetLog,
                      .tag = "executions",
                      .summary = "What an execution wrote, or with `follow` what it writes",
                      .query = {{"limit", "Chunks, 1 to 1000, 100 unless given."},
                                {"cursor", "Where the last page ended."},
                                {"format", "json or text."},
                                {"follow", "true: server-sent events until the execution ends."},
                                {"last_event_id", "For clients that cannot set the header."}},
                      .gives = "Log",
                      .gives_text = "text/plain"});
}

}  // namespace takt::internal
