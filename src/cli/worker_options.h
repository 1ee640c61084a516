// Makes a worker from its configuration, for `takt worker` and `takt serve --with-worker`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/config.h"
#include "worker/worker_runtime.h"

namespace takt::internal::cli {

// Finds schedulers that are not where they were; see WorkerOptions::find_servers.
using FindServers = std::function<Result<std::vector<std::string>>()>;

struct WorkerWishes {
    bool demo = false;
    std::string_view
        how_to_run;  // What to say to whoever gave the worker nothing to run tasks with.
    FindServers find_servers = {};
};

Result<std::unique_ptr<WorkerRuntime>> MakeWorker(const Config& config, WorkerWishes wishes);

}  // namespace takt::internal::cli
