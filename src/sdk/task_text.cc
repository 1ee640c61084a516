// Tasks and registrations as the REST API takes them, and tasks as it gives them.
#include <array>

#include "base/json.h"
#include "base/time.h"
#include "sdk/records.h"

namespace takt {
namespace {

using internal::JsonWriter;

constexpr std::array<std::string_view, 4> kModes = {"sequential", "parallel", "skip", "replace"};
constexpr std::array<std::string_view, 3> kMisfires = {"fire_once", "fire_all", "skip"};
constexpr std::array<std::string_view, 3> kDsts = {"once", "skip", "twice"};
constexpr std::array<std::string_view, 5> kWhens = {"all_success", "any_success", "all_done",
                                                    "any_failed", "none_failed"};
constexpr std::array<std::string_view, 2> kOnFailures = {"stop", "continue"};

template <typename Enum, std::size_t kCount>
Enum ByName(const std::array<std::string_view, kCount>& names, std::string_view name) {
    for (std::size_t i = 0; i < kCount; ++i) {
        if (names[i] == name) return static_cast<Enum>(i);
    }
    return Enum{};
}

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
    json.Key("retry_policy").BeginObject();
    Put(json, "max_retries", retry.max_retries);
    if (retry.delay) json.Field("delay", double(retry.delay->count()) / 1000);
    if (retry.backoff_rate) json.Field("backoff_rate", *retry.backoff_rate);
    if (retry.delay_max) json.Field("delay_max", double(retry.delay_max->count()) / 1000);
    if (retry.jitter) json.Field("jitter", *retry.jitter);
    json.EndObject();
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

RetryPolicy ReadRetry(const JsonFields& fields) {
    const internal::JsonView* policy = fields.Find("retry_policy");
    if (!policy) return {};
    const JsonFields inner(*policy);
    return {.max_retries = inner.Count<std::uint32_t>("max_retries"),
            .delay = inner.Span("delay"),
            .backoff_rate = inner.Number("backoff_rate"),
            .delay_max = inner.Span("delay_max"),
            .jitter = inner.Number("jitter")};
}

RateLimit ReadRate(const JsonFields& fields) {
    const internal::JsonView* rate = fields.Find("rate_limit");
    if (!rate) return {};
    const JsonFields inner(*rate);
    return {.count = inner.Count<std::uint32_t>("count"), .per = inner.Span("per")};
}

void ReadRecurrence(const JsonFields& fields, Task& task) {
    task.cron_expression = fields.Text("cron_expression");
    task.interval = fields.Span("interval");
    task.interval_after_end = fields.Span("interval_after_end");
    task.timezone = fields.Text("timezone");
    task.dst = ByName<Dst>(kDsts, fields.Text("dst"));
    task.start_at = fields.When("start_at");
    task.end_at = fields.When("end_at");
    task.fires_max = fields.Count<std::uint32_t>("fires_max");
    task.jitter = fields.Span("jitter");
    task.excluded_dates = fields.Texts("excluded_dates");
    task.execution_mode = ByName<ExecutionMode>(kModes, fields.Text("execution_mode"));
    task.misfire_policy = ByName<MisfirePolicy>(kMisfires, fields.Text("misfire_policy"));
    task.misfires_max = fields.Count<std::uint32_t>("misfires_max");
    task.backlog_max = fields.Count<std::uint32_t>("backlog_max");
    task.start_deadline = fields.Span("start_deadline");
    task.catch_up_after_pause = fields.Bool("catch_up_after_pause");
    task.enabled = fields.Bool("enabled");
}

}  // namespace

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

// Names, or objects for more than one permit.
static void ReadLocks(const internal::JsonView& list, std::vector<LockWant>& locks) {
    if (list.kind() != internal::JsonView::Kind::kArray) return;
    internal::JsonView::Elements elements(list);
    while (elements.Next()) {
        const internal::JsonView element = elements.value();
        std::string scratch;
        if (element.is_string()) {
            locks.push_back({.name = std::string(element.AsString(scratch))});
        } else {
            const JsonFields lock(element);
            locks.push_back(
                {.name = lock.Text("name"), .permits = lock.Count<std::uint32_t>("permits")});
        }
    }
}

static Step ReadStep(const JsonFields& fields) {
    Step step;
    step.name = fields.Text("name");
    step.type = fields.Text("type");
    step.task = fields.Text("task");
    step.payload = fields.Raw("payload");
    step.after = fields.Texts("after");
    step.when = ByName<When>(kWhens, fields.Text("when"));
    if (const internal::JsonView* condition = fields.Find("if")) {
        const JsonFields inner(*condition);
        step.condition = StepCondition{inner.Raw("value"), inner.Raw("equals")};
    }
    step.shards = fields.Count<std::uint32_t>("shards");
    step.for_each = fields.Raw("for_each");
    step.each_worker = fields.Bool("each_worker");
    step.parallel_max = fields.Count<std::uint32_t>("parallel_max");
    step.min_success = fields.Count<std::uint32_t>("min_success");
    step.queue = fields.Text("queue");
    if (fields.Find("priority")) step.priority = fields.Count<int>("priority");
    step.metadata = fields.Pairs("metadata");
    step.labels = fields.Pairs("labels");
    step.retry = ReadRetry(fields);
    step.executor = fields.Text("executor");
    step.load_balance_strategy = fields.Text("load_balance_strategy");
    step.timeout = fields.Span("timeout_seconds");
    step.expires_after = fields.Span("expires_after");
    step.delay = fields.Span("delay");
    step.concurrency_key = fields.Text("concurrency_key");
    step.concurrency_max = fields.Count<std::uint32_t>("concurrency_max");
    step.rate_limit = ReadRate(fields);
    if (const internal::JsonView* locks = fields.Find("locks")) ReadLocks(*locks, step.locks);
    return step;
}

TaskRecord ReadTask(const JsonFields& fields) {
    TaskRecord task;
    task.id = fields.Text("id");
    task.name = fields.Text("name");
    task.type = fields.Text("type");
    task.queue = fields.Text("queue");
    task.priority = fields.Count<int>("priority");
    task.payload = fields.Raw("parameters");
    task.metadata = fields.Pairs("metadata");
    task.labels = fields.Pairs("labels");
    task.executor = fields.Text("executor");
    task.load_balance_strategy = fields.Text("load_balance_strategy");
    task.retry = ReadRetry(fields);
    task.timeout = fields.Span("timeout_seconds");
    task.expires_after = fields.Span("expires_after");
    task.unique_key = fields.Text("unique_key");
    task.unique_for = fields.Span("unique_for");
    task.concurrency_key = fields.Text("concurrency_key");
    task.concurrency_max = fields.Count<std::uint32_t>("concurrency_max");
    task.rate_limit = ReadRate(fields);
    task.steps = ReadList<Step>(fields, "steps", ReadStep);
    task.on_failure = ByName<OnFailure>(kOnFailures, fields.Text("on_failure"));
    task.shards = fields.Count<std::uint32_t>("shards");
    task.each_worker = fields.Bool("each_worker");
    task.parallel_max = fields.Count<std::uint32_t>("parallel_max");
    task.min_success = fields.Count<std::uint32_t>("min_success");
    if (const internal::JsonView* locks = fields.Find("locks")) ReadLocks(*locks, task.locks);
    task.run_at = fields.When("run_at");
    task.delay = fields.Span("delay");
    task.version = fields.Count<std::uint32_t>("version");
    // Only what runs once has a state of its own.
    if (fields.Find("status")) {
        task.execution = ReadExecution(fields);
        task.execution->task_id = task.id;
        task.execution->task_name = task.name;
        return task;
    }
    ReadRecurrence(fields, task);
    task.created_at = fields.When("created_at");
    task.updated_at = fields.When("updated_at");
    task.next_fire_at = fields.When("next_fire_at");
    task.last_fire_at = fields.When("last_fire_at");
    task.fires = fields.Count<std::uint64_t>("fires");
    task.missed = fields.Count<std::uint64_t>("missed");
    return task;
}

}  // namespace takt
