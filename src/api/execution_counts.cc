// How many executions fit a filter: by state, and over time.
#include <array>
#include <utility>

#include "api/call_flow.h"
#include "api/execution_search.h"
#include "api/json_schema.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "store/list_page.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

// Counted by looking at rows, which every store can: so many, for so long.
constexpr std::size_t kCountedRowsMax = 10'000;
constexpr std::size_t kCountPageRows = 1000;
constexpr std::chrono::seconds kCountTimeMax{1};
// Columns of a chart that people can tell apart.
constexpr std::int64_t kColumnsMax = 60;

using CountsByState = std::array<std::uint64_t, kStatusCount>;

struct CountedRow {
    Time at;
    Status status;
};

struct CountedPage {
    std::vector<CountedRow> rows;
    Serial last = 0;
    bool more = false;
    std::size_t looked_at = 0;
    std::size_t bytes = 0;
};

// Off the server's thread; only what is counted goes on to it.
CountedPage CountFitting(const ExecutionQuery& query, const std::vector<Execution>& rows) {
    CountedPage page{.more = MoreMayFollow(query, rows), .looked_at = rows.size()};
    if (!rows.empty()) page.last = rows.back().serial;
    for (const Execution& row : rows) {
        page.bytes += ListBytes(row);
        if (query.words.Fit(row)) page.rows.push_back({TimeOf(row.serial), row.status});
    }
    return page;
}

auto ReadToCount(const Call& call, const ExecutionQuery& query) {
    return Answered<Result<CountedPage>>(call, [&](auto done) {
        call.services().rows.ListExecutions(query,
                                            [query, done = std::move(done)](auto rows) mutable {
                                                if (!rows)
                                                    return done(std::unexpected(rows.error()));
                                                done(CountFitting(query, *rows));
                                            });
    });
}

// The shortest step of a clock or calendar by which the columns are not too many.
Duration StepFor(Duration span) {
    for (const Duration step : std::initializer_list<Duration>{
             1s, 5s, 10s, 30s, 1min, 5min, 10min, 30min, 1h, 3h, 6h, 12h, 24h, 7 * 24h}) {
        if (span / step < kColumnsMax) return step;
    }
    return 30 * 24h;
}

void WriteStates(JsonWriter& json, const CountsByState& counts) {
    for (int i = 0; i < kStatusCount; ++i) {
        json.Field(Name(static_cast<Status>(i)), counts[static_cast<std::size_t>(i)]);
    }
}

// Columns without gaps, from that of the oldest to that of the newest.
void WriteColumns(JsonWriter& json, const std::vector<CountedRow>& rows) {
    if (rows.empty()) {
        json.Field("step", "1s").Key("items").BeginArray().EndArray();
        return;
    }
    const auto [oldest, newest] = std::ranges::minmax(rows, {}, &CountedRow::at);
    const Duration step = StepFor(newest.at - oldest.at);
    const auto column = [&](Time at) { return at.time_since_epoch() / step; };
    const std::int64_t first = column(oldest.at);
    std::vector<CountsByState> columns(static_cast<std::size_t>(column(newest.at) - first + 1));
    for (const CountedRow& row : rows) {
        ++columns[static_cast<std::size_t>(column(row.at) - first)]
                 [static_cast<std::size_t>(row.status)];
    }
    json.Field("step", std::string_view(FormatDuration(step))).Key("items").BeginArray();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        json.BeginObject().Field("at", Time((first + static_cast<std::int64_t>(i)) * step));
        WriteStates(json, columns[i]);
        json.EndObject();
    }
    json.EndArray();
}

Flow<> CountExecutions(Call call) {
    auto query = QueryExecutions(call.request());
    if (!query) co_return call.RefuseRequest(query.error());
    query->limit = kCountPageRows;
    SearchBudget budget(query->words, kCountTimeMax);
    std::vector<CountedRow> rows;
    std::size_t looked_at = 0;
    bool more = true;
    while (more && looked_at < kCountedRowsMax && budget.goes_on()) {
        query->brief = budget.brief();
        const auto page = co_await ReadToCount(call, *query);
        if (!page) co_return call.RefuseAnswer(page.error());
        looked_at += page->looked_at;
        budget.Read(page->bytes);
        rows.insert(rows.end(), page->rows.begin(), page->rows.end());
        query->before = page->last;
        more = page->more;
    }
    CountsByState counts{};
    for (const CountedRow& row : rows) ++counts[static_cast<std::size_t>(row.status)];
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("total", rows.size()).Field("complete", !more);
    json.Key("counted_to");
    more ? json.Value(TimeOf(query->before)) : json.Null();
    json.Key("counts").BeginObject();
    WriteStates(json, counts);
    json.EndObject();
    WriteColumns(json, rows);
    json.EndObject();
    call.Json(200, std::move(body));
}

schema::Object& AddStates(schema::Object& object) {
    for (int i = 0; i < kStatusCount; ++i) {
        object.Add(Name(static_cast<Status>(i)), schema::Integer(0));
    }
    return object;
}

}  // namespace

void AddExecutionCountSchemas(SchemaList& to) {
    schema::Object counts, column;
    column.Add("at", schema::Time());
    to.emplace_back("ExecutionCounts", schema::Object()
                                           .Add("total", schema::Integer(0))
                                           .Add("complete", schema::Bool())
                                           .Add("counted_to", schema::OrNull(schema::Time()))
                                           .Add("counts", AddStates(counts).Text())
                                           .Add("step", schema::Duration())
                                           .Add("items", schema::ListOf(AddStates(column).Text()))
                                           .Text());
}

void AddExecutionCountRoutes(std::vector<Route>& routes) {
    Route route{
        .method = HttpMethod::kGet,
        .path = "/api/v1/execution-counts",
        .permission = Permission::kViewer,
        .handler = Flowing(CountExecutions),
        .tag = "executions",
        .summary = "How many executions fit a filter, by state and over the time of their creation",
        .gives = "ExecutionCounts"};
    route.query = ExecutionFilterParameters();
    routes.push_back(std::move(route));
}

}  // namespace takt::internal
