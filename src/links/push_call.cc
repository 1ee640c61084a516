#include "links/push_call.h"

#include "base/json.h"
#include "links/service_report.h"

namespace takt::internal {
namespace {

void WriteInput(JsonWriter& json, std::string_view input) {
    json.Key("parameters");
    if (input.empty()) {
        json.BeginObject().EndObject();
    } else if (CheckJson(input, {.bytes_max = input.size()})) {
        json.Raw(input);
    } else {
        json.Value(input);  // Not JSON: the submitter said so otherwise.
    }
}

void WriteMetadata(JsonWriter& json, const Pairs& metadata) {
    json.Key("metadata").BeginObject();
    for (const auto& [name, value] : metadata) json.UserKey(name).Value(value.view());
    json.EndObject();
}

void WriteLocks(JsonWriter& json, const std::vector<LockGrant>& locks) {
    json.Key("locks").BeginArray();
    for (const LockGrant& lock : locks) {
        json.BeginObject().Field("name", lock.name.view()).Field("token", lock.token);
        json.Field("permits", lock.permits).EndObject();
    }
    json.EndArray();
}

}  // namespace

HttpCall MakePushCall(const Worker& worker, const Assign& assign, const PushTerms& terms) {
    const Execution& execution = assign.execution;
    const Task& task = *execution.task;
    const std::string token = TokenText(execution.token);
    HttpCall call{.method = HttpMethod::kPost,
                  .url = worker.address.str() + "/execute",
                  .headers = {{"Content-Type", "application/json"}, {"X-Takt-Token", token}},
                  .timeout = terms.timeout,
                  .response_bytes_max = kReportBytesMax};
    TraceHeaders trace = AttemptHeaders(terms.tracing, execution);
    if (!trace.traceparent.empty()) {
        call.headers.emplace_back("traceparent", std::move(trace.traceparent));
    }
    if (!trace.tracestate.empty()) {
        call.headers.emplace_back("tracestate", std::move(trace.tracestate));
    }
    const std::string space = terms.space.empty() ? "" : "/namespaces/" + std::string(terms.space);
    const std::string own = "/api/v1" + space + "/executions/" + execution.id.text().str();
    const std::string path = own + "/callback";
    JsonWriter json(call.body);
    json.BeginObject();
    json.Field("execution_id", execution.id.view()).Field("task_id", task.id.view());
    json.Field("task_name", task.name.view()).Field("type", task.type.view());
    json.Field("attempt", execution.attempt);
    if (!execution.parent.empty()) {
        json.Field("parent_id", execution.parent.view()).Field("step", execution.step.view());
        const std::string results = own + "/results";
        json.Field("results_url", std::string_view(terms.callback_bases.front() + results));
    }
    if (execution.shard_total > 0) {
        json.Key("shard").BeginObject().Field("index", execution.shard_index);
        json.Field("total", execution.shard_total).EndObject();
    }
    WriteInput(json, execution.input());
    WriteMetadata(json, task.opt().metadata);
    if (!assign.locks.empty()) WriteLocks(json, assign.locks);
    json.Field("scheduled_at", execution.scheduled_at).Field("deadline", terms.deadline);
    json.Field("callback_url", std::string_view(terms.callback_bases.front() + path));
    json.Key("callback_urls").BeginArray();
    for (const std::string& base : terms.callback_bases) {
        json.Value(std::string_view(base + path));
    }
    json.EndArray();
    json.Field("callback_token", std::string_view(token));
    json.EndObject();
    return call;
}

}  // namespace takt::internal
