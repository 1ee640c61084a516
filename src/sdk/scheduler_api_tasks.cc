// Recurring tasks: changed, checked, looked ahead, made up for.
#include "base/json.h"
#include "sdk/calls.h"
#include "sdk/own_names.h"
#include "sdk/questions.h"
#include "sdk/records.h"
#include "takt/scheduler_api.h"

namespace takt {
namespace {

using internal::HttpMethod;
using internal::PathOf;

internal::HttpHeaderList OnlyVersion(std::uint32_t version) {
    if (version == 0) return {};
    return {{"If-Match", "\"" + std::to_string(version) + "\""}};
}

// The header is this library's, the version the caller's.
template <typename T>
Result<T> NameVersion(Result<T> answer) {
    return InOwnNames(InTaskNames(std::move(answer)), {{"If-Match", "version"}});
}

std::vector<Time> ReadTimes(const JsonFields& fields, std::string_view name) {
    std::vector<Time> times;
    for (const std::string& text : fields.Texts(name)) {
        if (const auto time = internal::ParseTime(text)) times.emplace_back(*time);
    }
    return times;
}

std::vector<Error> ReadMistakes(const JsonFields& fields) {
    return ReadList<Error>(fields, "errors", [](const JsonFields& mistake) {
        return InTaskNames({ErrorCode::kInvalid, mistake.Text("message"), mistake.Text("path")});
    });
}

Backfill ReadBackfill(const JsonFields& fields) {
    Backfill backfill;
    const internal::JsonView* run = fields.Find("run");
    if (run && !run->is_null()) backfill.run = ReadExecution(JsonFields(*run));
    backfill.count = fields.Count<std::uint64_t>("count");
    backfill.existing = fields.Count<std::uint64_t>("existing");
    backfill.due = ReadTimes(fields, "due");
    return backfill;
}

}  // namespace

Result<TaskRecord> SchedulerApi::UpdateTask(const Task& task, std::uint32_t version) {
    if (task.id.empty()) {
        return Error{ErrorCode::kInvalid, "which task is to be changed? Give its id", "id"};
    }
    if (!task.recurring()) {
        return Error{ErrorCode::kInvalid,
                     "a task that runs once cannot be changed: cancel it and submit another",
                     "cron_expression"};
    }
    const auto body = JsonOf(task);
    if (!body) return body.error();
    return NameVersion(ReadAnswer(
        calls_->Call({HttpMethod::kPut, PathOf("tasks", task.id), *body, OnlyVersion(version)}),
        ReadTask));
}

Result<TaskRecord> SchedulerApi::DeleteTask(std::string_view id, WaitingRuns runs,
                                            std::uint32_t version) {
    const std::string keep = runs == WaitingRuns::kKeep ? "?runs=keep" : "";
    return NameVersion(ReadAnswer(
        calls_->Call({HttpMethod::kDelete, PathOf("tasks", id) + keep, {}, OnlyVersion(version)}),
        ReadTask));
}

Result<std::vector<Error>> SchedulerApi::ValidateTask(const Task& task) {
    const auto body = JsonOf(task);
    // A payload that is no JSON cannot be sent, and is wrong already.
    if (!body) return std::vector<Error>{body.error()};
    return Post(*calls_, "/api/v1/tasks/validate", *body, ReadMistakes);
}

Result<std::vector<Time>> SchedulerApi::GetFires(std::string_view id, std::size_t count) {
    return Get(
        *calls_,
        internal::WithQuery(PathOf("tasks", id, "fires"), {{"count", std::to_string(count)}}),
        [](const JsonFields& fields) { return ReadTimes(fields, "fires"); });
}

Result<std::vector<Time>> SchedulerApi::PreviewFires(const Task& task, std::size_t count) {
    auto body = JsonOf(task);
    if (!body) return body.error();
    body->pop_back();  // The closing brace; a task always has a field before it.
    *body += ",\"count\":" + std::to_string(count) + "}";
    return InTaskNames(Post(*calls_, "/api/v1/tasks/preview", *body,
                            [](const JsonFields& fields) { return ReadTimes(fields, "fires"); }));
}

Result<Backfill> SchedulerApi::BackfillTask(std::string_view id, Time from,
                                            const BackfillOptions& options) {
    std::string body;
    internal::JsonWriter json(body);
    json.BeginObject().Field("from", internal::Time(from.time_since_epoch()));
    if (options.to) json.Field("to", internal::Time(options.to->time_since_epoch()));
    if (options.parallel_max != 0) json.Field("parallel_max", options.parallel_max);
    if (options.dry_run) json.Field("dry_run", true);
    json.EndObject();
    return Post(*calls_, PathOf("tasks", id, "backfill"), body, ReadBackfill);
}

Result<std::string> SchedulerApi::ExplainTask(std::string_view id) {
    return AskWhy(*calls_, "tasks", id);
}

}  // namespace takt
