// Tasks and registrations as the REST API takes them.
#include "base/json.h"
#include "base/time.h"
#include "sdk/records.h"
#include "sdk/task_fields.h"

namespace takt {
namespace {

using internal::JsonWriter;

// Sends the members of a list of task_fields.h that differ from their default: a field that a kind of
// task does not have it must not name.
class FieldWriter {
  public:
    // `path`: what stands before the name of a field that is at fault.
    explicit FieldWriter(JsonWriter& json, std::string path = {})
        : json_(json), path_(std::move(path)) {}

    // The first text that was to be JSON and is not.
    const std::optional<Error>& mistake() const { return mistake_; }

    void operator()(std::string_view name, const std::string& text) {
        if (!text.empty()) json_.Field(name, std::string_view(text));
    }
    void operator()(std::string_view name, bool set) {
        if (set) json_.Field(name, true);
    }
    void operator()(std::string_view name, Duration duration) {
        if (duration != Duration(0)) PutSeconds(name, duration);
    }
    void operator()(std::string_view name, std::optional<Duration> duration) {
        if (duration) PutSeconds(name, *duration);
    }
    void operator()(std::string_view name, std::optional<Time> time) {
        if (time) json_.Field(name, internal::Time(time->time_since_epoch()));
    }
    void operator()(std::string_view name, std::uint32_t count) {
        if (count != 0) json_.Field(name, count);
    }
    // A priority, of which 0 is one.
    void operator()(std::string_view name, int number) { json_.Field(name, number); }
    template <typename Number>
    void operator()(std::string_view name, const std::optional<Number>& number) {
        if (number) json_.Field(name, *number);
    }
    template <typename Enum, std::size_t kCount>
    void operator()(std::string_view name, Enum value,
                    const std::array<std::string_view, kCount>& names) {
        const auto index = static_cast<std::size_t>(value);
        if (index > 0 && index < kCount) json_.Field(name, names[index]);
    }
    void operator()(std::string_view name, const std::map<std::string, std::string>& pairs);
    void operator()(std::string_view name, const std::vector<std::string>& texts);
    void operator()(std::string_view name, const std::vector<LockWant>& locks);
    void operator()(std::string_view name, const RateLimit& limit);
    void operator()(std::string_view name, const RetryPolicy& retry);
    void operator()(std::string_view name, const std::optional<StepCondition>& condition);
    // A text that is JSON, as the caller wrote it.
    void Json(std::string_view name, std::string_view text);

  private:
    void PutSeconds(std::string_view name, Duration duration) {
        json_.Field(name, static_cast<double>(duration.count()) / 1000);
    }

    JsonWriter& json_;
    const std::string path_;
    std::optional<Error> mistake_;
};

void FieldWriter::operator()(std::string_view name,
                             const std::map<std::string, std::string>& pairs) {
    if (pairs.empty()) return;
    json_.Key(name).BeginObject();
    for (const auto& [key, value] : pairs) json_.UserKey(key).Value(std::string_view(value));
    json_.EndObject();
}

void FieldWriter::operator()(std::string_view name, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    json_.Key(name).BeginArray();
    for (const std::string& text : texts) json_.Value(std::string_view(text));
    json_.EndArray();
}

void FieldWriter::operator()(std::string_view name, const std::vector<LockWant>& locks) {
    if (locks.empty()) return;
    json_.Key(name).BeginArray();
    for (const LockWant& lock : locks) {
        json_.BeginObject().Field("name", std::string_view(lock.name));
        json_.Field("permits", lock.permits).EndObject();
    }
    json_.EndArray();
}

void FieldWriter::operator()(std::string_view name, const RateLimit& limit) {
    if (limit.count == 0) return;
    json_.Key(name).BeginObject().Field("count", limit.count);
    (*this)("per", limit.per);
    json_.EndObject();
}

void FieldWriter::operator()(std::string_view, const RetryPolicy& retry) {
    const bool set = retry.delay || retry.backoff_rate || retry.delay_max || retry.jitter;
    if (!set) return (*this)("max_retry", retry.max_retries);
    WriteRetry(json_, retry);
}

void FieldWriter::operator()(std::string_view name, const std::optional<StepCondition>& condition) {
    if (!condition) return;
    json_.Key(name).BeginObject();
    FieldWriter inner(json_);
    EachConditionField(*condition, inner);
    json_.EndObject();
    if (!inner.mistake_ || mistake_) return;
    mistake_ = inner.mistake_;
    mistake_->field = path_ + std::string(name);
}

void FieldWriter::Json(std::string_view name, std::string_view text) {
    if (text.empty()) return;
    const auto checked = internal::CheckJson(text, {.bytes_max = text.size()});
    if (checked) {
        json_.Key(name).Raw(text);
    } else if (!mistake_) {
        mistake_ = Error{ErrorCode::kInvalid,
                         "the " + std::string(name) + " is not JSON: " + checked.error().detail,
                         path_ + std::string(name)};
    }
}

// The mistake in it, if there is one.
std::optional<Error> PutSteps(JsonWriter& json, const std::vector<Step>& steps) {
    if (steps.empty()) return std::nullopt;
    json.Key("steps").BeginArray();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        FieldWriter writer(json, "steps[" + std::to_string(i) + "].");
        json.BeginObject().Field("name", std::string_view(steps[i].name));
        EachStepField(steps[i], writer);
        if (writer.mistake()) return writer.mistake();
        json.EndObject();
    }
    json.EndArray();
    return std::nullopt;
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
    FieldWriter writer(json);
    json.Key("retry_policy").BeginObject();
    writer("max_retries", retry.max_retries);
    writer("delay", retry.delay);
    writer("backoff_rate", retry.backoff_rate);
    writer("delay_max", retry.delay_max);
    writer("jitter", retry.jitter);
    json.EndObject();
}

Result<std::string> JsonOf(const Task& task) {
    std::string body;
    JsonWriter json(body);
    FieldWriter writer(json);
    json.BeginObject();
    writer("name", task.name.empty() ? task.type : task.name);
    writer.Json("payload", task.payload);
    EachTaskField(task, writer);
    EachRecurrenceField(task, writer);
    if (!task.enabled) json.Field("enabled", false);
    if (writer.mistake()) return *writer.mistake();
    if (auto mistake = PutSteps(json, task.steps)) return *mistake;
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
    FieldWriter writer(json);
    writer("health_check_url", worker.health_check_url);
    json.Key("tasks").BeginArray();
    for (const std::string& type : worker.types) {
        json.BeginObject().Field("task_name", std::string_view(type)).EndObject();
    }
    json.EndArray();
    json.Field("capacity", worker.capacity).Field("weight", worker.weight);
    writer("labels", worker.labels);
    json.EndObject();
    return body;
}

}  // namespace takt
