// takt workers: who runs tasks, and taking them out of rotation.
#include <fmt/format.h>

#include <cstdio>

#include "cli/client.h"
#include "cli/fleet_view.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

struct WorkersOptions {
    ClientOptions client;
    std::string id;
};

Result<int> ListWorkers(Client& client, const WorkersOptions& options) {
    const auto page = client.Get("/api/v1/workers");
    if (!page) return std::unexpected(page.error());
    if (options.client.json) {
        std::printf("%s\n", page->body.c_str());
        return kOk;
    }
    const Table table = WorkerTable(page->value);
    if (table.empty()) {
        std::fprintf(stderr, "there are no workers; takt worker --demo starts one\n");
    } else {
        table.Print();
    }
    return kOk;
}

Result<int> Tell(const WorkersOptions& options, const Result<ClientAnswer>& answer,
                 const char* otherwise) {
    if (!answer) return std::unexpected(answer.error());
    if (options.client.json) {
        if (!answer->body.empty()) std::printf("%s\n", answer->body.c_str());
        return kOk;
    }
    const std::string status = Member(answer->value, "status");
    std::printf("%s %s\n", options.id.c_str(), status.empty() ? otherwise : status.c_str());
    return kOk;
}

}  // namespace

void AddWorkers(CLI::App& app, Context& context) {
    auto options = std::make_shared<WorkersOptions>();
    CLI::App* workers = app.add_subcommand("workers", "Workers; alone it lists them");
    options->client.Add(*workers);
    using Body = Result<int> (*)(Client&, const WorkersOptions&);
    const auto add = [&](const char* name, const char* help, Body body) {
        CLI::App* part = workers->add_subcommand(name, help);
        part->fallthrough();
        part->callback([options, &context, body] {
            context.exit =
                WithClient(options->client, [&](Client& client) { return body(client, *options); });
        });
        return part;
    };
    add("list", "Lists workers", ListWorkers);
    add("drain", "Gives a worker nothing new; it finishes what it has",
        [](Client& client, const WorkersOptions& given) {
            return Tell(given, client.Post(PathOf("workers", given.id, "drain")), "draining");
        })
        ->add_option("id", options->id, "Worker")
        ->required();
    add("resume", "Puts a worker back into rotation",
        [](Client& client, const WorkersOptions& given) {
            return Tell(given, client.Post(PathOf("workers", given.id, "resume")), "online");
        })
        ->add_option("id", options->id, "Worker")
        ->required();
    add("remove", "Removes a worker; what it runs is given to others",
        [](Client& client, const WorkersOptions& given) {
            return Tell(given, client.Call(HttpMethod::kDelete, PathOf("workers", given.id)),
                        "removed");
        })
        ->add_option("id", options->id, "Worker")
        ->required();
    workers->footer(
        "examples:\n"
        "  takt workers\n"
        "  takt workers drain host-7\n");
    workers->callback([workers, options, &context] {
        if (!workers->get_subcommands().empty()) return;
        context.exit = WithClient(options->client,
                                  [&](Client& client) { return ListWorkers(client, *options); });
    });
}

}  // namespace takt::internal::cli
