// Tasks: pause, resume, trigger, and when they fire next.
#include <algorithm>

#include "api/audit.h"
#include "api/call_body.h"
#include "api/execution_json.h"
#include "api/query.h"
#include "api/request_kinds.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/submission.h"
#include "model/fire_plan.h"

namespace takt::internal {
namespace {

constexpr CountRange kFireCount = {1, 1000, 10};

void PauseOrResume(Call call, bool paused) {
    auto id = PathId<TaskId>(call);
    if (!id) return;
    const auto condition = ReadIfMatch(call.request());
    if (!condition) return call.RefuseRequest(condition.error());
    Node& node = call.services().node;
    PauseTask pause{.task = std::move(*id),
                    .paused = paused,
                    .if_version = condition->version,
                    .by = ActOf(call)};
    node.Ask(std::move(pause), [call = std::move(call)](Result<Answer> answer) mutable {
        if (!answer) return RefuseChange(call, answer.error());
        SendTask(call, answer->task, 200);
    });
}

struct TriggerBody {
    std::size_t payload_bytes_max;
    Trigger trigger = {};
};

Result<void> ReadTriggerPayload(TriggerBody& body, const JsonView& value, std::string_view name) {
    if (!body.trigger.payload.empty()) {
        return BadField("payload", "and parameters are the same; give one of them");
    }
    if (value.raw().size() > body.payload_bytes_max) {
        return Fail(
            ErrorCode::kExhausted,
            "parameters have more than " + std::to_string(body.payload_bytes_max) + " bytes",
            std::string(name));
    }
    if (!value.is_null()) body.trigger.payload = Text(value.raw());
    return {};
}

const RequestTable<TriggerBody>& TriggerFields() {
    using Take = TakenBy<TriggerBody>;
    const auto payload = [] { return Take::Own(schema::Any(), "any JSON", ReadTriggerPayload); };
    static const RequestTable<TriggerBody> fields = {
        {"id",
         "The execution's; one is made unless given. A request that is repeated with it is done "
         "once.",
         Take::Id([](TriggerBody& body) -> ExecutionId& { return body.trigger.execution; })},
        {"parameters", "Instead of its task's.", payload()},
        {"payload", "The same as parameters.", payload()},
        {"force", "Whatever the execution mode says.",
         Take::Truth([](TriggerBody& body) -> bool& { return body.trigger.force; })}};
    return fields;
}

void TriggerTask(Call call) {
    auto id = PathId<TaskId>(call);
    if (!id) return;
    const std::size_t payload_max = call.services().config.task_limits.payload_bytes_max;
    auto body = ReadBody(call, TriggerFields(), {.payload_bytes_max = payload_max});
    if (!body) return call.RefuseRequest(body.error());
    // A key that also submitted a task, or triggered another one, means something else there.
    auto named = IdOfKey(KeyOf(call.request()), "trigger " + id->text().str());
    if (!named) return call.RefuseRequest(named.error());
    if (body->trigger.execution.empty()) body->trigger.execution = ExecutionId(std::move(*named));
    body->trigger.task = std::move(*id);
    body->trigger.by = ActOf(call);
    Node& node = call.services().node;
    node.Ask(std::move(body->trigger), [call = std::move(call)](Result<Answer> answer) mutable {
        if (!answer) return call.RefuseAnswer(answer.error());
        std::string body;
        JsonWriter json(body);
        WriteExecution(json, {answer->execution});
        call.Json(answer->created ? 201 : 200, std::move(body));
    });
}

// The first due time and those that follow it, at most `count`.
std::vector<Time> FiresFrom(const FirePlan& plan, std::optional<Time> first, std::uint64_t count) {
    std::vector<Time> fires;
    for (auto next = first; next && fires.size() < count; next = plan.Next(fires.back())) {
        fires.push_back(*next);
        // The next ones depend on how long the run takes.
        if (plan.after_end()) break;
    }
    return fires;
}

// How many fires are left of `count`, if the task fires only so often.
std::uint64_t FiresLeft(const Recurrence& recurrence, std::uint64_t fires, std::uint64_t count) {
    if (recurrence.fires_max == 0) return count;
    return std::min(count, recurrence.fires_max - std::min(recurrence.fires_max, fires));
}

void WriteFires(JsonWriter& json, const std::vector<Time>& fires) {
    json.Key("fires").BeginArray();
    for (const Time fire : fires) json.Value(fire);
    json.EndArray();
}

void WriteDescription(JsonWriter& json, const Recurrence& recurrence) {
    if (recurrence.cron.empty()) return;
    const auto cron =
        Cron::Parse(recurrence.cron, {.timezone = recurrence.timezone, .dst = recurrence.dst});
    if (!cron) return;  // The plan was made from it, so there is one.
    json.Field("description", std::string_view(cron->Describe()));
    json.Field("description_zh", std::string_view(cron->DescribeZh()));
}

void GetFires(Call call) {
    auto id = PathId<TaskId>(call);
    if (!id) return;
    const auto count = QueryCount(call.request(), "count", kFireCount);
    if (!count) return call.RefuseRequest(count.error());
    const PartitionReader& rows = call.services().rows;
    rows.FindTask(*id, [call = std::move(call), count = *count](Result<TaskRow> row) mutable {
        if (!row) return call.RefuseAnswer(row.error());
        const Recurrence& recurrence = *row->task->opt().recurrence;
        std::vector<Time> fires;
        const auto plan = FirePlan::Make(recurrence, row->task->created_at);
        // The stored next time is the truth for the first one; the plan goes on from there.
        if (plan && !row->state.paused && row->state.next_at != Time{}) {
            fires = FiresFrom(*plan, row->state.next_at,
                              FiresLeft(recurrence, row->state.fires, count));
        }
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Field("task_id", row->task->id.view());
        WriteDescription(json, recurrence);
        WriteFires(json, fires);
        json.EndObject();
        call.Json(200, std::move(body));
    });
}

struct PreviewRequest {
    Recurrence recurrence;
    std::size_t count = kFireCount.standard;
    Time after{};
};

Result<PreviewRequest> ReadPreview(Call& call) {
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return std::unexpected(object.error());
    PreviewRequest preview;
    preview.after = ReadClocks().wall;
    auto recurrence =
        ReadRecurrence(*object, call.services().config.task_limits, call.services().texts,
                       [&](std::string_view name, const JsonView& value) -> Result<bool> {
                           if (name == "count") {
                               const auto count = ReadInteger(value, name, {1, 1000});
                               if (!count) return std::unexpected(count.error());
                               preview.count = static_cast<std::size_t>(*count);
                               return true;
                           }
                           if (name != "after") return false;
                           const auto after = ReadTime(value, name);
                           if (!after) return std::unexpected(after.error());
                           preview.after = *after;
                           return true;
                       });
    if (!recurrence) return std::unexpected(std::move(recurrence.error()));
    preview.recurrence = std::move(*recurrence);
    return preview;
}

void Preview(Call call) {
    const auto preview = ReadPreview(call);
    if (!preview) return call.RefuseRequest(preview.error());
    const Recurrence& recurrence = preview->recurrence;
    const auto plan = FirePlan::Make(recurrence, preview->after);
    if (!plan) return call.RefuseRequest(plan.error());
    if (auto fires = plan->CheckFires(preview->after); !fires) {
        return call.RefuseRequest(fires.error());
    }
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    WriteDescription(json, recurrence);
    WriteFires(json, FiresFrom(*plan, plan->First(preview->after),
                               FiresLeft(recurrence, 0, preview->count)));
    json.EndObject();
    call.Json(200, std::move(body));
}

}  // namespace

void AddTaskActionSchemas(SchemaList& to) {
    to.emplace_back("Trigger", RequestSchema(TriggerFields()));
}

void AddTaskActionRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/tasks/{id}/pause",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = [](Call call) { PauseOrResume(std::move(call), true); },
                      .tag = "tasks",
                      .summary = "Stop the fires of a recurring task",
                      .headers = {kIfMatch},
                      .gives = "Task"});
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/tasks/{id}/resume",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = [](Call call) { PauseOrResume(std::move(call), false); },
                      .tag = "tasks",
                      .summary = "Resume the fires of a recurring task",
                      .headers = {kIfMatch},
                      .gives = "Task"});
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/tasks/{id}/trigger",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = TriggerTask,
                      .tag = "tasks",
                      .summary = "Run a recurring task now, with other parameters if given",
                      .headers = {kIdempotencyKey},
                      .takes = "Trigger",
                      .body_optional = true,
                      .gives = "Execution",
                      .success = 201,
                      .also = 200});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/tasks/{id}/fires",
                      .permission = Permission::kViewer,
                      .handler = GetFires,
                      .tag = "tasks",
                      .summary = "When a recurring task fires next",
                      .query = {{"count", "1 to 1000, 10 unless given."}},
                      .gives = "Fires"});
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/tasks/preview",
                      .permission = Permission::kViewer,
                      .handler = Preview,
                      .tag = "tasks",
                      .summary = "When a task with these fields would fire; creates nothing",
                      .takes = "Preview",
                      .gives = "Fires"});
}

}  // namespace takt::internal
