// takt serve: a scheduler, with a worker in the same process if asked.
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <thread>

#include "api/access.h"
#include "base/id.h"
#include "base/log.h"
#include "base/random.h"
#include "base/url.h"
#include "cli/checkup.h"
#include "cli/cli.h"
#include "cli/memory_return.h"
#include "cli/signals.h"
#include "cli/worker_options.h"
#include "server/descriptors.h"
#include "server/server.h"
#include "takt/version.h"
#include "worker/health.h"
#include "worker/worker_runtime.h"

namespace takt::internal::cli {
namespace {

// Beyond scheduler.stop_deadline: connections that end, threads that are joined.
constexpr Duration kStopMargin{1'000};

struct ServeOptions {
    ConfigFlags config;
    bool with_worker = false;
    bool demo = false;
    bool insecure = false;
    bool check = false;
};

WorkerWishes WishesOf(const ServeOptions& options) {
    return {.demo = options.demo,
            .how_to_run = "--demo, or worker.executors or worker.allow_shell in the configuration"};
}

void PrintWelcome(const Server& server, bool with_worker) {
    const std::string& url = server.url();
    std::printf("takt %s listens on %s\n", kVersion, url.c_str());
    std::printf("  store  %s\n", server.store_name().c_str());
    if (with_worker) std::printf("  worker in this process, with the demonstration handlers\n");
    std::printf(
        "try\n"
        "  curl -s %s/api/v1/tasks --json '{\"name\": \"hello\", \"type\": \"echo\", \"payload\": "
        "{\"say\": \"hello\"}}'\n"
        "  curl -s %s/api/v1/executions\n"
        "  curl -s %s/api/v1/scheduler/status\n",
        url.c_str(), url.c_str(), url.c_str());
    std::fflush(stdout);
}

// After the deadline a stop only waits for a store that does not answer, for as long as that store's
// own timeout. Nothing is lost without it: the next leader goes on as after a crash.
void StopInTime(Server& server, Duration deadline) {
    const std::jthread watch([deadline](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any over;
        std::unique_lock lock(mutex);
        over.wait_for(lock, stop, deadline + kStopMargin, [] { return false; });
        if (stop.stop_requested()) return;
        Log(LogLevel::kWarning, "serve",
            "the store does not answer; stopped without waiting for it any longer");
        _exit(kOk);
    });
    server.Stop();
}

// The worker in this process. Where one process has the store, who makes the first token must not
// lock it out: it comes with one of its own, which ends with the process; another scheduler that
// leads would not know it. There its id stays, too: what a restart leaves behind is not another
// worker that is offline.
void PrepareOwnWorker(Config& config) {
    const bool alone = config.store.url.starts_with("file:");
    if (alone && config.worker.token.empty()) {
        Random random(NewRandomSeed());
        config.worker.token =
            MakeToken(AccessRole::kWorker, "", ReadClocks().wall, {}, random).text;
        config.server.own_worker_token = config.worker.token;
    }
    if (!config.worker.id.empty()) return;
    if (alone) config.worker.id = "built-in";
    if (!alone && !config.server.node_id.empty()) {
        config.worker.id = config.server.node_id.substr(0, kIdBytesMax - 9) + ".built-in";
    }
}

// A worker that cannot be made is a mistake in what was asked.
Result<void> TryWorker(const ServeOptions& options, const Config& config) {
    if (options.demo && !options.with_worker) {
        return Fail(ErrorCode::kInvalid,
                    "--demo gives handlers to a worker in this process: say --with-worker too");
    }
    if (!options.with_worker) return {};
    Config own = config;
    own.worker.servers = {"http://127.0.0.1"};
    const auto made = MakeWorker(own, WishesOf(options));
    if (!made) return std::unexpected(made.error());
    return {};
}

// The next step for somebody whose start would fail.
std::string AdviceFor(const Server::Tried& tried, const Config& config) {
    const bool conflict = tried.result.error().code == ErrorCode::kConflict;
    if (tried.part == "store" && conflict && tried.result.error().field.empty()) {
        return "fine if the scheduler that runs now has it: it is not opened twice";
    }
    if (tried.part == "store" && config.store.url.starts_with("file:") &&
        tried.result.error().code == ErrorCode::kUnavailable) {
        return "takt serve would wait for that";
    }
    if (tried.part == "store") {
        return tried.result.error().code == ErrorCode::kUnavailable
                   ? "is it up, and does store.url name it? takt serve would wait for it"
                   : "docs/stores has a page for each";
    }
    if (tried.part == "sign-in") return "docs/security.md tells what signin.* mean";
    if (tried.part == "node id" && !conflict) return "check again when the address is free";
    if (tried.part == "node id") return "fine if that scheduler is gone; else takt serve refuses";
    if (tried.part == "tracing") return "docs/traces.md";
    return tried.result.error().code == ErrorCode::kUnavailable
               ? "fine if the scheduler that runs now has it; else choose another server.listen"
               : "docs/configuration.md, server.*";
}

// An error that tells several mistakes has one on each line.
void AddLines(Checkup& checkup, const std::string& part, std::string_view detail,
              const std::string& advice) {
    while (!detail.empty()) {
        checkup.Bad(part, std::string(CutAt(detail, '\n')), advice);
    }
}

// Whether both would have the same port of the same machine.
bool Meet(const std::string& one, const std::string& other) {
    const auto a = ParseHealthListen(one);
    const auto b = ParseHealthListen(other);
    if (!a || !b || a->port == 0 || a->port != b->port) return false;
    const auto any = [](const std::string& host) { return host == "0.0.0.0" || host == "::"; };
    return a->host == b->host || any(a->host) || any(b->host);
}

// The port at which the worker of this process is asked how it is.
void TryHealth(const ServeOptions& options, const Config& config, Checkup& checkup) {
    const std::string& listen = config.worker.health_listen;
    if (!options.with_worker || listen.empty()) return;
    // The scheduler does not listen yet, so that the port is free for both, one after the other.
    if (Meet(listen, config.server.listen)) {
        checkup.Bad("worker health",
                    "worker.health_listen " + listen + " is the port of server.listen " +
                        config.server.listen,
                    "choose another worker.health_listen");
        return;
    }
    boost::asio::io_context loop;
    const auto health = ServeWorkerHealth(loop, listen, [] { return WorkerRuntimeStatus(); });
    if (health) {
        checkup.Ok("worker health", "at " + listen);
    } else if (health.error().code == ErrorCode::kUnavailable) {
        checkup.Warn(
            "worker health", health.error().detail,
            "fine if the scheduler that runs now has it; else choose another worker.health_listen");
    } else {
        checkup.Bad("worker health", health.error().detail, "docs/configuration.md, worker.*");
    }
}

// Everything that would keep a start from succeeding, at once.
int CheckServe(const ServeOptions& options) {
    Checkup checkup;
    auto config = options.config.Load(Server::CheckKeys);
    if (!config) {
        AddLines(checkup, "configuration", config.error().detail,
                 "docs/configuration.md lists all keys");
        checkup.Warn("store", "not tried: it is known when the configuration is",
                     "mend the configuration, then check again");
        static_cast<void>(checkup.Print(false));
        return kUsage;
    }
    checkup.Ok("configuration", "every key is understood, and nothing contradicts itself");
    config->server.insecure |= options.insecure;
    if (const auto worker = TryWorker(options, *config); !worker) {
        AddLines(checkup, "worker", worker.error().detail,
                 "docs/cli.md, \"What a worker runs tasks with\"");
    } else {
        TryHealth(options, *config, checkup);
    }
    if (auto logging = StartLogging(config->log); !logging) {
        checkup.Bad("log", logging.error().detail, "docs/logs.md");
    }
    SetLogLevel(LogLevel::kError);
    for (const Server::Tried& tried : Server::Try(*config)) {
        if (tried.result) {
            checkup.Ok(tried.part, tried.good);
            continue;
        }
        const Error& error = tried.result.error();
        // The scheduler that is to be restarted with this configuration may have both.
        const bool taken =
            (tried.part == "address" && error.code == ErrorCode::kUnavailable) ||
            tried.part == "node id" ||
            (tried.part == "store" && error.code == ErrorCode::kConflict && error.field.empty());
        taken ? checkup.Warn(tried.part, error.detail, AdviceFor(tried, *config))
              : checkup.Bad(tried.part, error.detail, AdviceFor(tried, *config));
    }
    return checkup.Print(false);
}

int Serve(const ServeOptions& options) {
    if (options.check) return CheckServe(options);
    auto config = options.config.Load(Server::CheckKeys);
    if (!config) {
        PrintError(config.error());
        return kUsage;
    }
    config->server.insecure |= options.insecure;
    // Before anything is served.
    if (auto worker = TryWorker(options, *config); !worker) {
        PrintError(worker.error());
        return ExitOf(worker.error());
    }
    if (auto logging = StartLogging(config->log); !logging) {
        PrintError(logging.error());
        return kUsage;
    }
    if (options.with_worker) PrepareOwnWorker(*config);
    RaiseDescriptorLimit();
    const BlockedSignals signals;
    const MemoryReturn memory;  // After the signals: its thread must not take them.
    auto server = Server::Start(*config);
    if (!server) {
        PrintError(server.error());
        return ExitOf(server.error());
    }
    std::unique_ptr<WorkerRuntime> worker;
    if (options.with_worker) {
        Config own = *config;
        own.worker.servers = {(*server)->url()};
        auto made = MakeWorker(own, WishesOf(options));
        if (made) {
            worker = std::move(*made);
            if (auto started = worker->Start(); !started) made = std::unexpected(started.error());
        }
        if (!made) {
            PrintError(made.error());
            return ExitOf(made.error());
        }
    }
    PrintWelcome(**server, options.with_worker && options.demo);
    std::binary_semaphore stop(0);
    const SignalWatch watch(signals, {.stop = [&stop] { stop.release(); },
                                      .hurry = [] { _exit(kFailed); },
                                      .reopen = [&config] { ReopenLog(config->log); }});
    stop.acquire();
    Log(LogLevel::kInfo, "serve", "stopping; a second signal quits at once");
    if (worker) {
        worker->Stop();
        // The reason why it was turned away has been logged; the server stops all the same.
        static_cast<void>(worker->Wait());
    }
    StopInTime(**server, config->scheduler.stop_deadline);
    return kOk;
}

}  // namespace

void AddServe(CLI::App& app, Context& context) {
    auto options = std::make_shared<ServeOptions>();
    CLI::App* serve = app.add_subcommand("serve", "Runs a scheduler");
    options->config.Add(*serve);
    options->config.AddShort(*serve, "--store", "store.url",
                             "Where state is kept: file:DIR, redis://…, etcd://…, mysql://…");
    options->config.AddShort(*serve, "--wait-for-store", "store.wait",
                             "Start although the store cannot be reached yet [yes]");
    options->config.AddShort(*serve, "--listen", "server.listen", "HOST:PORT [127.0.0.1:8080]");
    options->config.AddShort(*serve, "--advertise", "server.advertise",
                             "URL at which others reach this node");
    options->config.AddShort(*serve, "--node-id", "server.node_id", "Name of this scheduler");
    options->config.AddShort(*serve, "--log-level", "log.level",
                             "trace, debug, info, warning, error");
    options->config.AddShort(*serve, "--log-format", "log.format", "text or json");
    serve->add_flag("--insecure", options->insecure,
                    "Listen beyond loopback although there are no access tokens");
    serve->add_flag("--with-worker", options->with_worker, "Run a worker in the same process");
    serve->add_flag("--demo", options->demo,
                    "Give it the handlers noop, echo, sleep, fail and log");
    serve->add_flag("--check", options->check,
                    "Only say what is wrong: reads the configuration, tries store and address");
    serve->footer(
        "examples:\n"
        "  takt serve\n"
        "  takt serve --with-worker --demo\n"
        "  takt serve --store file:/var/lib/takt --listen 127.0.0.1:9090\n"
        "  takt serve --config /etc/takt/takt.yaml --check\n");
    serve->callback([options, &context] { context.exit = Serve(*options); });
}

}  // namespace takt::internal::cli
