// Metrics: as JSON for people and the console, as text for Prometheus.
#include "api/meters.h"
#include "api/resources.h"
#include "api/services.h"

namespace takt::internal {
namespace {

void GetMetrics(Call call) {
    Node& node = call.services().node;
    node.Look([call = std::move(call)](const Engine* engine) mutable {
        if (!engine) {
            return call.RefuseAnswer({ErrorCode::kUnavailable, "the leader has just changed", ""});
        }
        const MetricsView view = ViewOf(engine);
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
        json.Field("workers_offline", view.workers_offline);
        json.Field("worker_utilization", view.worker_utilization);
        json.Field("task_throughput", call.services().meters.throughput());
        json.Field("scheduler_uptime", (ReadClocks().wall - status.started_at).count() / 1000);
        json.EndObject();
        call.Json(200, std::move(body));
    });
}

// Of this node: Prometheus asks each of them.
void GetPrometheus(Call call) {
    Node& node = call.services().node;
    node.Look([call = std::move(call)](const Engine* engine) mutable {
        const MetricsView view = ViewOf(engine);
        auto services = call.shared_services();
        services->post([call = std::move(call), view]() mutable {
            HttpResponse response;
            response.content_type = "text/plain; version=0.0.4; charset=utf-8";
            response.body = call.services().meters.Text(view, call.services().node.status());
            call.Send(std::move(response));
        });
    });
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
                      .handler = GetPrometheus,
                      .tag = "metrics",
                      .summary = "Numbers of this node, for Prometheus",
                      .gives_type = "text/plain"});
}

}  // namespace takt::internal
