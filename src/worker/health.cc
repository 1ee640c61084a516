#include "worker/health.h"

#include <fmt/format.h>

#include <charconv>

namespace takt::internal {
namespace {

std::string Metrics(const WorkerRuntimeStatus& status) {
    std::string text;
    const auto add = [&](std::string_view name, std::string_view type, auto value) {
        text += fmt::format("# TYPE takt_worker_{0} {1}\ntakt_worker_{0} {2}\n", name, type, value);
    };
    add("attached", "gauge", status.attached ? 1 : 0);
    add("draining", "gauge", status.draining ? 1 : 0);
    add("in_hand", "gauge", status.in_hand);
    add("abandoned", "gauge", status.abandoned);
    add("assigned_total", "counter", status.assigned);
    add("succeeded_total", "counter", status.succeeded);
    add("failed_total", "counter", status.failed);
    add("stale_total", "counter", status.refused_stale);
    add("reconnects_total", "counter", status.reconnects);
    add("heartbeat_delay_seconds", "gauge",
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
    const std::size_t colon = listen.rfind(':');
    std::uint16_t port = 0;
    const char* end = listen.data() + listen.size();
    if (colon == std::string::npos || colon == 0 ||
        std::from_chars(listen.data() + colon + 1, end, port).ptr != end) {
        return Fail(ErrorCode::kInvalid, "health_listen must be host:port, not '" + listen + "'",
                    "health_listen");
    }
    // Supervisors and scrapers only: few connections, small requests.
    HttpServerOptions options{.host = listen.substr(0, colon),
                              .port = port,
                              .body_bytes_max = 1024,
                              .connections_max = 100};
    return HttpServer::Listen(loop, std::move(options),
                              std::make_shared<HealthHandler>(std::move(status)));
}

}  // namespace takt::internal
