// Queues: what waits in them, pause, resume, limits.
#include <array>

#include "api/answer_table.h"
#include "api/call_flow.h"
#include "api/json_read.h"
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

void WriteOldest(JsonWriter& json, const QueueAnswer& answer) {
    const Time oldest = answer.queue.oldest_ready;
    if (oldest == Time{}) {
        json.Null();
        return;
    }
    json.Value(static_cast<double>(std::max(answer.now - oldest, Duration(0)).count()) / 1000);
}

const AnswerTable<QueueAnswer>& QueueFields() {
    using Answer = QueueAnswer;
    static const AnswerTable<Answer> fields = {
        {"name", schema::Text(), "",
         [](JsonWriter& json, const Answer& a) { json.Value(a.queue.name.view()); }},
        {"paused", schema::Bool(), "Nothing starts from it.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.queue.limits.paused); }},
        {"waiting", schema::Integer(0), "Executions that could start.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.queue.waiting); }},
        {"working", schema::Integer(0), "Executions that workers have.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.queue.working); }},
        {"finished", schema::Integer(0), "Since this leader began; skipped ones do not count.",
         [](JsonWriter& json, const Answer& a) { json.Value(a.queue.finished); }},
        {"finished_per_second", schema::OrNull(schema::Number()),
         "Over metrics.interval; null if there are too many queues to tell.",
         [](JsonWriter& json, const Answer& a) {
             const auto rate = a.meters.throughput(a.queue.name);
             rate ? json.Value(*rate) : json.Null();
         }},
        {"oldest_wait_seconds", schema::OrNull(schema::Number()), "null: nothing waits.",
         WriteOldest},
        {"concurrency_max", schema::OrNull(schema::Integer(1)), "null: no limit.",
         [](JsonWriter& json, const Answer& a) {
             const std::uint32_t most = a.queue.limits.working_max;
             most > 0 ? json.Value(most) : json.Null();
         }},
        {"rate_limit", schema::OrNull(RateSchema()), "null: no limit.",
         [](JsonWriter& json, const Answer& a) {
             if (a.queue.limits.rate.count > 0) {
                 WriteRate(json, a.queue.limits.rate);
             } else {
                 json.Null();
             }
         }},
    };
    return fields;
}

void WriteQueue(JsonWriter& json, const QueueAnswer& answer) {
    json.BeginObject();
    WriteFields(json, QueueFields(), answer);
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

void SendQueue(Call call, Text name) {
    WithEngine(std::move(call), [name = std::move(name)](Call call, const Engine& engine) {
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
    });
}

void GetQueue(Call call) {
    auto name = QueueName(call);
    if (name) SendQueue(std::move(call), std::move(*name));
}

void ChangeQueue(Call call, SetQueue change) {
    Node& node = call.services().node;
    Text name = change.queue;
    node.Ask(std::move(change), [call = std::move(call),
                                 name = std::move(name)](const Result<Answer>& answer) mutable {
        if (!answer) return call.RefuseAnswer(answer.error());
        SendQueue(std::move(call), std::move(name));
    });
}

// A part of the limit that is left out stays as it is in `rate`.
Result<RateLimit> ReadRateLimit(const JsonView& value, RateLimit rate) {
    static constexpr std::array<std::string_view, 2> kNames = {"count", "per"};
    if (rate.count == 0) rate.per = Duration(1'000);
    if (value.is_null()) return RateLimit{};
    if (value.kind() != JsonView::Kind::kObject) {
        return BadField("rate_limit", "must be an object such as {\"count\": 10, \"per\": \"1s\"}");
    }
    JsonView::Members members(value);
    while (members.Next()) {
        if (members.key() == kNames[0]) {
            const auto count = ReadInteger(members.value(), "rate_limit.count", {1, kLimitMax});
            if (!count) return std::unexpected(count.error());
            rate.count = static_cast<std::uint32_t>(*count);
        } else if (members.key() == kNames[1]) {
            const auto per = ReadDuration(members.value(), "rate_limit.per", Duration(1));
            if (!per) return std::unexpected(per.error());
            rate.per = *per;
        } else {
            return UnknownField(members.key(), kNames, "rate_limit.");
        }
    }
    if (rate.count == 0) return BadField("rate_limit.count", "is missing");
    return rate;
}

// The change that the body asks for: a limit that it leaves out stays, null takes one away.
Result<SetQueue> ReadLimits(const Call& call, const RateLimit& rate_now) {
    static constexpr std::array<std::string_view, 3> kNames = {"paused", "concurrency_max",
                                                               "rate_limit"};
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return std::unexpected(object.error());
    SetQueue change;
    JsonView::Members members(*object);
    while (members.Next()) {
        const JsonView value = members.value();
        if (members.key() == kNames[0]) {
            const auto paused = ReadBool(value, kNames[0]);
            if (!paused) return std::unexpected(paused.error());
            change.paused = *paused;
        } else if (members.key() == kNames[1]) {
            const auto most = value.is_null() ? Result<std::int64_t>(0)
                                              : ReadInteger(value, kNames[1], {1, kLimitMax});
            if (!most) return std::unexpected(most.error());
            change.working_max = static_cast<std::uint32_t>(*most);
        } else if (members.key() == kNames[2]) {
            const auto rate = ReadRateLimit(value, rate_now);
            if (!rate) return std::unexpected(rate.error());
            change.rate = *rate;
        } else {
            return UnknownField(members.key(), kNames);
        }
    }
    return change;
}

void PutQueue(Call call) {
    auto name = QueueName(call);
    if (!name) return;
    WithEngine(std::move(call), [name = std::move(*name)](Call call, const Engine& engine) {
        const auto queue = engine.FindQueue(name);
        auto change = ReadLimits(call, queue ? queue->limits.rate : RateLimit{});
        if (!change) return call.RefuseRequest(change.error());
        change->queue = std::move(name);
        ChangeQueue(std::move(call), std::move(*change));
    });
}

void SetPaused(Call call, bool paused) {
    auto name = QueueName(call);
    if (name) ChangeQueue(std::move(call), {.queue = std::move(*name), .paused = paused});
}

}  // namespace

std::string QueueSchema() {
    return AnswerSchema(QueueFields());
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
