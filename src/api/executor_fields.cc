#include "api/executor_fields.h"

#include "api/reason_body.h"
#include "api/request_kinds.h"
#include "api/resource_pages.h"
#include "api/schemas.h"
#include "api/task_field.h"
#include "api/worker_json.h"

namespace takt::internal {
namespace {

using ExecutorFields = std::vector<ResourceField<ExecutorDraft, ExecutorAnswer>>;

constexpr std::size_t kExecutorNameBytesMax = 200;
constexpr std::size_t kUrlBytesMax = 2'000;
constexpr PairLimits kExecutorLabelLimits = {32, 64, 256};

// --- Reading ------------------------------------------------------------------------------------

// A place in the worker that a registration describes.
template <typename T>
auto InWorker(T Worker::* member) {
    return [member](ExecutorDraft& draft) -> T& { return draft.worker.*member; };
}

Result<void> CheckAddress(const ExecutorDraft& draft, std::string_view url, std::string_view name) {
    const auto checked = draft.policy.Check(url, name);
    if (!checked) return std::unexpected(checked.error());
    return {};
}

// Without the slashes at its end: paths are added to it.
Result<void> ReadBaseUrl(ExecutorDraft& draft, const JsonView& value, std::string_view name) {
    std::string scratch;
    const auto text = ReadText(value, name, kUrlBytesMax, scratch);
    if (!text) return std::unexpected(text.error());
    std::string_view url = *text;
    while (url.ends_with('/')) url.remove_suffix(1);
    if (url.find('?') != std::string_view::npos) {
        return BadField(name, "must not have a query: paths are added to it");
    }
    draft.worker.address = Text(url);
    return CheckAddress(draft, url, name);
}

Result<void> ReadHealthUrl(ExecutorDraft& draft, const JsonView& value, std::string_view name) {
    std::string scratch;
    const auto url = ReadText(value, name, kUrlBytesMax, scratch);
    if (!url) return std::unexpected(url.error());
    draft.worker.health_url = Text(*url);
    return CheckAddress(draft, *url, name);
}

Taken<ExecutorDraft> TakenTasks() {
    const auto keep = [](ExecutorDraft& draft, const JsonView& value,
                         std::string_view) -> Result<void> {
        draft.tasks = value;
        return {};
    };
    return TakenBy<ExecutorDraft>::Own(
               schema::ListOf(ExecutorTaskSchema(), kExecutorTasksMax),
               "up to 1000 tasks as `POST /api/v1/tasks` takes them, with `task_name` for "
               "the name",
               keep)
        .Clears([](ExecutorDraft& draft) { draft.tasks.reset(); });
}

const std::string kUrlSchema = R"({"type":"string","format":"uri"})";

// --- Writing ------------------------------------------------------------------------------------

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

void WriteExecutorHealth(JsonWriter& json, const ExecutorAnswer& answer) {
    json.BeginObject().Field("checked", answer.view->checked);
    json.Field("failures", answer.view->checks_failed);
    json.Field("last_failure", std::string_view(answer.view->trouble)).EndObject();
}

void WriteBroughtTasks(JsonWriter& json, const ExecutorAnswer& answer) {
    json.BeginArray();
    for (const auto& [name, task] : answer.brought) {
        json.BeginObject().Field("task_id", task.view());
        json.Field("task_name", name.view()).EndObject();
    }
    json.EndArray();
}

void WriteExecutorTypes(JsonWriter& json, const ExecutorAnswer& answer) {
    json.BeginArray();
    for (const Text& type : answer.worker.row.types) json.Value(type.view());
    json.EndArray();
}

void WriteExecutorLabels(JsonWriter& json, const ExecutorAnswer& answer) {
    json.BeginObject();
    for (const auto& [name, value] : answer.worker.row.labels) {
        json.UserKey(name).Value(value.view());
    }
    json.EndObject();
}

// --- The table ----------------------------------------------------------------------------------

void AddExecutorIdentity(ExecutorFields& to) {
    using Answer = ExecutorAnswer;
    using Take = TakenBy<ExecutorDraft>;
    to.push_back({"id",
                  "The same as instance_id.",
                  {},
                  {schema::Text(),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.id.view()); }}});
    to.push_back({"instance_id",
                  "This process's place in the service; becomes the worker's id.",
                  Take::Id(InWorker(&Worker::id)).Required(),
                  {schema::Text(),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.id.view()); }}});
    to.push_back({"name",
                  "The service. Its instances share it; a task's executor names it.",
                  Take::Text(InWorker(&Worker::group), kExecutorNameBytesMax).Required(),
                  {schema::Text(), [](JsonWriter& json, const Answer& a) {
                       json.Value(a.worker.row.group.view());
                   }}});
    to.push_back({"process_id",
                  "New in each process: when it changes, what the earlier process had is given to "
                  "others at once instead of at its timeout.",
                  Take::Text(InWorker(&Worker::instance), kExecutorNameBytesMax)});
    to.push_back({"base_url",
                  "Where it is called. Paths are added to it.",
                  Take::Own(kUrlSchema, "http:// or https://", ReadBaseUrl).Required(),
                  {schema::Text(), [](JsonWriter& json, const Answer& a) {
                       json.Value(a.worker.row.address.view());
                   }}});
    to.push_back({"health_check_url",
                  "Asked by GET; of the same scheme, host and port. Without it the executor must "
                  "send heartbeats.",
                  Take::Own(kUrlSchema, "http:// or https://", ReadHealthUrl),
                  {schema::Text(), [](JsonWriter& json, const Answer& a) {
                       json.Value(a.worker.row.health_url.view());
                   }}});
}

