#include "cli/worker_options.h"

#include <utility>

#include "takt/version.h"
#include "worker/demo.h"
#include "worker/executors/configured.h"
#include "worker/executors/shell_executor.h"

namespace takt::internal::cli {

Result<std::unique_ptr<WorkerRuntime>> MakeWorker(const Config& all, bool demo,
                                                  FindServers find_servers) {
    const Config::Worker& config = all.worker;
    ExecutorRegistry executors;
    if (demo) {
        if (auto added = AddDemoHandlers(executors); !added) return std::unexpected(added.error());
    }
    if (config.allow_shell) {
        auto shell = ShellExecutor::Create({.allow_shell = true, .env = config.shell_env});
        if (!shell) return std::unexpected(shell.error());
        if (auto added = executors.Add(*shell); !added) return std::unexpected(added.error());
    }
    for (std::size_t i = 0; i < config.executors.size(); ++i) {
        auto made = MakeConfiguredExecutor(config.executors[i]);
        const Result<void> added =
            made ? executors.Add(std::move(*made)) : std::unexpected(made.error());
        if (added) continue;
        const std::string prefix = "worker.executors[" + std::to_string(i) + "].";
        return Fail(ErrorCode::kInvalid, prefix + added.error().detail,
                    prefix + added.error().field);
    }
    if (executors.empty()) {
        return Fail(ErrorCode::kInvalid,
                    "this worker has nothing to run tasks with: give it --http TYPE=URL, --grpc "
                    "TYPE=HOST:PORT, --allow-shell or --demo, or write one with the C++ SDK or "
                    "docs/worker_protocol.md");
    }
    WorkerOptions options{.servers = config.servers,
                          .find_servers = std::move(find_servers),
                          .id = config.id,
                          .name = config.name,
                          .types = config.types,
                          .queues = config.queues,
                          .labels = config.labels,
                          .capacity = config.capacity,
                          .weight = config.weight,
                          .group = config.group,
                          .version = kVersion,
                          .token = config.token,
                          .ca_file = config.ca_file,
                          .heartbeat = config.heartbeat_interval,
                          .task_timeout = config.timeout,
                          .idle_timeout = config.idle_timeout,
                          .stop_grace = config.stop_grace,
                          .drain_timeout = config.drain_timeout,
                          .buffer_size = config.buffer_size,
                          .health_listen = config.health_listen};
    if (all.tracing.enabled) options.trace_endpoint = all.tracing.endpoint;
    if (!config.compression) options.compress_bytes_min = 0;
    return WorkerRuntime::Create(std::move(options), std::move(executors));
}

}  // namespace takt::internal::cli
