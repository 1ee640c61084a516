// takt worker: runs tasks by calling services, as processes or with the demonstration handlers.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/signals.h"
#include "cli/worker_options.h"
#include "store/discovery.h"

namespace takt::internal::cli {
namespace {

struct WorkerFlags {
    ConfigFlags config;
    bool demo = false;
    bool allow_shell = false;
    std::string store;
    std::vector<std::string> http;  // TYPE=URL
    std::vector<std::string> grpc;  // TYPE=HOST:PORT
};

// Executors that flags name, beside those of the configuration.
Result<void> AddExecutors(const std::vector<std::string>& flags, const std::string& protocol,
                          Config::Worker& worker) {
    for (const std::string& flag : flags) {
        const std::size_t equals = flag.find('=');
        if (equals == std::string::npos || equals == 0) {
            return Fail(ErrorCode::kInvalid, "--" + protocol + " must be TYPE=" +
                                                 (protocol == "http" ? "URL" : "HOST:PORT") +
                                                 ", but is '" + flag + "'");
        }
        worker.executors.push_back({{"type", flag.substr(0, equals)},
                                    {"protocol", protocol},
                                    {"url", flag.substr(equals + 1)}});
    }
    return {};
}

int Work(const WorkerFlags& options) {
    auto config = options.config.Load();
    if (!config) {
        PrintError(config.error());
        return kUsage;
    }
    config->worker.allow_shell |= options.allow_shell;
    // As for the commands that ask a server; keys and flags are stronger.
    const auto take = [](const char* variable, std::string& value) {
        if (const char* given = std::getenv(variable); given && value.empty()) value = given;
    };
    take("TAKT_NAMESPACE", config->worker.space);
    take("TAKT_TOKEN", config->worker.token);
    for (const auto& [flags, protocol] :
         {std::pair{options.http, "http"}, {options.grpc, "grpc"}}) {
        if (auto added = AddExecutors(flags, protocol, config->worker); !added) {
            PrintError(added.error());
            return kUsage;
        }
    }
    FindServers find;
    if (!options.store.empty()) {
        auto found = FindSchedulers(options.store);
        if (!found) {
            PrintError(found.error());
            return ExitOf(found.error());
        }
        config->worker.servers = std::move(*found);
        find = [store = options.store] { return ListSchedulers(store); };
    }
    if (config->worker.servers.empty()) {
        std::string server;
        take("TAKT_SERVER", server);
        config->worker.servers = ServersIn(server.empty() ? kDefaultServer : server);
    }
    if (auto logging = StartLogging(config->log); !logging) {
        PrintError(logging.error());
        return kUsage;
    }
    const BlockedSignals signals;
    auto worker = MakeWorker(
        *config, {.demo = options.demo,
                  .how_to_run = "--http TYPE=URL, --grpc TYPE=HOST:PORT, --allow-shell or --demo",
                  .find_servers = std::move(find)});
    if (worker) {
        if (auto started = (*worker)->Start(); !started) worker = std::unexpected(started.error());
    }
    if (!worker) {
        PrintError(worker.error());
        return ExitOf(worker.error());
    }
    std::printf("takt worker %s looks for a scheduler at %s\n", (*worker)->status().id.c_str(),
                config->worker.servers.front().c_str());
    std::fflush(stdout);
    // First signal: finish what runs. Second: quit. The watch ends before the worker does.
    const auto stop = [&worker] { (*worker)->Stop(); };
    const SignalWatch watch(
        signals, {.stop = stop, .hurry = stop, .reopen = [&config] { ReopenLog(config->log); }});
    const auto ended = (*worker)->Wait();
    if (ended) return kOk;
    PrintError(ended.error());
    return ExitOf(ended.error());
}

}  // namespace

void AddWorker(CLI::App& app, Context& context) {
    auto options = std::make_shared<WorkerFlags>();
    CLI::App* worker = app.add_subcommand("worker", "Runs a worker");
    ConfigFlags& config = options->config;
    config.Add(*worker);
    config
        .AddShort(*worker, "--server", "worker.servers",
                  "URL of a scheduler; repeatable, or parted by commas [http://127.0.0.1:8080]")
        ->join(',');
    worker
        ->add_option("--store", options->store,
                     "Ask this store where its schedulers are, instead of --server")
        ->excludes("--server");
    config.AddShort(*worker, "-n,--namespace", "worker.namespace",
                    "Namespace that it serves [its token's, else default]");
    config.AddShort(*worker, "--id", "worker.id", "Name of this worker");
    config.AddShort(*worker, "--name", "worker.name", "What people read");
    config.AddShort(*worker, "--capacity", "worker.capacity", "Executions at once [10]");
    config.AddShort(*worker, "--weight", "worker.weight", "Share under weighted_round_robin [1]");
    config.AddShort(*worker, "--types", "worker.types",
                    "Task types, parted by commas [all it can]");
    config.AddShort(*worker, "--queues", "worker.queues", "Queues, parted by commas [all]");
    config.AddShort(*worker, "--labels", "worker.labels", "zone=a,disk=ssd");
    config.AddShort(*worker, "--group", "worker.group", "What a task's executor can name");
    config.AddShort(*worker, "--token", "worker.token",
                    "Access token with the role worker (also TAKT_TOKEN)");
    config.AddShort(*worker, "--health-listen", "worker.health_listen", "HOST:PORT for /healthz");
    config.AddShort(*worker, "--log-level", "log.level", "trace, debug, info, warning, error");
    config.AddShort(*worker, "--log-format", "log.format", "text or json");
    worker->add_flag(
        "--demo", options->demo,
        "Handlers noop, echo (gives its payload back), sleep {\"ms\": 20}, fail "
        "{\"times\": 2} (then succeeds; without, always fails) and log {\"lines\": 3}");
    worker->add_flag("--allow-shell", options->allow_shell,
                     "Run tasks of the type shell as processes");
    config
        .AddShort(*worker, "--shell-env", "worker.shell_env",
                  "Environment variable that shell tasks get; repeatable, or parted by commas")
        ->join(',');
    worker->add_option("--http", options->http, "POST tasks of a type to a URL; repeatable")
        ->type_name("TYPE=URL");
    worker->add_option("--grpc", options->grpc, "Call a gRPC service for a type; repeatable")
        ->type_name("TYPE=HOST:PORT");
    worker->footer(
        "examples:\n"
        "  takt worker --demo\n"
        "  takt worker --server http://10.0.0.5:8080 --capacity 50 --demo\n"
        "  takt worker --http bill=https://billing/run --grpc resize=images:9000\n");
    worker->callback([options, &context] { context.exit = Work(*options); });
}

}  // namespace takt::internal::cli
