// Executions: list, search, get. Why one waits is explain.cc.
#include "api/execution_json.h"
#include "api/execution_reads.h"
#include "api/execution_search.h"
#include "api/execution_waits.h"
#include "api/json_read.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/services.h"
#include "store/list_page.h"

namespace takt::internal {
namespace {

// How far a search came: it ends early where few of many rows fit.
Flow<> SendSearched(Call call, ExecutionQuery query) {
    const std::size_t limit = query.limit;
    const auto page = co_await SearchExecutions(call, std::move(query));
    if (!page) co_return call.RefuseAnswer(page.error());
    const bool early = page->more && page->rows.size() < limit;
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    json.Key("searched_to");
    early ? json.Value(TimeOf(page->last)) : json.Null();
    json.Key("parameters_searched_to");
    page->parameters_last != 0 ? json.Value(TimeOf(page->parameters_last)) : json.Null();
    json.Key("items").BeginArray();
    for (const Execution& row : page->rows) WriteExecution(json, {row, ExecutionDetail::kBrief});
    std::optional<std::string> next;
    if (page->more) next = SerialCursor(page->last);
    EndPage(json, next);
    call.Json(200, std::move(body));
}

void ListExecutions(Call call) {
    auto filter = QueryExecutions(call.request());
    if (!filter) return call.RefuseRequest(filter.error());
    const auto details = call.request().Query("details").value_or("false");
    if (details != "true" && details != "false") {
        return call.RefuseRequest(BadField("details", "must be true or false").error());
    }
    if (!filter->words.empty()) {
        if (details == "false") return Launch(SendSearched(std::move(call), std::move(*filter)));
        return call.RefuseRequest(
            BadField("details", "cannot be combined with search, metadata or parameters").error());
    }
    // A page of a thousand results of a MiB each would be a GiB; whoever wants them gets shorter
    // pages.
    filter->brief = details == "false";
    const auto detail = filter->brief ? ExecutionDetail::kBrief : ExecutionDetail::kFull;
    const PartitionReader& rows = call.services().rows;
    rows.ListExecutions(*filter, [call = std::move(call), filter = *filter,
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

Result<Duration> ReadWait(const HttpRequest& request) {
    if (request.raw_query.empty()) return Duration(0);
    const auto text = request.Query("wait");
    if (!text) return Duration(0);
    const auto wait = ParseDuration(*text);
    if (!wait) return BadField("wait", wait.error().detail);
    if (*wait > kExecutionWaitMax) {
        return BadField("wait", "must be at most 50s; to wait longer ask again");
    }
    return *wait;
}

void GetExecution(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    const auto wait = ReadWait(call.request());
    if (!wait) return call.RefuseRequest(wait.error());
    const std::shared_ptr<Services> services = call.shared_services();
    if (*wait > Duration(0)) return services->waits->Wait(std::move(call), std::move(*id), *wait);
    services->reads->Get(std::move(call), std::move(*id));
}

}  // namespace

std::vector<RouteQuery> ExecutionFilterParameters() {
    return {{"task_id", "Of this task."},
            {"parent_id", "Of the steps of this run."},
            {"children", "true: those of steps too, beside those of tasks."},
            {"status", "In one of these states, separated by commas."},
            {"worker_id", "On this worker."},
            {"type", "Of this type."},
            {"queue", "Of this queue."},
            {"search",
             "With this text in name, id, type, queue, worker, step, metadata, error or a value of "
             "the parameters, A to Z without regard to case. A list looks at the newest 20000 that "
             "the rest of the filter leaves, and at 32 MiB of parameters; searched_to, "
             "parameters_searched_to and next_cursor say where to go on."},
            {"metadata", "With this metadata, name=value."},
            {"parameters",
             "With this value in the parameters, path=value: order.id=4711. Bounded like search."},
            {"from", "Created at this time or later."},
            {"to", "Created before this time."}};
}

void AddExecutionRoutes(std::vector<Route>& routes) {
    std::vector<RouteQuery> query = ExecutionFilterParameters();
    query.push_back({"details", "true: with parameters and result; pages end at 8 MiB of them."});
    query.push_back({"limit", "1 to 1000, 100 unless given."});
    query.push_back({"cursor", "Where the last page ended."});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/executions",
                      .permission = Permission::kViewer,
                      .handler = ListExecutions,
                      .tag = "executions",
                      .summary = "List executions, newest first",
                      .query = std::move(query),
                      .gives = "ExecutionList"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/executions/{id}",
                      .permission = Permission::kViewer,
                      .handler = GetExecution,
                      .tag = "executions",
                      .summary = "Get an execution; with wait, once it has ended",
                      .query = {{"wait",
                                 "A duration of up to 50s, such as 30s: answered as soon as it has "
                                 "ended, or after that long with how it stands. A change of leader "
                                 "answers at once: look at the status, and ask again."}},
                      .gives = "Execution",
                      .waits = true,
                      .waits_by = "wait"});
}

}  // namespace takt::internal
