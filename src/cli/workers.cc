// takt workers: who runs tasks, and taking them out of rotation.
#include <charconv>

#include "cli/fleet_view.h"
#include "cli/parts.h"

namespace takt::internal::cli {
namespace {

struct WorkersOptions {
    ClientOptions client;
    std::string id;
    std::string capacity;
    bool force = false;
};

Result<int> ListWorkers(Client& client, const WorkersOptions& options) {
    return ShowPage(options.client, client.Get("/api/v1/workers"), WorkerTable,
                    "there are no workers; takt worker --demo starts one");
}

Result<int> GetWorker(Client& client, const WorkersOptions& options) {
    const auto worker = client.Get(PathOf("workers", options.id));
    if (!worker) return std::unexpected(worker.error());
    if (!PrintedAsJson(options.client, *worker)) {
        std::fputs(ObjectText(worker->value).c_str(), stdout);
    }
    return kOk;
}

Result<int> SetCapacityOf(Client& client, const WorkersOptions& options) {
    std::uint32_t count = 0;
    const char* const end = options.capacity.data() + options.capacity.size();
    const auto [rest, error] = std::from_chars(options.capacity.data(), end, count);
    const bool own = options.capacity == "own";
    if (!own && (error != std::errc() || rest != end)) {
        return Fail(ErrorCode::kInvalid, "--capacity must be a number, or own");
    }
    const std::string value = own ? "null" : std::to_string(count);
    const auto worker = client.Call(HttpMethod::kPut, PathOf("workers", options.id, "capacity"),
                                    R"({"capacity": )" + value + "}");
    if (!worker) return std::unexpected(worker.error());
    if (PrintedAsJson(options.client, *worker)) return kOk;
    std::printf("%s has a capacity of %s, %s, and runs %s\n", options.id.c_str(),
                Member(worker->value, "capacity").c_str(),
                own ? "its own" : "until it is set again",
                Member(worker->value, "running").c_str());
    return kOk;
}

}  // namespace

void AddWorkers(CLI::App& app, Context& context) {
    PartedCommand<WorkersOptions> workers(app, context, {"workers", "Workers; alone it lists them"},
                                          ListWorkers);
    workers.Add({"list", "Lists workers"}, ListWorkers);
    workers.Add({"get", "Shows a worker"}, GetWorker)
        ->add_option("id", workers.options().id, "Worker")
        ->required();
    CLI::App* const named[] = {
        workers.Add({"drain", "Gives a worker nothing new; it finishes what it has"},
                    [](Client& client, const WorkersOptions& given) {
                        return ShowChange(given.client, given.id,
                                          client.Post(PathOf("workers", given.id, "drain")));
                    }),
        workers.Add({"resume", "Puts a worker back into rotation"},
                    [](Client& client, const WorkersOptions& given) {
                        return ShowChange(given.client, given.id,
                                          client.Post(PathOf("workers", given.id, "resume")));
                    }),
        workers.Add({"set", "Changes a worker while it runs"}, SetCapacityOf),
        workers.Add({"remove", "Removes a worker; what it runs is given to others"},
                    [](Client& client, const WorkersOptions& given) {
                        return ShowChange(given.client, given.id,
                                          client.Call(HttpMethod::kDelete,
                                                      PathOf("workers", given.id) +
                                                          (given.force ? "?force=true" : "")));
                    })};
    for (CLI::App* part : named) {
        part->add_option("id", workers.options().id, "Worker")->required();
    }
    named[2]
        ->add_option("--capacity", workers.options().capacity,
                     "Attempts that it is given at once; own: what it says itself")
        ->required();
    named[3]->add_flag("--force", workers.options().force,
                       "Although it is connected and has executions in hand: they are run twice");
    workers.command().footer(
        "examples:\n"
        "  takt workers -o wide\n"
        "  takt workers drain host-7\n"
        "  takt workers set host-7 --capacity 20\n");
}

}  // namespace takt::internal::cli
