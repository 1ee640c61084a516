// takt executors: processes that are called over HTTP; maintenance and removal.
#include <cstdio>

#include "api/executor_fields.h"
#include "cli/fleet_view.h"
#include "cli/parts.h"
#include "cli/request_flags.h"

namespace takt::internal::cli {
namespace {

struct ExecutorsOptions {
    ClientOptions client;
    std::string id;
    std::string status;
    RequestFlags change;
};

Result<int> ListExecutors(Client& client, const ExecutorsOptions& options) {
    return ShowPage(options.client, client.Get("/api/v1/executors"), ExecutorTable,
                    "there are no executors; they register themselves, see docs/executors.md");
}

Result<int> GetExecutor(Client& client, const ExecutorsOptions& options) {
    const auto answer = client.Get(PathOf("executors", options.id));
    if (!answer) return std::unexpected(answer.error());
    if (!PrintedAsJson(options.client, *answer)) {
        std::fputs(ObjectText(answer->value).c_str(), stdout);
    }
    return kOk;
}

Result<int> SetExecutorStatus(Client& client, const ExecutorsOptions& options) {
    GivenFields change = options.change.Given();
    change.SetText("status", options.status);
    return ShowChange(
        options.client, options.id,
        client.Call(HttpMethod::kPut, PathOf("executors", options.id, "status"), change.Body()));
}

Result<int> RemoveExecutor(Client& client, const ExecutorsOptions& options) {
    return ShowChange(options.client, options.id,
                      client.Call(HttpMethod::kDelete, PathOf("executors", options.id)));
}

}  // namespace

void AddExecutors(CLI::App& app, Context& context) {
    PartedCommand<ExecutorsOptions> executors(
        app, context, {"executors", "HTTP executors; alone it lists them"}, ListExecutors);
    ExecutorsOptions& options = executors.options();
    const auto add = [&](PartedCommand<ExecutorsOptions>::Title title, auto body) {
        CLI::App* part = executors.Add(title, body);
        part->add_option("id", options.id, "Executor: its instance_id")->required();
        return part;
    };
    executors.Add({"list", "Lists executors"}, ListExecutors);
    add({"get", "Shows an executor: its address, health and circuit"}, GetExecutor);
    CLI::App* status =
        add({"status", "Takes an executor out of rotation or puts it back"}, SetExecutorStatus);
    const std::vector<FieldView> fields = ViewsOf(ExecutorStatusFields());
    status->add_option("status", options.status, std::string(fields.front().about))->required();
    options.change.Add(*status, fields, {.without = {"status"}});
    add({"remove", "Removes an executor; what it runs is given to others, its tasks stay"},
        RemoveExecutor);
    executors.command().footer(
        "examples:\n"
        "  takt executors\n"
        "  takt executors status executor-001 maintenance --reason upgrade\n"
        "  takt executors status executor-001 online\n");
}

}  // namespace takt::internal::cli
