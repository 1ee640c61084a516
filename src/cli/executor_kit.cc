// takt executor-test: plays a scheduler against an HTTP executor, and says which rules it keeps.
#include "kit/executor_rules.h"

#include <memory>

#include "cli/cli.h"
#include "cli/kit_report.h"

namespace takt::internal::cli {
namespace {

struct ExecutorTestOptions {
    kit::ExecutorKitOptions kit;
    bool json = false;
};

int RunExecutorTest(ExecutorTestOptions& options) {
    while (options.kit.url.ends_with('/')) options.kit.url.pop_back();
    const auto reports = kit::TestExecutor(options.kit, [&](const kit::RuleReport& report) {
        if (!options.json) PrintRuleReport(report);
    });
    if (!reports) {
        PrintError(reports.error());
        return ExitOf(reports.error());
    }
    return EndKit(*reports, options.json);
}

}  // namespace

void AddExecutorTest(CLI::App& app, Context& context) {
    auto options = std::make_shared<ExecutorTestOptions>();
    CLI::App* command = app.add_subcommand(
        "executor-test", "Plays a scheduler against an HTTP executor; says which rules it keeps");
    command->add_option("url", options->kit.url, "Of the executor, as its base_url")->required();
    command->add_option("--task", options->kit.task, "Type that succeeds")->required();
    command->add_option("--fail", options->kit.fail, "Type that fails; not tested unless given");
    command->add_option("--parameters", options->kit.parameters, "Of the tasks, JSON")
        ->capture_default_str();
    command->add_option("--health", options->kit.health_url,
                        "Its health_check_url; /health of the executor unless given");
    command
        ->add_option("--host", options->kit.host,
                     "Address of this machine where the executor's callbacks come in")
        ->capture_default_str();
    command->add_flag("--json", options->json, "The report as JSON");
    command->footer(
        "Example:\n"
        "  takt executor-test http://127.0.0.1:9090 --task daily_report --fail broken");
    command->callback([options, &context] { context.exit = RunExecutorTest(*options); });
}

}  // namespace takt::internal::cli
