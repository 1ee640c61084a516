// takt explain: why an execution has not started, or is not finished.
#include <cstdio>

#include "cli/client.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

struct ExplainOptions {
    ClientOptions client;
    std::string id;
};

Result<int> Explain(Client& client, const ExplainOptions& options) {
    const auto answer = client.Get(PathOf("executions", options.id, "explain"));
    if (!answer) return std::unexpected(answer.error());
    if (options.client.json) {
        std::printf("%s\n", answer->body.c_str());
    } else {
        std::printf("%s: %s\n", options.id.c_str(), Member(answer->value, "explanation").c_str());
    }
    return kOk;
}

}  // namespace

void AddExplain(CLI::App& app, Context& context) {
    auto options = std::make_shared<ExplainOptions>();
    CLI::App* explain = app.add_subcommand("explain", "Tells why an execution has not started");
    options->client.Add(*explain);
    explain->add_option("id", options->id, "Execution")->required();
    explain->footer("examples:\n  takt explain remind-7\n");
    explain->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Explain(client, *options); });
    });
}

}  // namespace takt::internal::cli
