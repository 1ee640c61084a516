// takt list: executions, newest first.
#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "cli/client.h"
#include "cli/execution_view.h"
#include "cli/filter_flag.h"
#include "cli/moment_flag.h"

namespace takt::internal::cli {
namespace {

constexpr std::size_t kPageMax = 1000;

struct ListOptions {
    ClientOptions client;
    std::string task, status, worker, type, queue, parent, search, metadata, parameters, cursor;
    TimeWindow created;
    std::size_t limit = 20;
    bool all = false;
    bool children = false;
};

// Parts of runs are left out unless somebody asks for them, and may be what is looked for.
std::string WhyNothing(const ListOptions& options) {
    const bool whole = options.children || !options.parent.empty();
    return whole ? "nothing matches"
                 : "nothing matches; steps of runs and what a backfill made up for are listed with "
                   "--children";
}

// The place where a list ended.
struct ListEnd {
    const std::string& cursor;         // Empty: there is no more.
    const std::string& searched_to;    // Empty: all of it was searched.
    const std::string& parameters_to;  // The same of the parameters.
    bool nothing;
};

void PrintEnd(const ListOptions& options, const ListEnd& end) {
    if (!end.parameters_to.empty()) {
        std::fprintf(stderr, "parameters were searched back to %s only: there are many megabytes\n",
                     end.parameters_to.c_str());
    }
    if (options.client.json) {
        std::string next = "null";
        if (!end.cursor.empty()) {
            next.clear();
            AppendJsonString(next, end.cursor);
        }
        std::printf("],\"next_cursor\":%s}\n", next.c_str());
    } else if (!end.searched_to.empty()) {
        std::fprintf(stderr, "searched back to %s; go on: --cursor %s, or --all to the end\n",
                     end.searched_to.c_str(), end.cursor.c_str());
    } else if (end.nothing) {
        std::fprintf(stderr, "%s\n", WhyNothing(options).c_str());
    } else if (!end.cursor.empty()) {
        std::fprintf(stderr, "there are more: --cursor %s, or --all for all of them\n",
                     end.cursor.c_str());
    }
}

// A page at a time, so that a list of millions needs the memory of one page.
Result<int> List(Client& client, const ListOptions& options) {
    std::string cursor = options.cursor;
    std::size_t left = options.all ? SIZE_MAX : options.limit;
    std::string searched_to, parameters_to;
    bool first = true;
    if (options.client.json) std::printf("{\"items\":[");
    while (left > 0) {
        const auto page = client.Get(
            WithQuery("/api/v1/executions", {{"task_id", options.task},
                                             {"status", options.status},
                                             {"worker_id", options.worker},
                                             {"type", options.type},
                                             {"queue", options.queue},
                                             {"parent_id", options.parent},
                                             {"children", options.children ? "true" : ""},
                                             {"search", options.search},
                                             {"metadata", options.metadata},
                                             {"parameters", options.parameters},
                                             {"from", options.created.since},
                                             {"to", options.created.until},
                                             {"limit", std::to_string(std::min(left, kPageMax))},
                                             {"cursor", cursor}}));
        if (!page) {
            if (options.client.json) std::printf("]}\n");
            return std::unexpected(page.error());
        }
        const auto items = ListMember(page->value, "items");
        Table table = ExecutionTable();
        for (const auto* item : items) {
            if (options.client.json) {
                std::string text;
                AppendJson(text, *item);
                std::printf("%s%s", first ? "" : ",", text.c_str());
            } else {
                AddExecution(table, *item);
            }
            first = false;
        }
        if (!options.client.json && !table.empty()) table.Print();
        left -= std::min(left, items.size());
        cursor = Member(page->value, "next_cursor");
        searched_to = Member(page->value, "searched_to");
        if (parameters_to.empty()) parameters_to = Member(page->value, "parameters_searched_to");
        if (cursor.empty()) break;
        // A search that found too few in time: whoever wants all of it has the patience.
        if (!options.all && !searched_to.empty()) break;
        if (items.empty() && searched_to.empty()) break;
    }
    PrintEnd(options, {.cursor = cursor,
                       .searched_to = searched_to,
                       .parameters_to = parameters_to,
                       .nothing = first});
    return kOk;
}

}  // namespace

void AddList(CLI::App& app, Context& context) {
    auto options = std::make_shared<ListOptions>();
    CLI::App* list = app.add_subcommand("list", "Lists executions, newest first");
    options->client.Add(*list);
    options->client.AddWatch(*list);
    AddFilter(*list, "--task", options->task, "Only of this task");
    AddFilter(*list, "--status", options->status,
              "Only these states, parted by commas: pending, scheduled, running, retrying, "
              "success, failed, cancelled, skipped");
    AddFilter(*list, "--worker", options->worker, "Only on this worker");
    AddFilter(*list, "--type", options->type, "Only of this type");
    AddFilter(*list, "--queue", options->queue, "Only of this queue");
    list->add_flag("--children", options->children,
                   "Also the parts of runs: steps, shards, what a backfill made up for");
    AddFilter(*list, "--parent", options->parent, "Only the parts of this run");
    AddFilter(
        *list, "--search", options->search,
        "Only with this text in name, id, type, queue, worker, step, metadata, error or a value of "
        "the parameters");
    AddFilter(*list, "--metadata", options->metadata, "Only with this metadata, NAME=VALUE");
    AddFilter(*list, "--parameters", options->parameters,
              "Only with this value in the parameters, PATH=VALUE: order.id=4711");
    options->created.Add(*list, "Created");
    list->add_option("-n,--limit", options->limit, "How many")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    list->add_option("--cursor", options->cursor, "Go on where an earlier list ended");
    list->add_flag("--all", options->all, "Every page, to the end");
    list->footer(
        "examples:\n"
        "  takt list --status failed,cancelled --type resize\n"
        "  takt list --task nightly --limit 5\n"
        "  takt list --search 'connection refused' --metadata team=billing\n"
        "  takt list --parameters order.id=4711\n"
        "  takt list --status running -w\n"
        "  takt list --status failed --since 1h -o wide\n"
        "  takt list --all --json | jq -r '.items[].id'\n");
    list->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return List(client, *options); });
    });
}

}  // namespace takt::internal::cli
