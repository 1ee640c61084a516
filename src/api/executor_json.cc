#include "api/executor_json.h"

#include <algorithm>
#include <array>
#include <string>

#include "api/access.h"
#include "api/json_read.h"
#include "api/task_field_readers.h"

namespace takt::internal {
namespace {

using task_field::Keep;

constexpr std::size_t kExecutorNameBytesMax = 200;
constexpr std::size_t kUrlBytesMax = 2'000;
constexpr std::size_t kTasksMax = 1'000;
constexpr std::size_t kSmallBodyBytesMax = 64 << 10;
constexpr PairLimits kExecutorLabelLimits = {32, 64, 256};
constexpr std::string_view kLinkLabel = "takt.link";

// The error of an entry of a list. Most sentences begin with the field; the rest, such
// as the column of a cron expression, is said of it.
std::unexpected<Error> Inside(std::string_view entry, Error error) {
    const std::string field = error.field;
    error.field = std::string(entry) + (field.empty() ? "" : "." + field);
    error.detail = error.detail.starts_with(field + " ")
                       ? error.field + error.detail.substr(field.size())
                       : error.field + ": " + error.detail;
    return std::unexpected(std::move(error));
}

Result<Text> ReadName(const JsonView& value, std::string_view field, std::size_t bytes_max) {
    std::string scratch;
    const auto text = ReadText(value, field, bytes_max, scratch);
    if (!text) return std::unexpected(text.error());
    return Text(*text);
}

// Without the slashes at its end: paths are added to it.
Result<Text> ReadBaseUrl(const JsonView& value, const ServicePolicy& policy) {
    auto text = ReadName(value, "base_url", kUrlBytesMax);
    if (!text) return text;
    std::string_view url = text->view();
    while (url.ends_with('/')) url.remove_suffix(1);
    if (url.find('?') != std::string_view::npos) {
        return BadField("base_url", "must not have a query: paths are added to it");
    }
    const auto checked = policy.Check(url, "base_url");
    if (!checked) return std::unexpected(checked.error());
    return Text(url);
}

Result<Text> ReadHealthUrl(const JsonView& value, const ServicePolicy& policy) {
    auto text = ReadName(value, "health_check_url", kUrlBytesMax);
    if (!text) return text;
    const auto checked = policy.Check(text->view(), "health_check_url");
    if (!checked) return std::unexpected(checked.error());
    return text;
}

// Executors carry this label and the tasks they bring ask for it. A name is not enough: a stream
// worker that takes it for its group or id, now or later, would run what any executor may bring.
void AddLinkLabel(Pairs& labels) {
    std::erase_if(labels, [](const auto& label) { return label.first.view() == kLinkLabel; });
    const auto at = std::ranges::lower_bound(labels, kLinkLabel, {},
                                             [](const auto& label) { return label.first.view(); });
    labels.emplace(at, Text(kLinkLabel), Text(Name(LinkKind::kPush)));
}

// Reads one entry of `tasks`: a task as POST /tasks takes it, with `task_name` for its name.
class TaskEntry {
  public:
    TaskEntry(Registration& registration, const RegistrationRules& rules)
        : registration_(registration), rules_(rules) {}

    Result<void> Read(const JsonView& value) {
        if (value.kind() != JsonView::Kind::kObject) {
            return BadField("", "must be a JSON object");
        }
        std::string other;  // A field beside the names.
        auto text = Renamed(value, other);
        if (!text) return std::unexpected(text.error());
        auto request = ReadTask(JsonView(*text), rules_.task_limits, rules_.texts, {});
        if (!request) return std::unexpected(NamedBack(value, std::move(request.error())));
        Task& task = *request->task;
        registration_.worker.types.push_back(task.type);
        if (!task.recurring()) {
            if (other.empty()) return {};
            return BadField(other, "needs a schedule; add cron, interval or interval_after_end");
        }
        const Text& executor = registration_.worker.group;
        task.id = ExecutorTaskId(executor, task.name);
        auto options = std::make_unique<TaskOptions>(task.opt());
        options->target = executor;
        AddLinkLabel(options->labels);
        task.options = std::move(options);
        registration_.tasks.push_back(std::move(*request));
        return {};
    }

