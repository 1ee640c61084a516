// Executors as answers.
#include "api/answer_table.h"
#include "api/executor_json.h"
#include "api/worker_json.h"

namespace takt::internal {
namespace {

struct ExecutorAnswer {
    const WorkerView& worker;
    const std::optional<PushView>& view;
    const BroughtTasks& brought;
};

bool IsWatched(const ExecutorAnswer& answer) {
    return answer.view.has_value();
}

// It may say so itself in a heartbeat; an open circuit is shown as that.
WorkerStatus ShownStatus(const ExecutorAnswer& answer) {
    const bool open = answer.view && answer.view->circuit == CircuitBreaker::State::kOpen;
    const WorkerStatus status = answer.worker.row.status;
    const bool draining = status == WorkerStatus::kOnline && answer.worker.load.draining && !open;
    return draining ? WorkerStatus::kDraining : status;
}

void WriteHealth(JsonWriter& json, const ExecutorAnswer& answer) {
    json.BeginObject().Field("checked", answer.view->checked);
    json.Field("failures", answer.view->checks_failed);
    json.Field("last_failure", std::string_view(answer.view->trouble)).EndObject();
}

void WriteBrought(JsonWriter& json, const ExecutorAnswer& answer) {
    json.BeginArray();
    for (const auto& [name, task] : answer.brought) {
        json.BeginObject().Field("task_id", task.view());
        json.Field("task_name", name.view()).EndObject();
    }
    json.EndArray();
}

const AnswerTable<ExecutorAnswer>& ExecutorFields() {
    using Answer = ExecutorAnswer;
    static const AnswerTable<Answer> fields = {
        {"id", schema::Text(), "The same as instance_id.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.id.view()); }},
        {"instance_id", schema::Text(), "",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.id.view()); }},
        {"name", schema::Text(), "Of the service; tasks name it as their executor.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.group.view()); }},
        {"base_url", schema::Text(), "Where it is called.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.address.view()); }},
        {"health_check_url", schema::Text(), "Empty: its health is not checked.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.health_url.view()); }},
        {"status", WorkerStatusSchema(), "",
         [](JsonWriter& json, const Answer& a) { json.Value(Name(ShownStatus(a))); }},
        {"status_reason", schema::Text(), "What was said when it was set.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.status_reason.view()); }},
        {"types", schema::ListOf(schema::Text()), "Empty: any.",
         [](JsonWriter& json, const Answer& a) {
             json.BeginArray();
             for (const Text& type : a.worker.row.types) json.Value(type.view());
             json.EndArray();
         }},
        {"capacity", schema::Integer(0), "How many calls it takes at once.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.capacity); }},
        {"weight", schema::Integer(0), "Its share, for weighted_round_robin.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.weight); }},
        {"running", schema::Integer(0), "How many it has.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.busy); }},
        {"labels", schema::Map(), "",
         [](JsonWriter& json, const Answer& a) {
             json.BeginObject();
             for (const auto& [name, value] : a.worker.row.labels) {
                 json.UserKey(name).Value(value.view());
             }
             json.EndObject();
         }},
        {"circuit", schema::OneOf({"closed", "open", "half_open"}),
         "Open: too many calls failed, and it is not called for a while.",
         [](JsonWriter& json, const Answer& a) { json.Value(Name(a.view->circuit)); }, IsWatched},
        {"health",
         schema::Object()
             .Add("checked", schema::Bool())
             .Add("failures", schema::Integer(0))
             .Add("last_failure", schema::Text())
             .Text(),
         "What the checks found.", WriteHealth, IsWatched},
        {"registered_at", schema::OrNull(schema::Time()), "",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.joined_at); }},
        {"seen_at", schema::OrNull(schema::Time()), "When it was last heard of.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.seen_at); }},
        {"tasks",
         schema::ListOf(schema::Object()
                            .Add("task_id", schema::Text())
                            .Add("task_name", schema::Text())
                            .Text()),
         "After registering: the tasks that it brought.", WriteBrought,
         [](const Answer& a) { return !a.brought.empty(); }},
    };
    return fields;
}

}  // namespace

void WriteExecutor(JsonWriter& json, const WorkerView& worker, const std::optional<PushView>& view,
                   const BroughtTasks& brought) {
    json.BeginObject();
    WriteFields(json, ExecutorFields(), {worker, view, brought});
    json.EndObject();
}

std::string ExecutorSchema() {
    return AnswerSchema(ExecutorFields());
}

}  // namespace takt::internal
