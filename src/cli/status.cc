// takt status: the scheduler asked, who leads, and the numbers of the whole.
#include <cstdio>
#include <string>

#include "cli/client.h"
#include "cli/fleet_view.h"

namespace takt::internal::cli {
namespace {

// The defaults of tasks. A leader that is older than this program tells its strategy alone.
Result<std::string> Unless(Client& client) {
    const auto defaults = client.Get("/api/v1/scheduler/defaults");
    if (defaults) return DefaultsText(defaults->value);
    if (defaults.error().code != ErrorCode::kNotFound) return std::unexpected(defaults.error());
    const auto strategy = client.Get("/api/v1/scheduler/strategy");
    if (!strategy) return std::unexpected(strategy.error());
    return "strategy    " + Member(strategy->value, "strategy") + "\n";
}

Result<int> Status(Client& client, const ClientOptions& options) {
    const auto status = client.Get("/api/v1/scheduler/status");
    if (!status) return std::unexpected(status.error());
    if (options.json) {
        std::printf("%s\n", status->body.c_str());
        return kOk;
    }
    std::fputs(StatusText(status->value).c_str(), stdout);
    // Only a leader has them.
    const auto metrics = client.Get("/api/v1/metrics");
    if (!metrics) return std::unexpected(metrics.error());
    const auto unless_said = Unless(client);
    if (!unless_said) return std::unexpected(unless_said.error());
    std::printf("\n%s%s", MetricsText(metrics->value).c_str(), unless_said->c_str());
    return kOk;
}

}  // namespace

void AddStatus(CLI::App& app, Context& context) {
    auto options = std::make_shared<ClientOptions>();
    CLI::App* status = app.add_subcommand("status", "Shows the scheduler and who leads");
    options->Add(*status);
    options->AddWatch(*status);
    status->footer(
        "examples:\n"
        "  takt status\n"
        "  takt status --json | jq -r .leader.node_id\n");
    status->callback([options, &context] {
        context.exit =
            WithClient(*options, [&](Client& client) { return Status(client, *options); });
    });
}

}  // namespace takt::internal::cli
