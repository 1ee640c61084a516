// Makes a worker from its configuration, for `takt worker` and `takt serve --with-worker`.
#pragma once

#include <memory>

#include "base/error.h"
#include "config/config.h"
#include "worker/worker_runtime.h"

namespace takt::internal::cli {

Result<std::unique_ptr<WorkerRuntime>> MakeWorker(const Config::Worker& config, bool demo);

}  // namespace takt::internal::cli
