// takt get: everything about executions, by id.
#include <algorithm>
#include <cstdio>

#include "cli/client.h"
#include "cli/execution_view.h"
#include "cli/flows.h"
#include "cli/wait_flags.h"

namespace takt::internal::cli {
namespace {

struct GetOptions {
    ClientOptions client;
    std::vector<std::string> ids;
    WaitFlags waiting;
    bool tree = false;
};

// Of a time for all of them together; 0 stays for ever.
Duration LeftOf(Duration timeout, Steady begin) {
    if (timeout == Duration(0)) return timeout;
    const auto passed = std::chrono::floor<Duration>(SteadyClock::now() - begin);
    return std::max(timeout - passed, Duration(1));
}

Result<int> Get(Client& client, const GetOptions& options) {
    int exit = kOk;
    const auto timeout = options.waiting.Timeout();
    if (!timeout) return std::unexpected(timeout.error());
    const Steady begin = SteadyClock::now();
    for (std::size_t i = 0; i < options.ids.size(); ++i) {
        const std::string& id = options.ids[i];
        auto answer = options.waiting.wait
                          ? WaitUntilFinished(client, {id, LeftOf(*timeout, begin)})
                          : client.Get(PathOf("executions", id));
        if (!answer) return std::unexpected(HintAtTask(client, id, answer.error()));
        if (options.waiting.wait && exit == kOk) exit = ExitOfOutcome(answer->value);
        if (options.tree) {
            answer = client.Get(PathOf("executions", id, "steps"));
            if (!answer) return std::unexpected(answer.error());
        }
        if (options.client.json) {
            std::printf("%s\n", answer->body.c_str());
        } else if (options.tree) {
            std::printf("%s%s", i ? "\n" : "", StepTree(answer->value).c_str());
        } else {
            std::printf("%s%s", i ? "\n" : "", ExecutionText(answer->value).c_str());
        }
    }
    return exit;
}

}  // namespace

void AddGet(CLI::App& app, Context& context) {
    auto options = std::make_shared<GetOptions>();
    CLI::App* get = app.add_subcommand("get", "Shows executions");
    options->client.Add(*get);
    get->add_option("id", options->ids, "Execution; a task that runs once has the same id")
        ->required();
    options->waiting.Add(*get);
    get->add_flag("--tree", options->tree, "The steps of a run, where each stands");
    get->footer(
        "examples:\n"
        "  takt get remind-7\n"
        "  takt get remind-7 --wait --wait-timeout 5m --json\n"
        "  takt get RUN --tree\n");
    get->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Get(client, *options); });
    });
}

}  // namespace takt::internal::cli
