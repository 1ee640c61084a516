#include "api/task_search.h"

#include <algorithm>
#include <utility>

#include "api/json_read.h"
#include "api/query.h"

namespace takt::internal {
namespace {

// Whole tasks, which may have a payload of a megabyte each: few at a time, and not all at once.
constexpr std::size_t kTaskPageRows = 200;
constexpr std::size_t kTasksSearchedMax = 10'000;
constexpr std::chrono::seconds kTaskSearchTimeMax{2};

// Nothing comes of it any more. One that fires after its run ended has no time while that lasts.
TaskState StateOf(const TaskRow& row) {
    if (row.state.paused) return TaskState::kPaused;
    const auto& recurrence = row.task->opt().recurrence;
    const bool waits_for_end = recurrence && recurrence->every_after_end > Duration(0);
    const bool used_up =
        recurrence && recurrence->fires_max > 0 && row.state.fires >= recurrence->fires_max;
    if (used_up || (row.state.next_at == Time{} && !waits_for_end)) return TaskState::kOver;
    return TaskState::kActive;
}

std::optional<TaskState> ParseTaskState(std::string_view name) {
    if (name == "active") return TaskState::kActive;
    if (name == "paused") return TaskState::kPaused;
    if (name == "over") return TaskState::kOver;
    return std::nullopt;
}

Result<void> SetTaskFilter(TaskQuery& query, std::string_view name, std::string_view value) {
    if (const auto set = SetSearch(query.words, name, value); !set || *set) {
        return set ? Result<void>() : std::unexpected(set.error());
    }
    if (name == "name") query.name_contains = Text(value);
    if (name == "type") query.type = Text(value);
    if (name == "queue") query.queue = Text(value);
    if (name == "state") {
        query.state = ParseTaskState(value);
        if (!query.state) return BadField(name, "must be active, paused or over");
    }
    if (name == "cursor") {
        auto after = ParseIdCursor(value);
        if (!after) return std::unexpected(after.error());
        query.after = std::move(*after);
    }
    return {};
}

// Off the server's thread.
TaskPage PickTasks(const TaskQuery& query, std::vector<TaskRow> rows) {
    TaskPage page;
    page.more = rows.size() == query.limit;
    if (!rows.empty()) page.last = rows.back().task->id.text().str();
    std::erase_if(rows, [&](const TaskRow& row) { return !query.Fits(row); });
    page.rows = std::move(rows);
    return page;
}

auto ReadTasks(const Call& call, const TaskQuery& query) {
    return Answered<Result<TaskPage>>(call, [&](auto done) {
        call.services().rows.ListTasks(query, [query, done = std::move(done)](auto rows) mutable {
            if (!rows) return done(std::unexpected(rows.error()));
            done(PickTasks(query, std::move(*rows)));
        });
    });
}

}  // namespace

bool TaskQuery::Fits(const TaskRow& row) const {
    return (!type || row.task->type == *type) && (!queue || row.task->queue == *queue) &&
           (!state || StateOf(row) == *state) && words.Fit(*row.task);
}

std::vector<RouteQuery> TaskListParameters() {
    return {
        {"name", "Only those whose name contains this."},
        {"search",
         "Only those with this text in name, id, type, queue, metadata or a value of the "
         "parameters, A to Z without regard to case. A call looks at 10000 tasks; next_cursor goes "
         "on."},
        {"metadata", "Only those with this metadata, name=value."},
        {"parameters", "Only those with this value in the parameters, path=value."},
        {"type", "Only those of this type."},
        {"queue", "Only those of this queue."},
        {"state", "Only those that are active, paused or over."},
        {"limit", "1 to 1000, 100 unless given."},
        {"cursor", "Where the last page ended."}};
}

Result<TaskQuery> ReadTaskQuery(const HttpRequest& request) {
    TaskQuery query;
    for (const auto& [name, value] : request.QueryAll()) {
        if (auto set = SetTaskFilter(query, name, value); !set) {
            return std::unexpected(set.error());
        }
    }
    const auto limit = QueryCount(request, "limit");
    if (!limit) return std::unexpected(limit.error());
    query.limit = *limit;
    return query;
}

Flow<Result<TaskPage>> SearchTasks(const Call& call, TaskQuery query) {
    const std::size_t limit = query.limit;
    const Steady until = SteadyClock::now() + kTaskSearchTimeMax;
    if (query.searched()) query.limit = kTaskPageRows;
    TaskPage found;
    std::size_t looked_at = 0;
    do {
        auto page = co_await ReadTasks(call, query);
        if (!page) co_return std::unexpected(page.error());
        looked_at += query.limit;
        const std::size_t room = limit - found.rows.size();
        found.more = page->more;
        if (!page->last.empty()) found.last = page->last;
        if (page->rows.size() > room) {
            page->rows.resize(room);
            found.more = true;
            found.last = page->rows.back().task->id.text().str();
        }
        std::ranges::move(page->rows, std::back_inserter(found.rows));
        query.after = found.last;
    } while (found.more && found.rows.size() < limit && looked_at < kTasksSearchedMax &&
             SteadyClock::now() < until);
    co_return found;
}

}  // namespace takt::internal
