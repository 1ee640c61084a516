#include "cli/worker_options.h"

#include <utility>

#include "base/mistakes.h"
#include "takt/version.h"
#include "worker/demo.h"
#include "worker/grpc/configured.h"
#include "worker/handlers/shell_handler.h"

namespace takt::internal::cli {

Result<std::unique_ptr<WorkerRuntime>> MakeWorker(const Config& all, WorkerWishes wishes) {
    const Config::Worker& config = all.worker;
    HandlerRegistry handlers;
    if (wishes.demo) {
        if (auto added = AddDemoHandlers(handlers); !added) return std::unexpected(added.error());
    }
    if (config.allow_shell) {
        auto shell = ShellTaskHandler::Create({.allow_shell = true, .env = config.shell_env});
        if (!shell) return std::unexpected(shell.error());
        if (auto added = handlers.Add(*shell); !added) return std::unexpected(added.error());
    }
    Mistakes mistakes;
    for (std::size_t i = 0; i < config.executors.size(); ++i) {
        auto made = MakeConfiguredHandler(config.executors[i]);
        const std::string which = "worker.executors[" + std::to_string(i) + "]";
        if (!made) {
            mistakes.Add(
                Placed(all, {ErrorCode::kInvalid, which + "." + made.error().detail, which}));
        } else if (auto added = handlers.Add(std::move(*made)); !added) {
            mistakes.Add(
                Placed(all, {ErrorCode::kInvalid, which + ": " + added.error().detail, which}));
        }
    }
    if (auto good = mistakes.ToResult(); !good) return std::unexpected(good.error());
    if (handlers.empty()) {
        return Fail(ErrorCode::kInvalid,
                    "this worker has nothing to run tasks with: give it " +
                        std::string(wishes.how_to_run) +
                        ", or write one with the C++ library or docs/worker_protocol.md");
    }
    WorkerOptions options = config;
    options.find_servers = std::move(wishes.find_servers);
    options.version = kVersion;
    if (all.tracing.enabled) options.trace_endpoint = all.tracing.endpoint;
    return WorkerRuntime::Create(std::move(options), std::move(handlers));
}

}  // namespace takt::internal::cli
