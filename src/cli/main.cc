// takt: the one binary.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/failpoint.h"
#include "cli/cli.h"
#include "cli/filter_flag.h"
#include "cli/formats.h"
#include "takt/version.h"

int main(int argc, char** argv) {
    using namespace takt::internal;
    // A peer that hangs up is an error of its socket, not the end of the process.
    std::signal(SIGPIPE, SIG_IGN);
    if (auto started = StartFailPoints(); !started) {
        cli::PrintError(started.error());
        return cli::kUsage;
    }
    CLI::App app("Takt runs tasks now, later or by cron on a fleet of workers.", "takt");
    app.set_version_flag("--version", std::string("takt ") + takt::kVersion);
    app.require_subcommand(1);
    app.footer("takt COMMAND --help tells more about a command.");
    // For every command; by the environment, which they all read. Some have a -n of their own.
    app.add_option_function<std::string>(
           "-n", [](const std::string& space) { setenv("TAKT_NAMESPACE", space.c_str(), 1); },
           "Namespace that the command is about, as --namespace and TAKT_NAMESPACE")
        ->check(CLI::Validator(cli::RefuseEmpty, ""))
        ->trigger_on_parse();
    cli::Context context;
    for (const auto add :
         {cli::AddServe,       cli::AddWorker,       cli::AddSubmit,       cli::AddGet,
          cli::AddList,        cli::AddCancel,       cli::AddRetry,        cli::AddTrigger,
          cli::AddTasks,       cli::AddWorkers,      cli::AddExecutors,    cli::AddQueues,
          cli::AddLocks,       cli::AddLock,         cli::AddStrategy,     cli::AddStatus,
          cli::AddExplain,     cli::AddDescribe,     cli::AddLogs,         cli::AddEvents,
          cli::AddDoctor,      cli::AddContext,      cli::AddAlerts,       cli::AddStats,
          cli::AddTop,         cli::AddToken,        cli::AddNamespaces,   cli::AddStore,
          cli::AddApply,       cli::AddDiff,         cli::AddExport,       cli::AddImport,
          cli::AddSchema,      cli::AddAudit,        cli::AddLogin,        cli::AddWhoami,
          cli::AddOpenApi,     cli::AddProtocolTest, cli::AddExecutorTest, cli::AddBench,
          cli::AddBenchWorker, cli::AddHelp,         cli::AddCompletion}) {
        add(app, context);
    }
    cli::AddFormatFlags();
    for (CLI::App* command : app.get_subcommands({})) command->fallthrough();
    if (argc == 1) {
        std::fputs(app.help().c_str(), stdout);
        return cli::kOk;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        // Help and version are "errors" of code 0.
        if (error.get_exit_code() == 0) return app.exit(error);
        return cli::ExitOfMistake(app, error, {argv, static_cast<std::size_t>(argc)});
    }
    if (const auto ended = cli::EndYaml(); !ended) {
        cli::PrintError(ended.error());
        if (context.exit == cli::kOk) return cli::kFailed;
    }
    return context.exit;
}
