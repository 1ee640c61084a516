// takt cancel and takt retry: change executions, by id or all that a filter matches.
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/json.h"
#include "cli/client.h"
#include "cli/execution_view.h"
#include "cli/filter_flag.h"
#include "cli/moment_flag.h"

namespace takt::internal::cli {
namespace {

struct ExecutionActionOptions {
    ClientOptions client;
    std::string action;
    std::vector<std::string> ids;
    std::string reason;
    std::string task, status, worker, type, queue;
    TimeWindow created;
    std::size_t limit = 100;

    bool filtered() const {
        return !(task + status + worker + type + queue + created.since + created.until).empty();
    }
};

// The most that one call changes, and the most that the command does with several of them.
constexpr std::size_t kSweepMax = 1'000;
constexpr std::size_t kSweepsMax = 100'000;
// Refusals that are told one by one; a filter that was a mistake would fill the screen with them.
constexpr std::size_t kRefusalsShown = 5;

boost::json::object FilterOf(const ExecutionActionOptions& options) {
    boost::json::object filter;
    const std::pair<const char*, const std::string*> parts[] = {
        {"task_id", &options.task},     {"status", &options.status},
        {"worker_id", &options.worker}, {"type", &options.type},
        {"queue", &options.queue},      {"from", &options.created.since},
        {"to", &options.created.until}};
    for (const auto& [name, value] : parts) {
        if (!value->empty()) filter[name] = *value;
    }
    return filter;
}

struct Swept {
    std::size_t matched = 0;
    std::size_t changed = 0;

    // Tells the first few refusals of an answer.
    void Add(const boost::json::value& answer) {
        const std::size_t refused = matched - changed;
        std::size_t shown = std::min(refused, kRefusalsShown);
        matched += static_cast<std::size_t>(NumberMember(answer, "matched"));
        changed += static_cast<std::size_t>(NumberMember(answer, "changed"));
        for (const auto* item : ListMember(answer, "items")) {
            const auto* problem = FindMember(*item, "problem");
            if (!problem || shown == kRefusalsShown) continue;
            ++shown;
            std::fprintf(stderr, "takt: %s: %s\n", Member(*item, "id").c_str(),
                         Member(*problem, "detail").c_str());
        }
    }
};

// A page at a time, each older than the one before: what could not be changed is not tried again.
Result<int> ChangeMatching(Client& client, const ExecutionActionOptions& options) {
    boost::json::object filter = FilterOf(options);
    Swept swept;
    std::string cursor;
    do {
        filter["limit"] = std::min(options.limit - swept.matched, kSweepMax);
        if (!cursor.empty()) filter["cursor"] = cursor;
        std::string body;
        AppendJson(body, filter);
        const auto answer = client.Post("/api/v1/executions/" + options.action, std::move(body));
        if (!answer) return std::unexpected(answer.error());
        if (options.client.json) std::printf("%s\n", answer->body.c_str());
        swept.Add(answer->value);
        cursor = Member(answer->value, "next_cursor");
    } while (!cursor.empty() && swept.matched < options.limit);
    if (!options.client.json) std::printf("%zu of %zu\n", swept.changed, swept.matched);
    const std::size_t refused = swept.matched - swept.changed;
    if (refused > kRefusalsShown) {
        std::fprintf(stderr, "takt: and %zu more could not be changed\n", refused - kRefusalsShown);
    }
    if (!cursor.empty()) {
        std::fprintf(stderr, "only the newest %zu were taken; more may match: a higher --limit\n",
                     swept.matched);
    }
    return refused == 0 ? kOk : kFailed;
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
            PrintError(HintAtTask(client, id, answer.error()));
            if (exit == kOk) exit = ExitOf(answer.error());
        } else if (options.client.json) {
            std::printf("%s\n", answer->body.c_str());
        } else {
            // A run that is to end says so; it ends with the last of what goes on in it.
            const std::string ending = Member(answer->value, "ending");
            std::printf("%s %s%s%s\n", id.c_str(), Member(answer->value, "status").c_str(),
                        ending.empty() ? "" : ", ending as ", ending.c_str());
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
    AddFilter(*command, "--task", options->task, "All of this task");
    AddFilter(*command, "--status", options->status, "All in these states");
    AddFilter(*command, "--worker", options->worker, "All on this worker");
    AddFilter(*command, "--type", options->type, "All of this type");
    AddFilter(*command, "--queue", options->queue, "All of this queue");
    options->created.Add(*command, "All created");
    command->add_option("-n,--limit", options->limit, "At most so many of them")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, kSweepsMax));
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
        "  takt cancel --type resize --limit 100000\n");
}

void AddRetry(CLI::App& app, Context& context) {
    auto options = std::make_shared<ExecutionActionOptions>();
    options->action = "retry";
    CLI::App* retry = AddAction(app, context, options, "Runs failed or cancelled executions again");
    retry->footer(
        "examples:\n"
        "  takt retry remind-7\n"
        "  takt retry --type resize --since 2h\n");
}

}  // namespace takt::internal::cli
