// Makes a worker from its configuration, for `takt worker` and `takt serve --with-worker`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/config.h"
#include "worker/worker_runtime.h"

namespace takt::internal::cli {

// Finds schedulers that are not where they were; see WorkerOptions::find_servers.
using FindServers = std::function<Result<std::vector<std::string>>()>;

Result<std::unique_ptr<WorkerRuntime>> MakeWorker(const Config& config, bool demo,
                                                  FindServers find_servers = {});

}  // namespace takt::internal::cli
