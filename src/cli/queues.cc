// takt queues: what waits in them, pause, resume, limits.
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/json.h"
#include "base/nearest.h"
#include "cli/fleet_view.h"
#include "cli/parts.h"

namespace takt::internal::cli {
namespace {

struct QueuesOptions {
    ClientOptions client;
    std::string name;
    std::string concurrency;
    std::string rate;
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

// "none" takes a limit away; a flag that is not given changes nothing.
Result<int> Limit(Client& client, const QueuesOptions& options) {
    boost::json::object limits;
    if (options.concurrency == "none") {
        limits["concurrency_max"] = nullptr;
    } else if (!options.concurrency.empty()) {
        auto number = ParseJson(options.concurrency);
        if (!number || !number->is_int64()) {
            return Fail(ErrorCode::kInvalid, "--concurrency must be a number or none");
        }
        limits["concurrency_max"] = std::move(*number);
    }
    if (options.rate == "none") {
        limits["rate_limit"] = nullptr;
    } else if (!options.rate.empty()) {
        const std::size_t slash = options.rate.find('/');
        auto count = ParseJson(options.rate.substr(0, slash));
        if (slash == std::string::npos || !count || !count->is_int64()) {
            return Fail(ErrorCode::kInvalid,
                        "--rate must be COUNT/DURATION such as 100/1s, or none");
        }
        limits["rate_limit"] = boost::json::object{{"count", count->get_int64()},
                                                   {"per", options.rate.substr(slash + 1)}};
    }
    if (limits.empty()) return Fail(ErrorCode::kInvalid, "give --concurrency or --rate");
    std::string body;
    AppendJson(body, limits);
    return ShowOne(options,
                   client.Call(HttpMethod::kPut, PathOf("queues", options.name), std::move(body)));
}

}  // namespace

void AddQueues(CLI::App& app, Context& context) {
    PartedCommand<QueuesOptions> queues(app, context, {"queues", "Queues; alone it lists them"},
                                        ListQueues);
    QueuesOptions& options = queues.options();
    queues.Add({"list", "Lists queues"}, ListQueues);
    CLI::App* limit = queues.Add({"limit", "Sets its limits"}, Limit);
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
        limit};
    for (CLI::App* part : named) part->add_option("name", options.name, "Queue")->required();
    limit->add_option("--concurrency", options.concurrency, "How many may run at once, or none");
    limit->add_option("--rate", options.rate, "How many may start per time: 100/1s, or none");
    queues.command().footer(
        "examples:\n"
        "  takt queues\n"
        "  takt queues pause images\n"
        "  takt queues limit images --concurrency 10 --rate 100/1s\n");
}

}  // namespace takt::internal::cli
