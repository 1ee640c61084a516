// Tasks as the REST API gives them.
#include "sdk/records.h"
#include "sdk/task_fields.h"

namespace takt {
namespace {

// Fills in the members of a list of task_fields.h.
class FieldReader {
  public:
    explicit FieldReader(const JsonFields& fields) : fields_(fields) {}

    void operator()(std::string_view name, std::string& to) const { to = fields_.Text(name); }
    void operator()(std::string_view name, bool& to) const { to = fields_.Bool(name); }
    void operator()(std::string_view name, Duration& to) const { to = fields_.Span(name); }
    void operator()(std::string_view name, std::optional<Time>& to) const {
        to = fields_.When(name);
    }
    template <std::integral T>
    void operator()(std::string_view name, T& to) const {
        to = fields_.Count<T>(name);
    }
    template <std::integral T>
    void operator()(std::string_view name, std::optional<T>& to) const {
        if (fields_.Find(name)) to = fields_.Count<T>(name);
    }
    void operator()(std::string_view name, std::map<std::string, std::string>& to) const {
        to = fields_.Pairs(name);
    }
    void operator()(std::string_view name, std::vector<std::string>& to) const {
        to = fields_.Texts(name);
    }
    template <typename Enum, std::size_t kCount>
    void operator()(std::string_view name, Enum& to,
                    const std::array<std::string_view, kCount>& names) const {
        to = NamedIn<Enum>(names, fields_.Text(name)).value_or(Enum{});
    }
    void operator()(std::string_view, RetryPolicy& to) const { to = ReadRetry(fields_); }
    void operator()(std::string_view name, RateLimit& to) const {
        const JsonFields rate = fields_.Inner(name);
        to = {.count = rate.Count<std::uint32_t>("count"), .per = rate.Span("per")};
    }
    void operator()(std::string_view name, std::vector<LockWant>& to) const;
    void operator()(std::string_view name, std::optional<StepCondition>& to) const {
        if (!fields_.Find(name)) return;
        const JsonFields inner = fields_.Inner(name);
        const FieldReader reader(inner);
        EachConditionField(to.emplace(), reader);
    }
    void Json(std::string_view name, std::string& to) const { to = fields_.Raw(name); }

  private:
    const JsonFields& fields_;
};

// Names, or objects for more than one permit.
void FieldReader::operator()(std::string_view name, std::vector<LockWant>& to) const {
    const internal::JsonView* list = fields_.Find(name);
    if (!list || list->kind() != internal::JsonView::Kind::kArray) return;
    internal::JsonView::Elements elements(*list);
    while (elements.Next()) {
        const internal::JsonView element = elements.value();
        std::string scratch;
        if (element.is_string()) {
            to.push_back({.name = std::string(element.AsString(scratch))});
        } else {
            const JsonFields lock(element);
            to.push_back(
                {.name = lock.Text("name"), .permits = lock.Count<std::uint32_t>("permits")});
        }
    }
}

Step ReadStep(const JsonFields& fields) {
    Step step;
    const FieldReader reader(fields);
    reader("name", step.name);
    EachStepField(step, reader);
    return step;
}

}  // namespace

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

TaskRecord ReadTask(const JsonFields& fields) {
    TaskRecord task;
    const FieldReader reader(fields);
    reader("name", task.name);
    reader.Json("parameters", task.payload);
    EachTaskField(task, reader);
    task.steps = ReadList<Step>(fields, "steps", ReadStep);
    reader("version", task.version);
    // Only what runs once has a state of its own.
    if (fields.Find("status")) {
        task.execution = ReadExecution(fields);
        task.execution->task_id = task.id;
        task.execution->task_name = task.name;
        return task;
    }
    EachRecurrenceField(task, reader);
    reader("enabled", task.enabled);
    reader("created_at", task.created_at);
    reader("updated_at", task.updated_at);
    reader("next_fire_at", task.next_fire_at);
    reader("last_fire_at", task.last_fire_at);
    reader("fires", task.fires);
    reader("missed", task.missed);
    return task;
}

}  // namespace takt
