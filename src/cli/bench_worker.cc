// takt bench-worker: the workers that takt bench starts. Not for people: it is left out of the
// help.
//
// Standard input has one number per line, a phase; each is answered with what was run of it:
// how many distinct tasks, how many came twice, how many latencies follow, then these in
// microseconds, many to a line.
#include <fmt/format.h>

#include <cstdio>
#include <future>
#include <iostream>
#include <utility>

#include "base/log.h"
#include "cli/bench_ledger.h"
#include "cli/bench_sessions.h"
#include "cli/bench_submit.h"
#include "cli/cli.h"
#include "worker/worker_runtime.h"

namespace takt::internal::cli {
namespace {

// Keeps a line below what a reader of lines takes.
constexpr std::size_t kLatenciesPerLine = 4'000;
constexpr Duration kAttachTimeout{30'000};

void TellTally(const BenchTally& tally) {
    std::string text =
        fmt::format("{} {} {}\n", tally.distinct, tally.twice, tally.latencies_us.size());
    for (std::size_t i = 0; i < tally.latencies_us.size(); ++i) {
        const bool last = i + 1 == tally.latencies_us.size() || (i + 1) % kLatenciesPerLine == 0;
        text += fmt::format("{}{}", tally.latencies_us[i], last ? '\n' : ' ');
    }
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

// Until whoever started it closes the pipe.
void AnswerTallies(const BenchLedger& ledger) {
    std::puts("ready");
    std::fflush(stdout);
    for (std::size_t phase = 0; std::cin >> phase;) TellTally(ledger.Read(phase));
}

Result<void> RunOneBenchWorker(const BenchSessionsOptions& options, BenchLedger& ledger) {
    HandlerRegistry handlers;
    auto added = handlers.AddFunction("bench", [&](TaskContext& context) {
        return ledger.Began(context.payload()) ? TaskResult::Success()
                                               : TaskResult::Rejected("a task that nobody sent");
    });
    if (!added) return added;
    std::promise<void> attached;
    bool is_attached = false;
    const auto on_event = [&](WorkerEvent event, std::string_view) {
        if (event == WorkerEvent::kAttached && !std::exchange(is_attached, true)) {
            attached.set_value();
        }
    };
    auto worker = WorkerRuntime::Create({.servers = {options.server},
                                         .space = options.space,
                                         .id = options.id,
                                         .labels = BenchLabels(),
                                         .capacity = options.capacity,
                                         .token = options.token,
                                         .on_event = on_event},
                                        std::move(handlers));
    if (!worker) return std::unexpected(worker.error());
    if (auto started = (*worker)->Start(); !started) return started;
    if (attached.get_future().wait_for(kAttachTimeout) != std::future_status::ready) {
        return Fail(ErrorCode::kUnavailable,
                    "no scheduler took the worker in: " + (*worker)->status().trouble);
    }
    AnswerTallies(ledger);
    (*worker)->Stop();
    return (*worker)->Wait();
}

Result<void> RunBenchWorker(const BenchSessionsOptions& options) {
    SetLogLevel(LogLevel::kError);
    BenchLedger ledger;
    if (options.sessions == 0) return RunOneBenchWorker(options, ledger);
    auto sessions = BenchSessions::Open(options, ledger);
    if (!sessions) return std::unexpected(sessions.error());
    AnswerTallies(ledger);
    return {};
}

}  // namespace

void AddBenchWorker(CLI::App& app, Context& context) {
    auto options = std::make_shared<BenchSessionsOptions>();
    CLI::App* worker = app.add_subcommand("bench-worker", "A worker of takt bench")->group("");
    worker->add_option("--server", options->server)->required();
    worker->add_option("--id", options->id)->required();
    worker->add_option("--sessions", options->sessions)->required();
    worker->add_option("--capacity", options->capacity)->required();
    worker->add_option("--namespace", options->space);
    worker->add_option("--token", options->token)->envname("TAKT_TOKEN");
    worker->callback([options, &context] {
        const auto ended = RunBenchWorker(*options);
        if (ended) return;
        PrintError(ended.error());
        context.exit = ExitOf(ended.error());
    });
}

}  // namespace takt::internal::cli
