// Queues: what waits in them, pause, resume, limits.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "api/audit.h"
#include "api/call_body.h"
#include "api/call_flow.h"
#include "api/definition_kind.h"
#include "api/field_view.h"
#include "api/rate_limit_json.h"
#include "api/request_kinds.h"
#include "api/resource_pages.h"
#include "api/resource_table.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"
#include "metrics/meters.h"

namespace takt::internal {
namespace {

constexpr std::int64_t kLimitMax = 1'000'000;

struct QueueAnswer {
    const QueueView& queue;
    const Meters& meters;
    Time now;
};

void WriteReady(JsonWriter& json, const QueueAnswer& answer) {
    const auto& ready = answer.queue.ready;
    const bool paused = answer.queue.limits.paused;
    json.Value(paused ? 0 : std::accumulate(ready.begin(), ready.end(), std::size_t{0}));
}

void WriteOldestWait(JsonWriter& json, const QueueAnswer& answer) {
    const Time oldest = answer.queue.oldest_ready;
    if (oldest == Time{}) {
        json.Null();
        return;
    }
    json.Value(static_cast<double>(std::max(answer.now - oldest, Duration(0)).count()) / 1000);
}

void WriteFinishedRate(JsonWriter& json, const QueueAnswer& answer) {
    const auto rate = answer.meters.throughput(answer.queue.name);
    rate ? json.Value(*rate) : json.Null();
}

void WriteQueueConcurrency(JsonWriter& json, const QueueAnswer& answer) {
    const std::uint32_t most = answer.queue.limits.working_max;
    most > 0 ? json.Value(most) : json.Null();
}

void WriteQueueRate(JsonWriter& json, const QueueAnswer& answer) {
    if (answer.queue.limits.rate.count > 0) {
        WriteRate(json, answer.queue.limits.rate);
    } else {
        json.Null();
    }
}

// The change of a queue that is being read.
struct QueueDraft {
    SetQueue change;
    RateLimit rate_now;  // The parts of rate_limit that a request leaves out.
};

Taken<QueueDraft> TakenConcurrency() {
    const auto place = [](QueueDraft& draft) -> auto& { return draft.change.working_max; };
    return TakenBy<QueueDraft>::Count(place, {1, kLimitMax}).Clears([](QueueDraft& draft) {
        draft.change.working_max = 0;
    });
}

Taken<QueueDraft> TakenRate() {
    const auto read = [](QueueDraft& draft, const JsonView& value,
                         std::string_view name) -> Result<void> {
        const auto rate = ReadRate(value, name, draft.rate_now);
        if (!rate) return std::unexpected(rate.error());
        draft.change.rate = *rate;
        return {};
    };
    return TakenBy<QueueDraft>::Own(RateRequestSchema(), "`100/1s`, or `count` and `per`", read)
        .Clears([](QueueDraft& draft) { draft.change.rate = RateLimit{}; });
}

const ResourceTable<QueueDraft, QueueAnswer>& QueueTable() {
    using Answer = QueueAnswer;
    using Take = TakenBy<QueueDraft>;
    static const ResourceTable<QueueDraft, Answer> table({
        {"name",
         "Tasks name it as their queue.",
         {},
         {schema::Text(),
          [](JsonWriter& json, const Answer& a) { json.Value(a.queue.name.view()); }}},
        {"paused",
         "Nothing starts from it.",
         Take::Truth([](QueueDraft& draft) -> auto& { return draft.change.paused; }),
         {schema::Bool(),
          [](JsonWriter& json, const Answer& a) { json.Value(a.queue.limits.paused); }}},
        {"waiting",
         "Executions that have not begun: ready, for later, for a retry, or held back.",
         {},
         {schema::Integer(0),
          [](JsonWriter& json, const Answer& a) { json.Value(a.queue.waiting); }}},
        {"ready",
         "Those of them that lack nothing but a worker; 0 while it is paused.",
         {},
         {schema::Integer(0), WriteReady}},
        {"working",
         "Executions that workers have.",
         {},
         {schema::Integer(0),
          [](JsonWriter& json, const Answer& a) { json.Value(a.queue.working); }}},
        {"finished",
         "Since this leader began; skipped ones do not count.",
         {},
         {schema::Integer(0),
          [](JsonWriter& json, const Answer& a) { json.Value(a.queue.finished); }}},
        {"finished_per_second",
         "Over metrics.interval; null if there are too many queues to tell.",
         {},
         {schema::OrNull(schema::Number()), WriteFinishedRate}},
        {"oldest_wait_seconds",
         "null: nothing waits.",
         {},
         {schema::OrNull(schema::Number()), WriteOldestWait}},
        {"concurrency_max",
         "At most so many executions at once; null: no limit.",
         TakenConcurrency(),
         {schema::OrNull(schema::Integer(1)), WriteQueueConcurrency}},
        {"rate_limit",
         "Starts: up to `count` at once, then evenly `count` in each `per`; so in any `per` at "
         "most twice `count`; null: no limit.",
         TakenRate(),
         {schema::OrNull(RateSchema()), WriteQueueRate}},
    });
    return table;
}

void WriteQueue(JsonWriter& json, const QueueAnswer& answer) {
    json.BeginObject();
    WriteFields(json, QueueTable().answer(), answer);
    json.EndObject();
}

void ListQueues(Call call) {
    WithEngine(std::move(call), [](Call call, const Engine& engine) {
        const Time now = ReadClocks().wall;
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        const Meters& meters = call.services().meters;
        for (const QueueView& queue : engine.Queues()) WriteQueue(json, {queue, meters, now});
        json.EndArray().Key("next_cursor").Null().EndObject();
        call.Json(200, std::move(body));
    });
}

std::optional<Text> QueueName(Call& call) {
    const std::string_view name = call.request().Parameter("name");
    if (IsValidId(name)) return Text(name);
    call.RefuseRequest(BadField("name", "is not the name of a queue").error());
    return std::nullopt;
}

void SendQueue(Call call, Text name, Error not_there = LeaderChanged()) {
    WithEngine(
        std::move(call),
        [name = std::move(name)](Call call, const Engine& engine) {
            const auto queue = engine.FindQueue(name);
            if (!queue) {
                return call.RefuseAnswer({ErrorCode::kNotFound,
                                          "nothing was ever put into queue '" + name.str() + "'",
                                          "name"});
            }
            std::string body;
            JsonWriter json(body);
            WriteQueue(json, {*queue, call.services().meters, ReadClocks().wall});
            call.Json(200, std::move(body));
        },
        std::move(not_there));
}

void GetQueue(Call call) {
    auto name = QueueName(call);
    if (name) SendQueue(std::move(call), std::move(*name));
}

void ChangeQueue(Call call, SetQueue change) {
    Node& node = call.services().node;
    Text name = change.queue;
    change.by = ActOf(call);
    node.Ask(std::move(change), [call = std::move(call),
                                 name = std::move(name)](const Result<Answer>& answer) mutable {
        if (!answer) return call.RefuseAnswer(answer.error());
        SendQueue(std::move(call), std::move(name), DoneButNotShown());
    });
}

void PutQueue(Call call) {
    auto name = QueueName(call);
    if (!name) return;
    WithEngine(std::move(call), [name = std::move(*name)](Call call, const Engine& engine) {
        const auto queue = engine.FindQueue(name);
        auto draft = ReadBody(call, QueueTable().request(),
                              {.rate_now = queue ? queue->limits.rate : RateLimit{}});
        if (!draft) return call.RefuseRequest(draft.error());
        draft->change.queue = std::move(name);
        ChangeQueue(std::move(call), std::move(draft->change));
    });
}

void SetPaused(Call call, bool paused) {
    auto name = QueueName(call);
    if (name) ChangeQueue(std::move(call), {.queue = std::move(*name), .paused = paused});
}

// The address of a queue has its name, a definition has it beside the limits.
CheckedDefinition CheckQueue(const Services& services, const GivenDefinition& given) {
    CheckedDefinition checked;
    if (!IsValidId(given.name)) {
        checked.mistakes.push_back(BadField("name", "is not the name of a queue").error());
    }
    RequestTable<QueueDraft> fields = QueueTable().request();
    fields.push_back(
        {"name", "",
         TakenBy<QueueDraft>::Own(schema::Id(), "", [](auto&&...) -> Result<void> { return {}; })});
    QueueDraft draft;
    std::ranges::move(ReadMembers(fields, given.object, draft),
                      std::back_inserter(checked.mistakes));
    if (!checked.mistakes.empty()) return checked;
    const QueueView queue{.name = Text(given.name),
                          .limits = {.paused = draft.change.paused.value_or(false),
                                     .working_max = draft.change.working_max.value_or(0),
                                     .rate = draft.change.rate.value_or(RateLimit{})}};
    JsonWriter json(checked.shown);
    QueueTable().WriteShared(json, {queue, services.meters, Time{}});
    return checked;
}

}  // namespace

std::vector<FieldView> QueueRequestFields() {
    return ViewsOf(QueueTable().request());
}

void AddQueueSchemas(SchemaList& to) {
    to.emplace_back("Queue", AnswerSchema(QueueTable().answer()));
    to.emplace_back("QueueList", schema::PageOf("Queue"));
    to.emplace_back("QueueLimits", RequestSchema(QueueTable().request()));
}

DefinitionKind QueueDefinition() {
    schema::Object object;
    object.Add("name", schema::Described(schema::Id(), "Tasks name it as their queue."));
    return {.name = "queue",
            .identity = "name",
            .fields = QueueTable().SharedFields(),
            .schema = AddRequestFields(object, QueueTable().request()),
            .check = CheckQueue};
}

std::string QueuePage() {
    return QueueTable().page();
}

void AddQueueRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.where = Where::kLeader;
        route.tag = "queues";
        routes.push_back(std::move(route));
    };
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/queues",
         .permission = Permission::kViewer,
         .handler = ListQueues,
         .summary = "List queues: depth, oldest wait, limits",
         .gives = "QueueList"});
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/queues/{name}",
         .permission = Permission::kViewer,
         .handler = GetQueue,
         .summary = "Get a queue",
         .gives = "Queue"});
    add({.method = HttpMethod::kPut,
         .path = "/api/v1/queues/{name}",
         .permission = Permission::kOperator,
         .handler = PutQueue,
         .summary = "Change the limits of a queue; what is left out stays, null takes a limit away",
         .takes = "QueueLimits",
         .gives = "Queue"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/queues/{name}/pause",
         .permission = Permission::kOperator,
         .handler = [](Call call) { SetPaused(std::move(call), true); },
         .summary = "Start nothing more of this queue",
         .gives = "Queue"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/queues/{name}/resume",
         .permission = Permission::kOperator,
         .handler = [](Call call) { SetPaused(std::move(call), false); },
         .summary = "Start what waits in this queue again",
         .gives = "Queue"});
}

}  // namespace takt::internal
