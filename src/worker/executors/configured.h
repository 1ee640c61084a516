// Executors as the configuration names them (worker.executors), each a map of its fields:
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
#include "worker/executor.h"

namespace takt::internal {

using ExecutorFields = std::map<std::string, std::string>;

// kInvalid names the field at fault.
Result<std::shared_ptr<Executor>> MakeConfiguredExecutor(const ExecutorFields& fields);

}  // namespace takt::internal
