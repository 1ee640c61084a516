// takt queues: what waits in them, pause, resume, limits.
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/json.h"
#include "base/nearest.h"
#include "cli/fleet_view.h"
#include "cli/parts.h"
#include "cli/request_flags.h"

namespace takt::internal::cli {
namespace {

struct QueuesOptions {
    ClientOptions client;
    std::string name;
    RequestFlags limits;
    std::size_t minutes = 60;
};

Result<int> ShowOne(const QueuesOptions& options, const Result<ClientAnswer>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (PrintedAsJson(options.client, *answer)) return kOk;
    boost::json::object page;
    page["items"] = boost::json::array{answer->value};
    QueueTable(page).Print();
    return kOk;
}

Result<int> ListQueues(Client& client, const QueuesOptions& options) {
    return ShowPage(options.client, client.Get("/api/v1/queues"), QueueTable,
                    "there are no queues; a task's first submit makes one");
}

// Minutes in which the queue was idle are told by their first and their last.
Table HistoryTable(const boost::json::value& history) {
    Table table({"UNTIL", "WAITING", "WORKING", "OLDEST", "FINISHED", "FAILED", "WAIT P95"});
    for (const auto* point : ListMember(history, "items")) {
        const auto wait = [&](const char* name) -> std::string {
            if (Member(*point, name).empty()) return "-";
            return ShortDuration(NumberMember(*point, name) / 1000);
        };
        table.Add({ShortTime(Member(*point, "at")), Member(*point, "waiting"),
                   Member(*point, "working"), wait("oldest_wait_ms"), Member(*point, "finished"),
                   Member(*point, "failed"), wait("wait_p95_ms")});
    }
    return table;
}

Result<int> ShowHistory(Client& client, const QueuesOptions& options) {
    const auto history = client.Get(WithQuery(PathOf("queues", options.name, "history"),
                                              {{"minutes", std::to_string(options.minutes)}}));
    const bool kept = !history || Member(history->value, "kept") == "true";
    return ShowPage(options.client, history, HistoryTable,
                    kept ? "the queue was idle, or has had work for less than a minute"
                         : "nothing is kept of it: too many other queues are at work");
}

// A queue is there once somebody uses it, so pausing one ahead of time is fine; a slip is not.
void WarnIfUnused(Client& client, const QueuesOptions& options) {
    const auto page = client.Get("/api/v1/queues");
    if (!page) return;
    std::vector<std::string> names;
    for (const auto* queue : ListMember(page->value, "items")) {
        const bool used = NumberMember(*queue, "waiting") + NumberMember(*queue, "working") +
                              NumberMember(*queue, "finished") >
                          0;
        if (used) names.push_back(Member(*queue, "name"));
    }
    if (std::ranges::find(names, options.name) != names.end()) return;
    const std::string nearest(
        NearestName(options.name, std::vector<std::string_view>(names.begin(), names.end())));
    std::fprintf(stderr, "nothing has used the queue '%s' so far%s\n", options.name.c_str(),
                 nearest.empty() ? "" : ("; did you mean '" + nearest + "'?").c_str());
}

// A flag that is not given changes nothing.
Result<int> Limit(Client& client, const QueuesOptions& options) {
    const GivenFields limits = options.limits.Given();
    if (limits.empty()) {
        return Fail(ErrorCode::kInvalid, "give at least one of " + options.limits.Names());
    }
    return ShowOne(options,
                   client.Call(HttpMethod::kPut, PathOf("queues", options.name), limits.Body()));
}

}  // namespace

void AddQueues(CLI::App& app, Context& context) {
    PartedCommand<QueuesOptions> queues(app, context, {"queues", "Queues; alone it lists them"},
                                        ListQueues);
    QueuesOptions& options = queues.options();
    queues.Add({"list", "Lists queues"}, ListQueues);
    CLI::App* limit = queues.Add({"limit", "Sets its limits"}, Limit);
    CLI::App* history = queues.Add(
        {"history", "How much waited in it and for how long, minute by minute"}, ShowHistory);
    history->add_option("--minutes", options.minutes, "How far back")
        ->capture_default_str()
        ->check(CLI::Range(1, 360));
    CLI::App* const named[] = {
        queues.Add({"get", "Shows a queue"},
                   [](Client& client, const QueuesOptions& given) {
                       return ShowOne(given, client.Get(PathOf("queues", given.name)));
                   }),
        queues.Add({"pause", "Starts nothing more of it"},
                   [](Client& client, const QueuesOptions& given) {
                       WarnIfUnused(client, given);
                       return ShowOne(given, client.Post(PathOf("queues", given.name, "pause")));
                   }),
        queues.Add({"resume", "Starts what waits in it again"},
                   [](Client& client, const QueuesOptions& given) {
                       return ShowOne(given, client.Post(PathOf("queues", given.name, "resume")));
                   }),
        history, limit};
    for (CLI::App* part : named) part->add_option("name", options.name, "Queue")->required();
    // Pausing has a command of its own.
    options.limits.Add(*limit, QueueRequestFields(),
                       {.without = {"paused"},
                        .also = {{"concurrency_max", "--concurrency"}, {"rate_limit", "--rate"}}});
    queues.command().footer(
        "examples:\n"
        "  takt queues\n"
        "  takt queues history images --minutes 360\n"
        "  takt queues pause images\n"
        "  takt queues limit images --concurrency 10 --rate 100/1s\n");
}

}  // namespace takt::internal::cli
