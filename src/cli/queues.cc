// takt queues: what waits in them, pause, resume, limits.
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/json.h"
#include "cli/client.h"
#include "cli/fleet_view.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

struct QueuesOptions {
    ClientOptions client;
    std::string name;
    std::string concurrency;
    std::string rate;
};

Result<int> ShowList(const QueuesOptions& options, const Result<ClientAnswer>& page) {
    if (!page) return std::unexpected(page.error());
    if (options.client.json) {
        std::printf("%s\n", page->body.c_str());
        return kOk;
    }
    const Table table = QueueTable(page->value);
    if (table.empty())
        std::fprintf(stderr, "there are no queues; a task's first submit makes one\n");
    if (!table.empty()) table.Print();
    return kOk;
}

Result<int> ShowOne(const QueuesOptions& options, const Result<ClientAnswer>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (options.client.json) {
        std::printf("%s\n", answer->body.c_str());
        return kOk;
    }
    boost::json::object page;
    page["items"] = boost::json::array{answer->value};
    QueueTable(page).Print();
    return kOk;
}

Result<int> ListQueues(Client& client, const QueuesOptions& options) {
    return ShowList(options, client.Get("/api/v1/queues"));
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
    auto options = std::make_shared<QueuesOptions>();
    CLI::App* queues = app.add_subcommand("queues", "Queues; alone it lists them");
    options->client.Add(*queues);
    using Body = Result<int> (*)(Client&, const QueuesOptions&);
    const auto add = [&](const char* name, const char* help, Body body) {
        CLI::App* part = queues->add_subcommand(name, help);
        part->fallthrough();
        part->callback([options, &context, body] {
            context.exit =
                WithClient(options->client, [&](Client& client) { return body(client, *options); });
        });
        return part;
    };
    const auto add_named = [&](const char* name, const char* help, Body body) {
        CLI::App* part = add(name, help, body);
        part->add_option("name", options->name, "Queue")->required();
        return part;
    };
    add("list", "Lists queues", ListQueues);
    add_named("get", "Shows a queue", [](Client& client, const QueuesOptions& given) {
        return ShowOne(given, client.Get(PathOf("queues", given.name)));
    });
    add_named("pause", "Starts nothing more of it", [](Client& client, const QueuesOptions& given) {
        return ShowOne(given, client.Post(PathOf("queues", given.name, "pause")));
    });
    add_named("resume", "Starts what waits in it again",
              [](Client& client, const QueuesOptions& given) {
                  return ShowOne(given, client.Post(PathOf("queues", given.name, "resume")));
              });
    CLI::App* limit = add_named("limit", "Sets its limits", Limit);
    limit->add_option("--concurrency", options->concurrency, "How many may run at once, or none");
    limit->add_option("--rate", options->rate, "How many may start per time: 100/1s, or none");
    queues->footer(
        "examples:\n"
        "  takt queues\n"
        "  takt queues pause images\n"
        "  takt queues limit images --concurrency 10 --rate 100/1s\n");
    queues->callback([queues, options, &context] {
        if (!queues->get_subcommands().empty()) return;
        context.exit = WithClient(options->client,
                                  [&](Client& client) { return ListQueues(client, *options); });
    });
}

}  // namespace takt::internal::cli