  private:
    static Result<std::string> Renamed(const JsonView& value, std::string& other) {
        std::string text = "{";
        JsonView::Members members(value);
        while (members.Next()) {
            std::string_view key = members.key();
            if (key == "id" || key == "executor") {
                return BadField(key, "comes from the registration; leave it out");
            }
            if (key == "task_name") key = "name";
            if (key != "name" && key != "type") other = key;
            if (text.size() > 1) text += ',';
            AppendJsonString(text, key);
            text += ':';
            text += members.value().raw();
        }
        return text + '}';
    }

    // The name is blamed as the registration calls it.
    static Error NamedBack(const JsonView& value, Error error) {
        JsonView::Members members(value);
        while (members.Next()) {
            if (members.key() == "name") return error;
        }
        if (error.field != "name") return error;
        error.field = "task_name";
        if (error.detail.starts_with("name ")) error.detail = "task_" + error.detail;
        return error;
    }

    Registration& registration_;
    const RegistrationRules& rules_;
};

Result<void> ReadTasks(const JsonView& value, Registration& registration,
                       const RegistrationRules& rules) {
    if (value.kind() != JsonView::Kind::kArray) return BadField("tasks", "must be a list");
    std::size_t count = 0;
    JsonView::Elements elements(value);
    while (elements.Next()) {
        if (count == kTasksMax) return BadField("tasks", "are too many; 1000 at most");
        const std::string entry = "tasks[" + std::to_string(count++) + "]";
        auto read = TaskEntry(registration, rules).Read(elements.value());
        if (!read) return Inside(entry, std::move(read.error()));
    }
    auto& types = registration.worker.types;
    std::ranges::sort(types);
    types.erase(std::unique(types.begin(), types.end()), types.end());
    auto& tasks = registration.tasks;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (tasks[i].task->id == tasks[j].task->id) {
                return BadField("tasks", "name '" + tasks[i].task->name.str() + "' twice");
            }
        }
    }
    return {};
}

constexpr std::array<std::string_view, 9> kRegistrationFields = {
    "name",     "instance_id", "base_url", "health_check_url", "tasks",
    "capacity", "weight",      "labels",   "process_id"};

Result<void> ReadField(std::string_view key, const JsonView& value, Worker& worker,
                       const RegistrationRules& rules) {
    if (key == "name") {
        return Keep(ReadName(value, key, kExecutorNameBytesMax), [&](Text t) { worker.group = t; });
    }
    if (key == "instance_id") {
        std::string scratch;
        const auto text = value.is_string() ? value.AsString(scratch) : std::string_view();
        return Keep(WorkerId::Parse(text, key), [&](WorkerId id) { worker.id = std::move(id); });
    }
    if (key == "base_url") {
        return Keep(ReadBaseUrl(value, rules.policy), [&](Text url) { worker.address = url; });
    }
    if (key == "health_check_url") {
        return Keep(ReadHealthUrl(value, rules.policy), [&](Text url) { worker.health_url = url; });
    }
    if (key == "capacity") {
        return Keep(ReadInteger(value, key, {1, kCapacityMax}),
                    [&](std::int64_t n) { worker.capacity = static_cast<std::uint32_t>(n); });
    }
    if (key == "weight") {
        return Keep(ReadInteger(value, key, {1, kWeightMax}),
                    [&](std::int64_t n) { worker.weight = static_cast<std::uint32_t>(n); });
    }
    if (key == "labels") {
        return Keep(ReadPairs(value, key, kExecutorLabelLimits),
                    [&](Pairs p) { worker.labels = p; });
    }
    if (key == "process_id") {
        return Keep(ReadName(value, key, kExecutorNameBytesMax),
                    [&](Text t) { worker.instance = t; });
    }
    return UnknownField(key, kRegistrationFields);
}

// A health page elsewhere would tell nothing about who is called, and would be one more address.
Result<void> CheckOrigins(const Worker& worker) {
    if (worker.health_url.empty()) return {};
    const auto base = ParseUrl(worker.address);
    const auto health = ParseUrl(worker.health_url);
    if (base && health && base->Origin() == health->Origin()) return {};
    return BadField("health_check_url", "must have the scheme, host and port of base_url");
}

}  // namespace

