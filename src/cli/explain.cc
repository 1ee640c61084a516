// takt explain: why an execution has not started, a task does not run, a queue stands still or a
// worker gets nothing. Which of these an id names is found out.
#include <array>
#include <cstdio>

#include "cli/client.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

struct ExplainOptions {
    ClientOptions client;
    std::string id;
};

// In this order: an execution is what most people ask about, and a task that runs once is its
// execution.
constexpr std::array<const char*, 4> kKinds = {"executions", "tasks", "workers", "queues"};

Result<int> Explain(Client& client, const ExplainOptions& options) {
    for (const char* kind : kKinds) {
        const auto answer = client.Get(PathOf(kind, options.id, "explain"));
        if (!answer && answer.error().code == ErrorCode::kNotFound) continue;
        if (!answer) return std::unexpected(answer.error());
        if (options.client.json) {
            std::printf("%s\n", answer->body.c_str());
        } else {
            std::printf("%s: %s\n", options.id.c_str(),
                        Member(answer->value, "explanation").c_str());
        }
        return kOk;
    }
    return Fail(ErrorCode::kNotFound,
                "there is no execution, task, worker or queue '" + options.id + "'");
}

}  // namespace

// A recurring task is no execution, and its id is easily taken for one.
Error HintAtTask(Client& client, const std::string& id, Error error) {
    if (error.code != ErrorCode::kNotFound) return error;
    if (client.Get(PathOf("tasks", id))) {
        error.detail += "; it is a recurring task: 'takt list --task " + id +
                        "' shows its runs, 'takt explain " + id + "' why there is none";
    }
    return error;
}

Error HintAtExecution(Client& client, const std::string& id, Error error) {
    if (error.code != ErrorCode::kNotFound) return error;
    if (client.Get(PathOf("executions", id))) {
        error.detail += "; it is an execution: 'takt retry " + id + "' runs it again if it failed";
    }
    return error;
}

void AddExplain(CLI::App& app, Context& context) {
    auto options = std::make_shared<ExplainOptions>();
    CLI::App* explain = app.add_subcommand(
        "explain", "Tells why an execution, task, queue or worker is where it is");
    options->client.Add(*explain);
    explain->add_option("id", options->id, "Execution, task, worker or queue")->required();
    explain->footer(
        "examples:\n  takt explain remind-7\n  takt explain nightly\n  takt explain worker-1\n");
    explain->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Explain(client, *options); });
    });
}

}  // namespace takt::internal::cli
