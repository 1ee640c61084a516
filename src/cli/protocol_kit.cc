// takt protocol-test: plays a scheduler against a worker, and says which rules it keeps.
#include <cstdio>
#include <optional>

#include "base/number.h"
#include "cli/cli.h"
#include "cli/kit_report.h"
#include "cli/output.h"
#include "kit/worker_rules.h"

namespace takt::internal::cli {
namespace {

struct ProtocolTestOptions {
    kit::WorkerKitOptions kit;
    std::string listen = "127.0.0.1:0";
    bool json = false;
    bool list = false;
};

int ListRules() {
    Table table({"RULE", "SECTION", "A WORKER THAT KEEPS IT"});
    for (const kit::WorkerRule& rule : kit::WorkerRules()) {
        table.Add({rule.name, rule.section, rule.sentence});
    }
    table.Print();
    return kOk;
}

int RunProtocolTest(ProtocolTestOptions& options) {
    if (options.list) return ListRules();
    const auto colon = options.listen.rfind(':');
    const auto port = colon == std::string::npos
                          ? std::nullopt
                          : ParseNumber<std::uint16_t>(options.listen.substr(colon + 1));
    if (!port) {
        PrintError({ErrorCode::kInvalid, "--listen must be HOST:PORT, but is " + options.listen,
                    "--listen"});
        return kUsage;
    }
    options.kit.host = options.listen.substr(0, colon);
    options.kit.port = *port;
    options.kit.on_listening = [&](const std::string& url) {
        if (options.kit.command.empty()) {
            std::fprintf(stderr, "connect the worker to %s\n", url.c_str());
        }
    };
    if (!options.json) options.kit.on_report = PrintRuleReport;
    const auto reports = kit::TestWorker(options.kit);
    if (!reports) {
        PrintError(reports.error());
        return ExitOf(reports.error());
    }
    return EndKit(*reports, options.json);
}

}  // namespace

void AddProtocolTest(CLI::App& app, Context& context) {
    auto options = std::make_shared<ProtocolTestOptions>();
    CLI::App* command = app.add_subcommand(
        "protocol-test", "Plays a scheduler against a worker; says which rules it keeps");
    command->add_option("--connect", options->kit.command,
                        "Command that starts the worker, once for each rule; {url} is where to "
                        "connect. Without it, the worker is somebody else's to start");
    command->add_option("--listen", options->listen, "Where workers connect")
        ->capture_default_str();
    command->add_option("--only", options->kit.only, "Only this rule (repeatable)");
    command->add_option("--echo", options->kit.names.echo, "Type whose result is its payload")
        ->capture_default_str();
    command->add_option("--sleep", options->kit.names.sleep, "Type that sleeps {\"ms\": 500}")
        ->capture_default_str();
    command->add_option("--fail", options->kit.names.fail, "Type that fails")
        ->capture_default_str();
    command->add_option("--log", options->kit.names.log, "Type that writes {\"lines\": 3} lines")
        ->capture_default_str();
    command
        ->add_option("--lock", options->kit.names.lock,
                     "Type that asks for the lock {\"name\": \"x\"}; its result has the token")
        ->capture_default_str();
    command->add_option("--output", options->kit.output_file,
                        "File for what the command prints; nowhere unless given");
    command->add_flag("--list", options->list, "Prints the rules, and tests nothing");
    command->add_flag("--json", options->json, "The report as JSON");
    command->footer(
        "Examples:\n"
        "  takt protocol-test --connect 'takt worker --demo --server {url}'\n"
        "  takt protocol-test --connect 'python3 my_worker.py {url}' --only result_kept");
    command->callback([options, &context] { context.exit = RunProtocolTest(*options); });
}

}  // namespace takt::internal::cli
