// The worker's own health endpoint, for the supervisor that runs it.
//
// GET /healthz   200 while the network thread lives.
// GET /readyz    200 while it is attached to a scheduler and takes work, else 503 with the reason.
// GET /metrics   counters in Prometheus' text format.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "http/server.h"
#include "worker/worker_runtime.h"

namespace takt::internal {

// `listen` is host:port. kInvalid if it cannot be read, else as HttpServer::Listen.
Result<std::unique_ptr<HttpServer>> ServeWorkerHealth(boost::asio::io_context& loop,
                                                      const std::string& listen,
                                                      std::function<WorkerRuntimeStatus()> status);

}  // namespace takt::internal
