// Executions: lists, counts, logs, steps, and changes of many.
#include "base/json.h"
#include "sdk/calls.h"
#include "sdk/questions.h"
#include "sdk/records.h"
#include "takt/scheduler_api.h"

namespace takt {
namespace {

using internal::PathOf;

constexpr std::size_t kLogBytesMax = 64 << 20;
constexpr std::size_t kLogPageMax = 1'000;

internal::Query FilterOf(const ExecutionFilter& filter) {
    std::string statuses;
    for (const Status status : filter.statuses) {
        statuses += (statuses.empty() ? "" : ",") + std::string(Name(status));
    }
    return {{"task_id", filter.task_id},
            {"status", statuses},
            {"worker_id", filter.worker_id},
            {"type", filter.type},
            {"queue", filter.queue},
            {"parent_id", filter.parent_id},
            {"children", filter.children ? "true" : ""},
            {"search", filter.search},
            {"metadata", filter.metadata},
            {"from", TimeText(filter.from)},
            {"to", TimeText(filter.to)}};
}

// The same filter as the body of a change.
Result<std::string> FilterBody(const ExecutionFilter& filter) {
    std::string body;
    internal::JsonWriter json(body);
    json.BeginObject();
    for (const auto& [name, value] : FilterOf(filter)) {
        if (value.empty()) continue;
        if (name == "parent_id" || name == "children") {
            return Error{ErrorCode::kInvalid, "many are not changed by their run; cancel the run",
                         std::string(name)};
        }
        json.Field(name, std::string_view(value));
    }
    json.Field("limit", filter.limit);
    if (!filter.cursor.empty()) json.Field("cursor", std::string_view(filter.cursor));
    json.EndObject();
    return body;
}

Sweep ReadSweep(const JsonFields& fields) {
    Sweep sweep;
    sweep.matched = fields.Count<std::size_t>("matched");
    sweep.changed = fields.Count<std::size_t>("changed");
    sweep.next_cursor = fields.Text("next_cursor");
    const internal::JsonView* list = fields.Find("items");
    if (!list) return sweep;
    internal::JsonView::Elements elements(*list);
    while (elements.Next()) {
        const JsonFields item(elements.value());
        const internal::JsonView* problem = item.Find("problem");
        if (!problem) continue;
        const auto error =
            internal::RefusalOf("the scheduler", item.Count<int>("status"), problem->raw());
        sweep.refused.push_back({item.Text("id"), ErrorOf(error)});
    }
    return sweep;
}

Result<Sweep> ChangeMany(Calls& calls, const ExecutionFilter& filter, const std::string& path) {
    const auto body = FilterBody(filter);
    if (!body) return body.error();
    return Post(calls, path, *body, ReadSweep);
}

ExecutionCounts ReadCounts(const JsonFields& fields) {
    ExecutionCounts counts;
    counts.total = fields.Count<std::uint64_t>("total");
    counts.complete = fields.Bool("complete");
    counts.counted_to = fields.When("counted_to");
    const JsonFields by_status = fields.Inner("counts");
    for (int i = 0; i <= static_cast<int>(Status::kSkipped); ++i) {
        const auto status = static_cast<Status>(i);
        counts.by_status[status] = by_status.Count<std::uint64_t>(Name(status));
    }
    return counts;
}

LogChunk ReadChunk(const JsonFields& chunk) {
    return {.attempt = chunk.Count<std::uint32_t>("attempt"),
            .at = chunk.When("at").value_or(Time{}),
            .lines = chunk.Text("lines")};
}

RunStep ReadRunStep(const JsonFields& fields) {
    const JsonFields counts = fields.Inner("executions");
    const auto count = [&](std::string_view name) { return counts.Count<std::uint64_t>(name); };
    return {.name = fields.Text("name"),
            .status = fields.Text("status"),
            .after = fields.Texts("after"),
            .total = count("total"),
            .success = count("success"),
            .failed = count("failed"),
            .cancelled = count("cancelled"),
            .skipped = count("skipped"),
            .running = count("running"),
            .waiting = count("waiting"),
            .execution_id = fields.Text("execution_id"),
            .started_at = fields.When("started_at"),
            .finished_at = fields.When("finished_at"),
            .reason = fields.Text("reason"),
            .result = fields.Raw("result")};
}

}  // namespace

Result<Page<Execution>> SchedulerApi::ListExecutions(const ExecutionFilter& filter) {
    internal::Query query = FilterOf(filter);
    // A search looks through many, and gives none of them whole.
    const bool searched = !filter.search.empty() || !filter.metadata.empty();
    query.emplace_back("details", searched ? "" : "true");
    query.emplace_back("limit", std::to_string(filter.limit));
    query.emplace_back("cursor", filter.cursor);
    return GetPage<Execution>(*calls_, internal::WithQuery("/api/v1/executions", query),
                              ReadExecution);
}

Result<ExecutionCounts> SchedulerApi::CountExecutions(const ExecutionFilter& filter) {
    return Get(*calls_, internal::WithQuery("/api/v1/execution-counts", FilterOf(filter)),
               ReadCounts);
}

Result<Sweep> SchedulerApi::RetryExecutions(const ExecutionFilter& filter) {
    return ChangeMany(*calls_, filter, "/api/v1/executions/retry");
}

Result<Sweep> SchedulerApi::CancelExecutions(const ExecutionFilter& filter) {
    return ChangeMany(*calls_, filter, "/api/v1/executions/cancel");
}

Result<RunRecord> SchedulerApi::GetRun(std::string_view id) {
    return Get(*calls_, PathOf("executions", id, "steps"), [](const JsonFields& fields) {
        return RunRecord{.id = fields.Text("id"),
                         .status = fields.Text("status"),
                         .ending = fields.Text("ending"),
                         .round = fields.Count<std::uint32_t>("round"),
                         .steps = ReadList<RunStep>(fields, "items", ReadRunStep)};
    });
}

Result<Page<LogChunk>> SchedulerApi::ReadLog(std::string_view id, std::string_view cursor) {
    return GetPage<LogChunk>(*calls_,
                             internal::WithQuery(PathOf("executions", id, "log"),
                                                 {{"limit", std::to_string(kLogPageMax)},
                                                  {"cursor", std::string(cursor)}}),
                             ReadChunk);
}

Result<std::string> SchedulerApi::GetLog(std::string_view id) {
    std::string log;
    std::string cursor;
    while (log.size() < kLogBytesMax) {
        const auto page = ReadLog(id, cursor);
        if (!page) return page.error();
        for (const LogChunk& chunk : page->items) log += chunk.lines;
        if (page->next_cursor.empty()) break;
        cursor = page->next_cursor;
    }
    return log;
}

}  // namespace takt
