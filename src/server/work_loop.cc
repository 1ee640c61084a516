#include "server/work_loop.h"

#include <utility>

#include "base/log.h"

namespace takt::internal {
namespace {

Result<void> MakeClient(boost::asio::io_context& loop, HttpClientOptions options,
                        std::unique_ptr<HttpClient>& client) {
    auto made = HttpClient::Create(loop, std::move(options));
    // Only the file of authorities can be wrong.
    if (!made) return Fail(made.error().code, made.error().detail, "server.tls_ca");
    client = std::move(*made);
    return {};
}

}  // namespace

HttpLog ToLog() {
    return [](HttpLogLevel level, std::string_view message) {
        Log(level == HttpLogLevel::kInfo      ? LogLevel::kInfo
            : level == HttpLogLevel::kWarning ? LogLevel::kWarning
                                              : LogLevel::kError,
            "http", message);
    };
}

Result<void> WorkLoop::MakeClients(const Config& config) {
    // Executors may be anywhere, also where the system's authorities vouch for them.
    const TlsClientOptions anybody{.ca_file = config.server.tls_ca, .system_too = true};
    auto made = MakeClient(io_,
                           {.connections_per_host_max = config.executors.concurrency_max,
                            .tls = anybody,
                            .log = ToLog()},
                           executors_);
    if (made) made = MakeClient(io_, {.tls = anybody, .log = ToLog()}, health_);
    if (made) made = MakeClient(io_, {.connections_per_host_max = 4, .log = ToLog()}, webhooks_);
    return made;
}

void WorkLoop::Start() {
    thread_ = std::thread([this] { io_.run(); });
}

void WorkLoop::Stop() {
    work_.reset();
    io_.stop();
    if (thread_.joinable()) thread_.join();
}

}  // namespace takt::internal
