#include "api/executor_json.h"

#include <algorithm>
#include <set>
#include <string>

#include "api/access.h"
#include "api/executor_fields.h"
#include "api/json_read.h"

namespace takt::internal {
namespace {

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

// Executors carry this label and the tasks they bring ask for it. A name is not enough: a stream
// worker that takes it for its group or id, now or later, would run what any executor may bring.
void AddLinkLabel(Pairs& labels) {
    std::erase_if(labels, [](const auto& label) { return label.first.view() == kLinkLabel; });
    const auto at = std::ranges::lower_bound(labels, kLinkLabel, {},
                                             [](const auto& label) { return label.first.view(); });
    labels.emplace(at, Text(kLinkLabel), Text(Name(LinkKind::kPush)));
}

// Reads the entries of `tasks`, each a task as POST /tasks takes it, with `task_name` for its name.
class TaskReader {
  public:
    TaskReader(Registration& registration, const RegistrationRules& rules)
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
        if (task.workflow()) {
            return BadField(FlowFieldOf(value),
                            "makes a workflow, whose parts could run elsewhere than on this "
                            "executor; make that with POST /api/v1/tasks");
        }
        // Both are shared with tasks that others made: whoever registers could lift their limits.
        for (const std::string_view shared : {"concurrency_key", "locks"}) {
            if (!HasMember(value, shared)) continue;
            return BadField(shared,
                            "is shared with other tasks; an operator sets it, with PATCH "
                            "/api/v1/tasks/{id}");
        }
        if (!names_.insert(task.name.str()).second) {
            return Fail(ErrorCode::kInvalid, "the name '" + task.name.str() + "' is there twice",
                        "task_name");
        }
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

    // The field that makes it a workflow.
    static std::string_view FlowFieldOf(const JsonView& value) {
        for (const std::string_view name : {"steps", "shards"}) {
            if (HasMember(value, name)) return name;
        }
        return "each_worker";
    }

    static bool HasMember(const JsonView& object, std::string_view name) {
        JsonView::Members members(object);
        while (members.Next()) {
            if (members.key() == name) return true;
        }
        return false;
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
    std::set<std::string> names_;
};

Result<void> ReadTasks(const JsonView& value, Registration& registration,
                       const RegistrationRules& rules) {
    if (value.kind() != JsonView::Kind::kArray) return BadField("tasks", "must be a list");
    std::size_t count = 0;
    JsonView::Elements elements(value);
    TaskReader reader(registration, rules);
    while (elements.Next()) {
        if (count == kExecutorTasksMax) return BadField("tasks", "are too many; 1000 at most");
        const std::string entry = "tasks[" + std::to_string(count++) + "]";
        auto read = reader.Read(elements.value());
        if (!read) return Inside(entry, std::move(read.error()));
    }
    auto& types = registration.worker.types;
    std::ranges::sort(types);
    types.erase(std::unique(types.begin(), types.end()), types.end());
    return {};
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
    auto draft = ReadRequest(ExecutorTable().request(), object, {.policy = rules.policy});
    if (!draft) return std::unexpected(std::move(draft.error()));
    Registration registration{.worker = std::move(draft->worker)};
    Worker& worker = registration.worker;
    worker.link = LinkKind::kPush;
    worker.name = worker.id.text();
    AddLinkLabel(worker.labels);
    if (auto same = CheckOrigins(worker); !same) return std::unexpected(same.error());
    if (draft->tasks) {
        auto read = ReadTasks(*draft->tasks, registration, rules);
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

void WriteExecutor(JsonWriter& json, const WorkerView& worker, const std::optional<PushView>& view,
                   const BroughtTasks& brought) {
    json.BeginObject();
    WriteFields(json, ExecutorTable().answer(), {worker, view, brought});
    json.EndObject();
}

}  // namespace takt::internal
