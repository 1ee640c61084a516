#include "worker/health.h"

#include <fmt/format.h>

namespace takt::internal {
namespace {

// docs/operating.md has the same table; tests/deploy/monitoring_test.py compares them.
std::string Metrics(const WorkerRuntimeStatus& status) {
    std::string text;
    const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                         auto value) {
        text += fmt::format(
            "# HELP takt_worker_{0} {1}\n# TYPE takt_worker_{0} {2}\ntakt_worker_{0} {3}\n", name,
            help, type, value);
    };
    add("attached", "gauge", "1 while it is attached to a scheduler.", status.attached ? 1 : 0);
    add("draining", "gauge", "1 while it takes nothing new.", status.draining ? 1 : 0);
    add("in_hand", "gauge", "Attempts in hand, with those whose results are not acknowledged yet.",
        status.in_hand);
    add("abandoned", "gauge", "Handlers that did not stop when asked to, and still run.",
        status.abandoned);
    add("assigned_total", "counter", "Attempts that it was given.", status.assigned);
    add("succeeded_total", "counter", "Attempts that succeeded.", status.succeeded);
    add("failed_total", "counter", "Attempts that failed.", status.failed);
    add("stale_total", "counter", "Results that came too late: somebody else ran it.",
        status.refused_stale);
    add("reconnects_total", "counter", "Connections that were lost and made again.",
        status.reconnects);
    add("heartbeat_delay_seconds", "gauge", "There and back, of the last heartbeat.",
        std::chrono::duration<double>(status.heartbeat_delay).count());
    return text;
}

class HealthHandler final : public HttpHandler {
  public:
    explicit HealthHandler(std::function<WorkerRuntimeStatus()> status)
        : status_(std::move(status)) {}

    void Handle(HttpRequest request, HttpReply reply) override {
        if (request.method != HttpMethod::kGet && request.method != HttpMethod::kHead) {
            return reply(HttpResponse::Text(405, "only GET\n"));
        }
        if (request.path == "/healthz") return reply(HttpResponse::Text(200, "ok\n"));
        if (request.path == "/readyz") return reply(Ready(status_()));
        if (request.path == "/metrics") return reply(HttpResponse::Text(200, Metrics(status_())));
        reply(HttpResponse::Text(404, "there are /healthz, /readyz and /metrics\n"));
    }

  private:
    static HttpResponse Ready(const WorkerRuntimeStatus& status) {
        if (status.draining) return HttpResponse::Text(503, "draining\n");
        if (status.attached) return HttpResponse::Text(200, "ok\n");
        return HttpResponse::Text(503, "not attached to a scheduler: " + status.trouble + "\n");
    }

    const std::function<WorkerRuntimeStatus()> status_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> ServeWorkerHealth(boost::asio::io_context& loop,
                                                      const std::string& listen,
                                                      std::function<WorkerRuntimeStatus()> status) {
    auto place = ParseHealthListen(listen);
    if (!place) return std::unexpected(place.error());
    // Supervisors and scrapers only: few connections, small requests.
    HttpServerOptions options{.host = std::move(place->host),
                              .port = place->port,
                              .body_bytes_max = 1024,
                              .connections_max = 100};
    return HttpServer::Listen(loop, std::move(options),
                              std::make_shared<HealthHandler>(std::move(status)));
}

}  // namespace takt::internal
