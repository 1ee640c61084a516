// Metrics: as JSON for people and the console, as text for Prometheus.
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "alerts/alerts.h"
#include "api/call_flow.h"
#include "api/event_hub.h"
#include "api/resources.h"
#include "api/services.h"
#include "metrics/meters.h"
#include "store/store_room.h"

namespace takt::internal {
namespace {

void GetMetrics(Call call) {
    WithEngine(std::move(call), [](Call call, const Engine& engine) {
        const MetricsView view = ViewOf(&engine, ReadClocks());
        const NodeStatus status = call.services().node.status();
        std::string body;
        JsonWriter json(body);
        json.BeginObject();
        json.Field("tasks_total", view.tasks_total).Field("tasks_pending", view.tasks_pending);
        json.Field("tasks_scheduled", view.tasks_scheduled);
        json.Field("tasks_running", view.tasks_running);
        json.Field("tasks_retrying", view.tasks_retrying);
        json.Field("tasks_completed", view.tasks_completed);
        json.Field("tasks_failed", view.tasks_failed);
        json.Field("tasks_cancelled", view.tasks_cancelled);
        json.Field("workers_online", view.workers_online);
        json.Field("workers_draining", view.workers_draining);
        json.Field("workers_offline", view.workers_offline);
        json.Field("worker_utilization", view.worker_utilization);
        json.Field("task_throughput", call.services().meters.throughput());
        json.Field("scheduler_uptime", (ReadClocks().wall - status.started_at).count() / 1000);
        json.Key("tasks_ready").BeginArray();
        for (const std::uint64_t count : view.ready) json.Value(count);
        json.EndArray().EndObject();
        call.Json(200, std::move(body));
    });
}

MeterExtras ExtrasOf(Services& services, const std::optional<StoreRoom>& room) {
    MeterExtras extras;
    extras.event_watchers = services.events.watchers();
    if (room) {
        extras.store_bytes = room->bytes;
        extras.store_bytes_max = room->bytes_max;
    }
    std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> counts;
    for (const Severity severity : {Severity::kInfo, Severity::kWarning, Severity::kCritical}) {
        for (const AlertState state : {AlertState::kPending, AlertState::kFiring}) {
            counts[{Name(state), Name(severity)}] = 0;
        }
    }
    for (const Alert* alert : services.alerts.alerts()) {
        if (alert->state == AlertState::kResolved) continue;
        ++counts[{Name(alert->state), Name(alert->severity)}];
    }
    for (const auto& [key, count] : counts) {
        extras.alerts.push_back({std::string(key.first), std::string(key.second), count});
    }
    for (const Delivery::View& view : services.alerts.delivery().channels()) {
        extras.channels.push_back({view.channel.name, view.counts.told, view.counts.failed});
    }
    return extras;
}

auto AskReading(const Call& call, const std::shared_ptr<Services>& realm,
                const std::optional<StoreRoom>& room) {
    return Answered<MeterReading>(call, [realm, room](auto done) {
        realm->node.Look([realm, room, done = std::move(done)](const Engine* engine) mutable {
            const Instant now = ReadClocks();
            if (engine) realm->meters.Sample(*engine, now.steady);
            done(MeterReading{.meters = &realm->meters,
                              .view = ViewOf(engine, now),
                              .status = realm->node.status(),
                              .extras = ExtrasOf(*realm, room)});
        });
    });
}

// Of this node: Prometheus asks each of them.
Flow<> GetPrometheus(Call call) {
    if (!call.services().meters.enabled()) {
        co_return call.RefuseAnswer(
            {ErrorCode::kNotFound, "metrics are switched off (metrics.enabled)", ""});
    }
    // Held until they are written: a namespace may go meanwhile.
    std::vector<std::shared_ptr<Services>> realms;
    for (const auto& [name, realm] : call.services().gate->realms) {
        if (call.who().May(Permission::kViewer, name)) realms.push_back(realm);
    }
    // One store has all namespaces, and an embedded one looks at its files to tell.
    const std::optional<StoreRoom> room = RoomOf(call.services().store);
    std::vector<MeterReading> readings;
    for (const auto& realm : realms) readings.push_back(co_await AskReading(call, realm, room));
    if (readings.empty()) {
        co_return call.RefuseAnswer({ErrorCode::kNotFound, "the namespace is gone", ""});
    }
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = MetersText(readings);
    call.Send(std::move(response));
}

}  // namespace

void AddMetricsRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/metrics",
                      .permission = Permission::kViewer,
                      .where = Where::kLeader,
                      .handler = GetMetrics,
                      .tag = "metrics",
                      .summary = "Numbers of the whole, as JSON",
                      .gives = "Metrics"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/metrics",
                      .permission = Permission::kViewer,
                      .handler = Flowing(GetPrometheus),
                      .tag = "metrics",
                      .summary = "Numbers of this node, for Prometheus",
                      .gives_type = "text/plain",
                      .cluster = true});
}

}  // namespace takt::internal
