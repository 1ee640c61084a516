// takt cancel and takt retry: change executions, by id or all that a filter matches.
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/json.h"
#include "cli/client.h"
#include "cli/execution_view.h"

namespace takt::internal::cli {
namespace {

struct ExecutionActionOptions {
    ClientOptions client;
    std::string action;
    std::vector<std::string> ids;
    std::string reason;
    std::string task, status, worker, type, queue, from, to;
    std::size_t limit = 100;

    bool filtered() const { return !(task + status + worker + type + queue + from + to).empty(); }
};

Result<int> ChangeMatching(Client& client, const ExecutionActionOptions& options) {
    boost::json::object filter;
    const std::pair<const char*, const std::string*> parts[] = {
        {"task_id", &options.task}, {"status", &options.status}, {"worker_id", &options.worker},
        {"type", &options.type},    {"queue", &options.queue},   {"from", &options.from},
        {"to", &options.to}};
    for (const auto& [name, value] : parts) {
        if (!value->empty()) filter[name] = *value;
    }
    filter["limit"] = options.limit;
    std::string body;
    AppendJson(body, filter);
    const auto answer = client.Post("/api/v1/executions/" + options.action, std::move(body));
    if (!answer) return std::unexpected(answer.error());
    const std::string changed = Member(answer->value, "changed");
    const std::string matched = Member(answer->value, "matched");
    if (!PrintedAsJson(options.client, *answer)) {
        std::printf("%s of %s\n", changed.c_str(), matched.c_str());
    }
    for (const auto* item : ListMember(answer->value, "items")) {
        const auto* problem = FindMember(*item, "problem");
        if (!problem) continue;
        std::fprintf(stderr, "takt: %s: %s\n", Member(*item, "id").c_str(),
                     Member(*problem, "detail").c_str());
    }
    if (Member(answer->value, "more") == "true") {
        std::fprintf(
            stderr, "only the first %s were taken, as --limit says; more may match: run it again\n",
            matched.c_str());
    }
    return changed == matched ? kOk : kFailed;
}

Result<int> Change(Client& client, const ExecutionActionOptions& options) {
    if (options.ids.empty() == !options.filtered()) {
        return Fail(ErrorCode::kInvalid, "give either ids or filters such as --task");
    }
    if (options.filtered()) return ChangeMatching(client, options);
    int exit = kOk;
    for (const std::string& id : options.ids) {
        std::string body;
        if (!options.reason.empty()) {
            body = "{\"reason\":";
            AppendJsonString(body, options.reason);
            body += "}";
        }
        const auto answer = client.Post(PathOf("executions", id, options.action), std::move(body));
        if (!answer) {
            // The others are tried all the same.
            PrintError(answer.error());
            if (exit == kOk) exit = ExitOf(answer.error());
        } else if (options.client.json) {
            std::printf("%s\n", answer->body.c_str());
        } else {
            std::printf("%s %s\n", id.c_str(), Member(answer->value, "status").c_str());
        }
    }
    return exit;
}

CLI::App* AddAction(CLI::App& app, Context& context,
                    const std::shared_ptr<ExecutionActionOptions>& options,
                    const std::string& help) {
    CLI::App* command = app.add_subcommand(options->action, help);
    options->client.Add(*command);
    command->add_option("id", options->ids, "Executions");
    command->add_option("--task", options->task, "All of this task");
    command->add_option("--status", options->status, "All in these states");
    command->add_option("--worker", options->worker, "All on this worker");
    command->add_option("--type", options->type, "All of this type");
    command->add_option("--queue", options->queue, "All of this queue");
    command->add_option("--from", options->from, "All created at this time or later");
    command->add_option("--to", options->to, "All created before this time");
    command->add_option("-n,--limit", options->limit, "At most so many of them")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    command->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Change(client, *options); });
    });
    return command;
}

}  // namespace

void AddCancel(CLI::App& app, Context& context) {
    auto options = std::make_shared<ExecutionActionOptions>();
    options->action = "cancel";
    CLI::App* cancel = AddAction(app, context, options, "Ends executions that are not finished");
    cancel->add_option("--reason", options->reason, "Kept with the execution; with ids only");
    cancel->footer(
        "examples:\n"
        "  takt cancel remind-7 --reason 'no longer needed'\n"
        "  takt cancel --type resize --limit 1000\n");
}

void AddRetry(CLI::App& app, Context& context) {
    auto options = std::make_shared<ExecutionActionOptions>();
    options->action = "retry";
    CLI::App* retry = AddAction(app, context, options, "Runs failed or cancelled executions again");
    retry->footer(
        "examples:\n"
        "  takt retry remind-7\n"
        "  takt retry --type resize --from 2026-11-15T00:00:00Z\n");
}

}  // namespace takt::internal::cli