Result<Registration> ReadRegistration(const JsonView& object, const RegistrationRules& rules) {
    Registration registration;
    Worker& worker = registration.worker;
    worker.link = LinkKind::kPush;
    std::optional<JsonView> tasks;
    JsonView::Members members(object);
    while (members.Next()) {
        const JsonView value = members.value();
        if (members.key() == "tasks") {
            tasks = value;  // Read last: they need the name.
            continue;
        }
        auto read = ReadField(members.key(), value, worker, rules);
        if (!read) return std::unexpected(std::move(read.error()));
    }
    if (worker.group.empty()) return BadField("name", "is missing");
    if (worker.id.empty()) return BadField("instance_id", "is missing");
    if (worker.address.empty()) return BadField("base_url", "is missing");
    worker.name = worker.id.text();
    AddLinkLabel(worker.labels);
    if (auto same = CheckOrigins(worker); !same) return std::unexpected(same.error());
    if (tasks && !tasks->is_null()) {
        auto read = ReadTasks(*tasks, registration, rules);
        if (!read) return std::unexpected(std::move(read.error()));
    }
    return registration;
}

TaskId ExecutorTaskId(std::string_view executor, std::string_view task_name) {
    const std::string plain = std::string(executor) + "." + std::string(task_name);
    if (IsValidId(plain)) return TaskId(Text(plain));
    std::string both(executor);
    both += '\0';
    both += task_name;
    const Sha256 hash = Sha256Of(both);
    const std::string_view bytes(reinterpret_cast<const char*>(hash.data()), 16);
    return TaskId(Text("executor-task-" + HexText(bytes)));
}

Result<WorkerLoad> ReadLoad(std::string_view body) {
    static constexpr std::array<std::string_view, 4> kNames = {"cpu", "memory", "connections",
                                                               "draining"};
    WorkerLoad load;
    if (body.empty()) return load;
    const auto object = ReadObject(body, kSmallBodyBytesMax);
    if (!object) return std::unexpected(object.error());
    JsonView::Members members(*object);
    while (members.Next()) {
        const std::string_view key = members.key();
        const JsonView value = members.value();
        Result<void> read;
        if (key == "cpu" || key == "memory") {
            read = Keep(ReadNumber(value, key, {0, 1}), [&](double fraction) {
                (key == "cpu" ? load.cpu : load.memory) = static_cast<float>(fraction);
            });
        } else if (key == "connections") {
            read = Keep(ReadInteger(value, key, {0, kCapacityMax}),
                        [&](std::int64_t n) { load.connections = static_cast<std::uint32_t>(n); });
        } else if (key == "draining") {
            read = Keep(ReadBool(value, key), [&](bool draining) { load.draining = draining; });
        } else {
            read = UnknownField(key, kNames);
        }
        if (!read) return std::unexpected(std::move(read.error()));
    }
    return load;
}

Result<StatusChange> ReadStatusChange(std::string_view body) {
    static constexpr std::array<std::string_view, 2> kNames = {"status", "reason"};
    const auto object = ReadObject(body, kSmallBodyBytesMax);
    if (!object) return std::unexpected(object.error());
    StatusChange change;
    bool found = false;
    std::string scratch;
    JsonView::Members members(*object);
    while (members.Next()) {
        const JsonView value = members.value();
        if (members.key() == "status") {
            const auto status =
                value.is_string() ? ParseWorkerStatus(value.AsString(scratch)) : std::nullopt;
            if (!status || *status == WorkerStatus::kDraining) {
                return BadField("status", "must be online, maintenance or offline");
            }
            change.status = *status;
            found = true;
        } else if (members.key() == "reason") {
            if (value.is_null()) continue;
            auto reason = ReadName(value, "reason", kReasonBytesMax);
            if (!reason) return std::unexpected(reason.error());
            change.reason = std::move(*reason);
        } else {
            return UnknownField(members.key(), kNames);
        }
    }
    if (!found) return BadField("status", "is missing");
    return change;
}

}  // namespace takt::internal
