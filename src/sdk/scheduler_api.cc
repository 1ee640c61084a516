#include "takt/scheduler_api.h"

#include <algorithm>

#include "base/json.h"
#include "remote/remote.h"
#include "sdk/calls.h"
#include "sdk/own_names.h"
#include "sdk/questions.h"
#include "sdk/records.h"

namespace takt {
namespace {

using internal::HttpMethod;
using internal::JsonView;
using internal::PathOf;

constexpr std::size_t kPageMax = 1'000;

// How one task of many fared.
Result<std::string> ReadItem(const JsonFields& item) {
    const JsonView* problem = item.Find("problem");
    if (!problem) return item.Text("id");
    return InTaskNames(
        ErrorOf(internal::RefusalOf("the scheduler", item.Count<int>("status"), problem->raw())));
}

}  // namespace

SchedulerApi::SchedulerApi(std::shared_ptr<Calls> calls) : OperatorApi(std::move(calls)) {}
SchedulerApi::~SchedulerApi() {
    calls_->Stop();
}

Result<TaskRecord> SchedulerApi::SubmitTask(const Task& task) {
    const auto body = JsonOf(task);
    if (!body) return body.error();
    return InTaskNames(Post(*calls_, "/api/v1/tasks", *body, ReadTask));
}

Result<std::vector<Result<std::string>>> SchedulerApi::SubmitTasks(const std::vector<Task>& tasks) {
    std::vector<Result<std::string>> answers;
    if (tasks.empty()) return answers;
    std::string body = "[";
    // One that is no JSON has its answer already, and must not cost the others theirs.
    std::vector<std::optional<Error>> refused(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto text = JsonOf(tasks[i]);
        if (text) {
            body += (body.size() == 1 ? "" : ",") + *text;
        } else {
            refused[i] = text.error();
        }
    }
    std::vector<Result<std::string>> taken;
    if (body.size() > 1) {
        auto answer = Post(*calls_, "/api/v1/tasks/bulk", body + "]", [](const JsonFields& fields) {
            return ReadList<Result<std::string>>(fields, "items", ReadItem);
        });
        if (!answer) return answer.error();
        taken = std::move(*answer);
    }
    auto next = taken.begin();
    for (const auto& error : refused) {
        if (error) {
            answers.push_back(*error);
        } else if (next != taken.end()) {
            answers.push_back(std::move(*next++));
        }
    }
    return answers;
}

Result<TaskRecord> SchedulerApi::GetTask(std::string_view id) {
    return Get(*calls_, PathOf("tasks", id), ReadTask);
}

Result<Page<TaskRecord>> SchedulerApi::ListTasks(const TaskFilter& filter) {
    const std::string path =
        internal::WithQuery("/api/v1/tasks", {{"name", filter.name_contains},
                                              {"search", filter.search},
                                              {"type", filter.type},
                                              {"queue", filter.queue},
                                              {"metadata", filter.metadata},
                                              {"state", filter.state},
                                              {"limit", std::to_string(filter.limit)},
                                              {"cursor", filter.cursor}});
    return Get(*calls_, path, [](const JsonFields& fields) {
        return Page<TaskRecord>{ReadList<TaskRecord>(fields, "items", ReadTask),
                                fields.Text("next_cursor")};
    });
}

Result<std::vector<Execution>> SchedulerApi::ListInStatus(Status status, std::size_t limit) {
    std::vector<Execution> found;
    ExecutionFilter filter{.statuses = {status}};
    while (found.size() < limit) {
        filter.limit = std::min(limit - found.size(), kPageMax);
        auto page = ListExecutions(filter);
        if (!page) return page.error();
        for (Execution& execution : page->items) found.push_back(std::move(execution));
        if (page->next_cursor.empty()) break;
        filter.cursor = page->next_cursor;
    }
    return found;
}

Result<Execution> SchedulerApi::CancelTask(std::string_view id, std::string_view reason) {
    return Post(*calls_, PathOf("executions", id, "cancel"), Small("reason", reason),
                ReadExecution);
}

Result<Execution> SchedulerApi::UpdateTaskStatus(std::string_view id, Status status,
                                                 std::string_view message) {
    std::string body;
    internal::JsonWriter json(body);
    json.BeginObject().Field("status", Name(status));
    if (!message.empty()) json.Field("message", message);
    json.EndObject();
    return Ask(*calls_, HttpMethod::kPut, PathOf("executions", id, "status"), body, ReadExecution);
}

Result<Execution> SchedulerApi::RetryTask(std::string_view id) {
    return Post(*calls_, PathOf("executions", id, "retry"), {}, ReadExecution);
}

Result<Execution> SchedulerApi::TriggerTask(std::string_view id, std::string_view payload) {
    std::string body;
    if (!payload.empty()) {
        if (auto checked = internal::CheckJson(payload, {.bytes_max = payload.size()}); !checked) {
            return Error{ErrorCode::kInvalid, "the payload is not JSON: " + checked.error().detail,
                         "payload"};
        }
        body = "{\"payload\":" + std::string(payload) + "}";
    }
    return Post(*calls_, PathOf("tasks", id, "trigger"), body, ReadExecution);
}

Result<TaskRecord> SchedulerApi::PauseTask(std::string_view id) {
    return Post(*calls_, PathOf("tasks", id, "pause"), {}, ReadTask);
}

Result<TaskRecord> SchedulerApi::ResumeTask(std::string_view id) {
    return Post(*calls_, PathOf("tasks", id, "resume"), {}, ReadTask);
}

Result<Execution> SchedulerApi::GetExecution(std::string_view id) {
    return Get(*calls_, PathOf("executions", id), ReadExecution);
}

Result<std::string> SchedulerApi::Explain(std::string_view id) {
    return AskWhy(*calls_, "executions", id);
}

Result<WorkerRecord> SchedulerApi::RegisterWorker(const WorkerRegistration& worker) {
    const auto registered =
        calls_->Call({HttpMethod::kPost, "/api/v1/executors/register", JsonOf(worker)});
    if (!registered) {
        return InOwnNames(ErrorOf(registered.error()),
                          {{"base_url", "address"},
                           {"instance_id", "id"},
                           {"name", worker.name.empty() ? "id" : "name"},
                           {"tasks", "types"}});
    }
    return GetWorker(worker.id);
}

Result<void> SchedulerApi::SendHeartbeat(std::string_view worker_id) {
    return Only(calls_->Call({HttpMethod::kPost, PathOf("executors", worker_id, "heartbeat"), {}}));
}

Result<void> SchedulerApi::UnregisterWorker(std::string_view id) {
    auto removed = calls_->Call({HttpMethod::kDelete, PathOf("executors", id), {}});
    // Not one that is called over HTTP: perhaps one that connected.
    if (!removed && removed.error().code == internal::ErrorCode::kNotFound) {
        removed = calls_->Call({HttpMethod::kDelete, PathOf("workers", id), {}});
    }
    return Only(removed);
}

Result<WorkerRecord> SchedulerApi::GetWorker(std::string_view id) {
    return Get(*calls_, PathOf("workers", id), ReadWorker);
}

Result<std::vector<WorkerRecord>> SchedulerApi::ListWorkers() {
    return Get(*calls_, "/api/v1/workers", [](const JsonFields& fields) {
        return ReadList<WorkerRecord>(fields, "items", ReadWorker);
    });
}

Result<WorkerRecord> SchedulerApi::DrainWorker(std::string_view id, std::string_view reason) {
    return Post(*calls_, PathOf("workers", id, "drain"), Small("reason", reason), ReadWorker);
}

Result<WorkerRecord> SchedulerApi::ResumeWorker(std::string_view id) {
    return Post(*calls_, PathOf("workers", id, "resume"), {}, ReadWorker);
}

Result<WorkerRecord> SchedulerApi::SetWorkerCapacity(std::string_view id,
                                                     std::optional<std::uint32_t> capacity) {
    const std::string value = capacity ? std::to_string(*capacity) : "null";
    return Ask(*calls_, HttpMethod::kPut, PathOf("workers", id, "capacity"),
               R"({"capacity": )" + value + "}", ReadWorker);
}

Result<std::string> SchedulerApi::ExplainWorker(std::string_view id) {
    return AskWhy(*calls_, "workers", id);
}

Result<SchedulerStatus> SchedulerApi::GetStatus() {
    return Get(*calls_, "/api/v1/scheduler/status", ReadStatus);
}

Result<Metrics> SchedulerApi::GetMetrics() {
    return Get(*calls_, "/api/v1/metrics", ReadMetrics);
}

Result<std::string> SchedulerApi::GetLoadBalanceStrategy() {
    return Get(*calls_, "/api/v1/scheduler/strategy",
               [](const JsonFields& fields) { return fields.Text("strategy"); });
}

Result<void> SchedulerApi::SetLoadBalanceStrategy(std::string_view strategy) {
    std::string body;
    internal::JsonWriter json(body);
    json.BeginObject().Field("strategy", strategy).EndObject();
    return Only(calls_->Call({HttpMethod::kPut, "/api/v1/scheduler/strategy", body}));
}

Result<void> SchedulerApi::ResetLoadBalancer() {
    return Only(calls_->Call({HttpMethod::kPost, "/api/v1/scheduler/strategy/reset", {}}));
}

}  // namespace takt
