// Handlers as the configuration names them (worker.executors), each a map of its fields:
//
//     {type: bill, protocol: http, url: https://billing/run, token: …, ca_file: …, timeout: 30s}
//     {type: resize, protocol: grpc, url: images:9000, tls: true, token: …, ca_file: …}
//
// `token` is sent as a bearer token, and over TLS only; `ca_file` (PEM) is trusted instead of the
// system's authorities; `timeout` is of attempts without one of their own.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "worker/handler.h"

namespace takt::internal {

using HandlerFields = std::map<std::string, std::string>;

// kInvalid names the field at fault.
Result<std::shared_ptr<TaskHandler>> MakeConfiguredHandler(const HandlerFields& fields);

}  // namespace takt::internal
