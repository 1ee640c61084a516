// Tasks and registrations as the REST API takes them.
#include "base/json.h"
#include "base/time.h"
#include "sdk/records.h"
#include "sdk/task_names.h"

namespace takt {
namespace {

using internal::JsonWriter;

// Only what differs from the default is sent: what a kind of task does not have it must not name.
void Put(JsonWriter& json, std::string_view key, const std::string& text) {
    if (!text.empty()) json.Field(key, std::string_view(text));
}
void Put(JsonWriter& json, std::string_view key, Duration duration) {
    if (duration != Duration(0)) {
        json.Field(key, static_cast<double>(duration.count()) / 1000);
    }
}
void Put(JsonWriter& json, std::string_view key, std::optional<Time> time) {
    if (time) json.Field(key, internal::Time(time->time_since_epoch()));
}
void Put(JsonWriter& json, std::string_view key, std::uint32_t count) {
    if (count != 0) json.Field(key, count);
}
void Put(JsonWriter& json, std::string_view key, std::optional<std::uint32_t> count) {
    if (count) json.Field(key, *count);
}
template <typename Enum, std::size_t kCount>
void Put(JsonWriter& json, std::string_view key, Enum value,
         const std::array<std::string_view, kCount>& names) {
    const auto index = static_cast<std::size_t>(value);
    if (index > 0 && index < kCount) json.Field(key, names[index]);
}
void Put(JsonWriter& json, std::string_view key, const std::map<std::string, std::string>& pairs) {
    if (pairs.empty()) return;
    json.Key(key).BeginObject();
    for (const auto& [name, value] : pairs) {
        json.UserKey(name).Value(std::string_view(value));
    }
    json.EndObject();
}
void Put(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    json.Key(key).BeginArray();
    for (const std::string& text : texts) json.Value(std::string_view(text));
    json.EndArray();
}

void PutRetry(JsonWriter& json, const RetryPolicy& retry) {
    const bool set = retry.delay || retry.backoff_rate || retry.delay_max || retry.jitter;
    if (!set) return Put(json, "max_retry", retry.max_retries);
    WriteRetry(json, retry);
}

void PutRecurrence(JsonWriter& json, const Task& task) {
    Put(json, "cron_expression", task.cron_expression);
    Put(json, "interval", task.interval);
    Put(json, "interval_after_end", task.interval_after_end);
    Put(json, "timezone", task.timezone);
    Put(json, "dst", task.dst, kDsts);
    Put(json, "start_at", task.start_at);
    Put(json, "end_at", task.end_at);
    Put(json, "fires_max", task.fires_max);
    Put(json, "jitter", task.jitter);
    Put(json, "excluded_dates", task.excluded_dates);
    Put(json, "execution_mode", task.execution_mode, kModes);
    Put(json, "misfire_policy", task.misfire_policy, kMisfires);
    Put(json, "misfires_max", task.misfires_max);
    Put(json, "backlog_max", task.backlog_max);
    Put(json, "start_deadline", task.start_deadline);
    if (task.catch_up_after_pause) json.Field("catch_up_after_pause", true);
    if (!task.enabled) json.Field("enabled", false);
}

void Put(JsonWriter& json, const RateLimit& limit) {
    if (limit.count == 0) return;
    json.Key("rate_limit").BeginObject().Field("count", limit.count);
    Put(json, "per", limit.per);
    json.EndObject();
}
void Put(JsonWriter& json, const std::vector<LockWant>& locks) {
    if (locks.empty()) return;
    json.Key("locks").BeginArray();
    for (const LockWant& lock : locks) {
        json.BeginObject().Field("name", std::string_view(lock.name));
        json.Field("permits", lock.permits).EndObject();
    }
    json.EndArray();
}

// JSON that the caller wrote, as it is.
struct RawJson {
    std::string_view key;
    std::string_view text;
    std::string_view field;  // To be blamed.
};
Result<void> PutRaw(JsonWriter& json, const RawJson& raw) {
    if (raw.text.empty()) return {};
    const auto checked = internal::CheckJson(raw.text, {.bytes_max = raw.text.size()});
    if (!checked) {
        return Error{ErrorCode::kInvalid,
                     "the " + std::string(raw.key) + " is not JSON: " + checked.error().detail,
                     std::string(raw.field)};
    }
    json.Key(raw.key).Raw(raw.text);
    return {};
}

Result<void> PutStep(JsonWriter& json, const Step& step, const std::string& path) {
    json.BeginObject();
    json.Field("name", std::string_view(step.name));
    Put(json, "type", step.type);
    Put(json, "task", step.task);
    Put(json, "after", step.after);
    Put(json, "when", step.when, kWhens);
    for (const auto& [key, text] : {std::pair("payload", std::string_view(step.payload)),
                                    std::pair("for_each", std::string_view(step.for_each))}) {
        const std::string field = path + key;
        if (auto put = PutRaw(json, {key, text, field}); !put) return put.error();
    }
    if (step.condition) {
        json.Key("if").BeginObject();
        const std::string field = path + "if";
        for (const auto& [key, text] :
             {std::pair("value", std::string_view(step.condition->value)),
              std::pair("equals", std::string_view(step.condition->equals))}) {
            if (auto put = PutRaw(json, {key, text, field}); !put) return put.error();
        }
        json.EndObject();
    }
    Put(json, "shards", step.shards);
    if (step.each_worker) json.Field("each_worker", true);
    Put(json, "parallel_max", step.parallel_max);
    Put(json, "min_success", step.min_success);
    Put(json, "queue", step.queue);
    if (step.priority) json.Field("priority", *step.priority);
    Put(json, "metadata", step.metadata);
    Put(json, "labels", step.labels);
    PutRetry(json, step.retry);
    Put(json, "executor", step.executor);
    Put(json, "load_balance_strategy", step.load_balance_strategy);
    Put(json, "timeout_seconds", step.timeout);
    Put(json, "expires_after", step.expires_after);
    Put(json, "delay", step.delay);
    Put(json, "concurrency_key", step.concurrency_key);
    Put(json, "concurrency_max", step.concurrency_max);
    Put(json, step.rate_limit);
    Put(json, step.locks);
    json.EndObject();
    return {};
}

Result<void> PutSteps(JsonWriter& json, const Task& task) {
    Put(json, "on_failure", task.on_failure, kOnFailures);
    Put(json, "shards", task.shards);
    if (task.each_worker) json.Field("each_worker", true);
    Put(json, "parallel_max", task.parallel_max);
    Put(json, "min_success", task.min_success);
    if (task.steps.empty()) return {};
    json.Key("steps").BeginArray();
    for (std::size_t i = 0; i < task.steps.size(); ++i) {
        const std::string path = "steps[" + std::to_string(i) + "].";
        if (auto put = PutStep(json, task.steps[i], path); !put) return put.error();
    }
    json.EndArray();
    return {};
}

}  // namespace

std::string_view Name(ExecutionMode mode) {
    return NameFrom(kModes, mode);
}
std::string_view Name(MisfirePolicy policy) {
    return NameFrom(kMisfires, policy);
}
std::string_view Name(Dst dst) {
    return NameFrom(kDsts, dst);
}
std::string_view Name(When when) {
    return NameFrom(kWhens, when);
}
std::string_view Name(OnFailure on_failure) {
    return NameFrom(kOnFailures, on_failure);
}

void WriteRetry(JsonWriter& json, const RetryPolicy& retry) {
    json.Key("retry_policy").BeginObject();
    Put(json, "max_retries", retry.max_retries);
    if (retry.delay) json.Field("delay", double(retry.delay->count()) / 1000);
    if (retry.backoff_rate) json.Field("backoff_rate", *retry.backoff_rate);
    if (retry.delay_max) json.Field("delay_max", double(retry.delay_max->count()) / 1000);
    if (retry.jitter) json.Field("jitter", *retry.jitter);
    json.EndObject();
}

Result<std::string> JsonOf(const Task& task) {
    if (!task.payload.empty()) {
        const auto checked = internal::CheckJson(task.payload, {.bytes_max = task.payload.size()});
        if (!checked) {
            return Error{ErrorCode::kInvalid, "the payload is not JSON: " + checked.error().detail,
                         "payload"};
        }
    }
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    Put(json, "id", task.id);
    Put(json, "name", task.name.empty() ? task.type : task.name);
    Put(json, "type", task.type);
    Put(json, "queue", task.queue);
    json.Field("priority", task.priority);
    if (!task.payload.empty()) json.Key("payload").Raw(task.payload);
    Put(json, "metadata", task.metadata);
    Put(json, "labels", task.labels);
    Put(json, "executor", task.executor);
    Put(json, "load_balance_strategy", task.load_balance_strategy);
    PutRetry(json, task.retry);
    Put(json, "timeout", task.timeout);
    Put(json, "expires_after", task.expires_after);
    Put(json, "unique_key", task.unique_key);
    Put(json, "unique_for", task.unique_for);
    Put(json, "concurrency_key", task.concurrency_key);
    Put(json, "concurrency_max", task.concurrency_max);
    Put(json, task.rate_limit);
    Put(json, task.locks);
    if (auto put = PutSteps(json, task); !put) return put.error();
    Put(json, "run_at", task.run_at);
    Put(json, "delay", task.delay);
    PutRecurrence(json, task);
    json.EndObject();
    return body;
}

std::string JsonOf(const WorkerRegistration& worker) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    json.Field("name", std::string_view(worker.name.empty() ? worker.id : worker.name));
    json.Field("instance_id", std::string_view(worker.id));
    json.Field("base_url", std::string_view(worker.address));
    Put(json, "health_check_url", worker.health_check_url);
    json.Key("tasks").BeginArray();
    for (const std::string& type : worker.types) {
        json.BeginObject().Field("task_name", std::string_view(type)).EndObject();
    }
    json.EndArray();
    json.Field("capacity", worker.capacity).Field("weight", worker.weight);
    Put(json, "labels", worker.labels);
    json.EndObject();
    return body;
}

}  // namespace takt
