// Statistics: what ran, how often it succeeded, how long it took and waited.
#include "statistics/statistics.h"

#include "api/call_flow.h"
#include "api/json_read.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/services.h"

namespace takt::internal {
namespace {

void WriteNumber(JsonWriter& json, std::string_view key, const std::optional<double>& number) {
    json.Key(key);
    number ? json.Value(*number) : json.Null();
}

void WriteLine(JsonWriter& json, const ReportLine& line) {
    const StatisticsCell& cell = *line.cell;
    json.BeginObject().Field("key", line.key.view());
    json.Field("name", cell.name.empty() ? line.key.view() : cell.name.view());
    json.Field("total", cell.total()).Field("success", cell.success);
    json.Field("failed", cell.failed).Field("cancelled", cell.cancelled);
    json.Field("skipped", cell.skipped).Field("missed", cell.missed);
    json.Field("retries", cell.retries);
    WriteNumber(json, "success_rate", cell.success_rate());
    json.Key("duration").BeginObject();
    WriteNumber(json, "avg_ms", cell.duration.Mean());
    WriteNumber(json, "p50_ms", cell.duration.Quantile(0.5));
    WriteNumber(json, "p95_ms", cell.duration.Quantile(0.95));
    WriteNumber(json, "p99_ms", cell.duration.Quantile(0.99));
    json.Key("max_ms");
    cell.duration.count() > 0 ? json.Value(cell.duration.max_ms()) : json.Null();
    json.EndObject().Key("wait").BeginObject();
    WriteNumber(json, "avg_ms", cell.wait.Mean());
    WriteNumber(json, "p95_ms", cell.wait.Quantile(0.95));
    json.EndObject();
    json.Key("last_status");
    cell.last_status ? json.Value(Name(*cell.last_status)) : json.Null();
    json.Field("last_at", cell.last_at).EndObject();
}

Result<ReportQuery> ReadQuery(const HttpRequest& request, Time now) {
    ReportQuery query;
    if (const auto by = request.Query("by")) {
        const auto parsed = ParseReportBy(*by);
        if (!parsed) return BadField("by", "must be day, hour, task, type or worker");
        query.by = *parsed;
    }
    const auto time = [&](std::string_view name, Time standard) -> Result<Time> {
        const auto text = request.Query(name);
        if (!text) return standard;
        auto parsed = ParseTime(*text);
        if (!parsed) return BadField(name, "must be a time such as 2026-11-15T00:00:00Z");
        return *parsed;
    };
    const auto to = time("to", now);
    if (!to) return std::unexpected(to.error());
    const auto back = std::chrono::hours(query.by == ReportBy::kHour ? 24 : 7 * 24);
    const auto from = time("from", *to - back);
    if (!from) return std::unexpected(from.error());
    query.from = *from;
    query.to = *to;
    query.task = Text(request.Query("task_id").value_or(""));
    query.type = Text(request.Query("type").value_or(""));
    if (auto checked = CheckReport(query); !checked) return std::unexpected(checked.error());
    return query;
}

void SendLines(Call& call, const ReportQuery& query, const std::vector<ReportLine>& lines) {
    if (call.request().Query("format") == "csv") {
        HttpResponse response;
        response.content_type = "text/csv; charset=utf-8";
        response.headers.emplace_back(
            "Content-Disposition",
            "attachment; filename=\"takt-" + std::string(Name(query.by)) + ".csv\"");
        response.body = ReportCsv(query.by, lines);
        return call.Send(std::move(response));
    }
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("items").BeginArray();
    for (const ReportLine& line : lines) WriteLine(json, line);
    json.EndArray().Key("next_cursor").Null().EndObject();
    call.Json(200, std::move(body));
}

void GetStatistics(Call call) {
    const auto format = call.request().Query("format").value_or("json");
    if (format != "json" && format != "csv") {
        return call.RefuseRequest(BadField("format", "must be json or csv").error());
    }
    auto query = ReadQuery(call.request(), ReadClocks().wall);
    if (!query) return call.RefuseRequest(query.error());
    Statistics& statistics = call.services().statistics;
    statistics.Ask(*query, [call = std::move(call), query = *query](auto lines) mutable {
        if (!lines) return call.RefuseAnswer(lines.error());
        SendLines(call, query, *lines);
    });
}

void WritePoint(JsonWriter& json, const SeriesPoint& point) {
    json.BeginObject().Field("at", point.at);
    json.Field("submitted", point.submitted).Field("completed", point.completed);
    json.Field("failed", point.failed).Field("retries", point.retries);
    json.Field("running", point.running).Field("pending", point.pending);
    WriteNumber(json, "wait_p50_ms", point.wait_p50);
    WriteNumber(json, "wait_p99_ms", point.wait_p99);
    WriteNumber(json, "run_p50_ms", point.run_p50);
    WriteNumber(json, "run_p99_ms", point.run_p99);
    json.EndObject();
}

void GetSeries(Call call) {
    const auto minutes = QueryCount(call.request(), "minutes", {1, 360, 60});
    if (!minutes) return call.RefuseRequest(minutes.error());
    Statistics& statistics = call.services().statistics;
    statistics.AskSeries(
        std::chrono::minutes(*minutes), [call = std::move(call)](auto points) mutable {
            std::string body;
            JsonWriter json(body);
            const Duration step = call.services().statistics.config().step;
            json.BeginObject().Field("step", std::string_view(FormatDuration(step)));
            json.Key("items").BeginArray();
            for (const SeriesPoint& point : points) WritePoint(json, point);
            json.EndArray().EndObject();
            call.Json(200, std::move(body));
        });
}

// A queue that nothing was ever put into is a slip of the pen, not an idle one.
Flow<> GetQueueHistory(Call call) {
    const std::string_view given = call.request().Parameter("name");
    if (!IsValidId(given)) {
        co_return call.RefuseRequest(BadField("name", "is not the name of a queue").error());
    }
    const auto minutes = QueryCount(call.request(), "minutes", {1, 360, 60});
    if (!minutes) co_return call.RefuseRequest(minutes.error());
    const Text name(given);
    const auto known = co_await Looked<bool>(
        call, [&name](const Engine& engine) { return engine.FindQueue(name).has_value(); });
    if (!known) co_return call.RefuseAnswer(known.error());
    const auto history = co_await Answered<Statistics::QueueAnswer>(call, [&](auto done) {
        call.services().statistics.AskQueue(name, std::chrono::minutes(*minutes), std::move(done));
    });
    if (!*known && history.points.empty()) {
        co_return call.RefuseAnswer(
            {ErrorCode::kNotFound, "nothing was ever put into queue '" + name.str() + "'", "name"});
    }
    std::string body;
    JsonWriter json(body);
    const Duration step = call.services().statistics.config().queue_step;
    json.BeginObject().Field("step", std::string_view(FormatDuration(step)));
    json.Field("kept", history.kept).Key("items").BeginArray();
    for (const QueuePoint& point : history.points) {
        json.BeginObject().Field("at", point.at);
        json.Field("waiting", point.waiting).Field("working", point.working);
        json.Field("oldest_wait_ms", point.oldest_wait.count());
        json.Field("finished", point.finished).Field("failed", point.failed);
        WriteNumber(json, "wait_p95_ms", point.wait_p95);
        json.EndObject();
    }
    json.EndArray().EndObject();
    call.Json(200, std::move(body));
}

}  // namespace

void AddStatisticsRoutes(std::vector<Route>& routes) {
    routes.push_back(
        {.method = HttpMethod::kGet,
         .path = "/api/v1/statistics",
         .permission = Permission::kViewer,
         .where = Where::kLeader,
         .handler = GetStatistics,
         .tag = "statistics",
         .summary = "What ran: counts, success rate, durations, waits",
         .query =
             {{"by", "day (default), hour, task, type or worker."},
              {"from",
               "RFC 3339; by default a week (by hour: a day) before `to`. At most 1000 days, by "
               "hour at most 1000 hours, before it."},
              {"to", "RFC 3339; by default now."},
              {"task_id", "With by=day: of this task only."},
              {"type", "With by=day or by=task: of this type only."},
              {"format", "json (default) or csv."}},
         .gives = "Statistics",
         .gives_text = "text/csv"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/statistics/series",
                      .permission = Permission::kViewer,
                      .where = Where::kLeader,
                      .handler = GetSeries,
                      .tag = "statistics",
                      .summary = "The last hours in steps of ten seconds, for charts",
                      .query = {{"minutes", "How far back, 1 to 360; by default 60."}},
                      .gives = "Series"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/queues/{name}/history",
                      .permission = Permission::kViewer,
                      .where = Where::kLeader,
                      .handler = Flowing(GetQueueHistory),
                      .tag = "queues",
                      .summary = "How much waited in a queue and for how long, minute by minute",
                      .query = {{"minutes", "How far back, 1 to 360; by default 60."}},
                      .gives = "QueueHistory"});
}

}  // namespace takt::internal