void AddExecutorAbility(ExecutorFields& to) {
    using Answer = ExecutorAnswer;
    using Take = TakenBy<ExecutorDraft>;
    to.push_back({"tasks",
                  "The tasks that it brings. One without a schedule only says which type it can "
                  "run; without any it runs every type. A name stands there once. The answer to a "
                  "registration has their ids.",
                  TakenTasks(),
                  {schema::ListOf(schema::Object()
                                      .Add("task_id", schema::Text())
                                      .Add("task_name", schema::Text())
                                      .Text()),
                   WriteBroughtTasks, [](const Answer& a) { return !a.brought.empty(); }}});
    to.push_back({"types",
                  "The types that it runs. Empty: any.",
                  {},
                  {schema::ListOf(schema::Text()), WriteExecutorTypes}});
    to.push_back({"capacity",
                  "Executions at once; 10 unless given.",
                  Take::Count(InWorker(&Worker::capacity), {1, kCapacityMax}),
                  {schema::Integer(0),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.capacity); }}});
    to.push_back({"weight",
                  "Its share, for weighted_round_robin; 1 unless given.",
                  Take::Count(InWorker(&Worker::weight), {1, kWeightMax}),
                  {schema::Integer(0),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.weight); }}});
    to.push_back({"labels",
                  "For tasks with labels. Every executor also has takt.link with the value push.",
                  Take::Pairs(InWorker(&Worker::labels), kExecutorLabelLimits),
                  {schema::Map(), WriteExecutorLabels}});
}

void AddExecutorState(ExecutorFields& to) {
    using Answer = ExecutorAnswer;
    to.push_back({"status", "", {}, {WorkerStatusSchema(), [](JsonWriter& json, const Answer& a) {
                                         json.Value(Name(ShownStatus(a)));
                                     }}});
    to.push_back({"status_reason",
                  "What was said when it was set.",
                  {},
                  {schema::Text(), [](JsonWriter& json, const Answer& a) {
                       json.Value(a.worker.row.status_reason.view());
                   }}});
    to.push_back({"running",
                  "How many executions it has.",
                  {},
                  {schema::Integer(0),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.worker.busy); }}});
    to.push_back({"circuit",
                  "Open: too many calls failed, and it is not called for a while.",
                  {},
                  {schema::OneOf({"closed", "open", "half_open"}),
                   [](JsonWriter& json, const Answer& a) { json.Value(Name(a.view->circuit)); },
                   IsWatched}});
    to.push_back({"health",
                  "What the checks found.",
                  {},
                  {schema::Object()
                       .Add("checked", schema::Bool())
                       .Add("failures", schema::Integer(0))
                       .Add("last_failure", schema::Text())
                       .Text(),
                   WriteExecutorHealth, IsWatched}});
    to.push_back({"registered_at",
                  "",
                  {},
                  {schema::OrNull(schema::Time()),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.joined_at); }}});
    to.push_back({"seen_at",
                  "When it was last heard of; null: not since the leader changed.",
                  {},
                  {schema::OrNull(schema::Time()),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.worker.row.seen_at); }}});
}

}  // namespace

const ResourceTable<ExecutorDraft, ExecutorAnswer>& ExecutorTable() {
    static const ResourceTable<ExecutorDraft, ExecutorAnswer> table([] {
        ExecutorFields fields;
        AddExecutorIdentity(fields);
        AddExecutorAbility(fields);
        AddExecutorState(fields);
        return fields;
    }());
    return table;
}

const RequestTable<WorkerLoad>& ExecutorLoadFields() {
    using Load = TakenBy<WorkerLoad>;
    static const RequestTable<WorkerLoad> fields = {
        {"cpu", "The part of all cores that is in use.", Load::Number(&WorkerLoad::cpu, {0, 1})},
        {"memory", "The part of the machine's that is in use.",
         Load::Number(&WorkerLoad::memory, {0, 1})},
        {"connections", "For least_connections.",
         Load::Count(&WorkerLoad::connections, {0, kCapacityMax})},
        {"draining", "It wants nothing new.", Load::Truth(&WorkerLoad::draining)}};
    return fields;
}

const RequestTable<ExecutorStatusChange>& ExecutorStatusFields() {
    using Change = TakenBy<ExecutorStatusChange>;
    static const RequestTable<ExecutorStatusChange> fields = {
        {"status",
         "maintenance: nothing new, what runs goes on; offline: taken for dead, what it has is "
         "given to others.",
         Change::Choice(&ExecutorStatusChange::status, ParseWorkerStatus,
                        {"online", "maintenance", "offline"})
             .Required()},
        {"reason", "Shown to whoever looks at it.",
         Change::Text(&ExecutorStatusChange::reason, kReasonBytesMax)
             .Clears([](ExecutorStatusChange& change) { change.reason = Text(); })}};
    return fields;
}

void AddExecutorSchemas(SchemaList& to) {
    to.emplace_back("Registration", RequestSchema(ExecutorTable().request()));
    to.emplace_back("Executor", AnswerSchema(ExecutorTable().answer()));
    to.emplace_back("ExecutorList", schema::PageOf("Executor"));
    to.emplace_back("ExecutorLoad", RequestSchema(ExecutorLoadFields()));
    to.emplace_back("ExecutorStatus", RequestSchema(ExecutorStatusFields()));
}

std::string ExecutorPage() {
    return ExecutorTable().page();
}

}  // namespace takt::internal
