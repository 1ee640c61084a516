#include "cli/bench_fleet.h"

#include <unistd.h>

#include <sstream>

#include "cli/context.h"

namespace takt::internal::cli {
namespace {

constexpr Duration kFleetStart{90'000};  // For a thousand sessions to attach on a busy machine.
constexpr Duration kFleetAnswer{30'000};

Result<void> AddAnswer(Child& worker, BenchTally& sum) {
    const auto head = worker.ReadLine(kFleetAnswer);
    if (!head) return std::unexpected(head.error());
    std::size_t distinct = 0;
    std::size_t twice = 0;
    std::size_t left = 0;
    std::istringstream(*head) >> distinct >> twice >> left;
    sum.distinct += distinct;
    sum.twice += twice;
    while (left > 0) {
        const auto line = worker.ReadLine(kFleetAnswer);
        if (!line) return std::unexpected(line.error());
        std::istringstream numbers(*line);
        const std::size_t before = left;
        for (std::int64_t latency = 0; left > 0 && numbers >> latency; --left) {
            sum.latencies_us.push_back(latency);
        }
        if (left == before) return Fail(ErrorCode::kUnavailable, "a worker said '" + *line + "'");
    }
    return {};
}

}  // namespace

Result<BenchFleet> BenchFleet::Start(const BenchFleetOptions& options, const ClientOptions& given) {
    // Workers have no context of their own: they are told what the one of this command says.
    const auto client = InContext(given);
    if (!client) return std::unexpected(client.error());
    // The scheduler may know workers of an earlier measurement.
    const std::string prefix = "bench-" + std::to_string(getpid()) + "-";
    BenchFleet fleet;
    for (std::size_t i = 1; i <= options.processes; ++i) {
        std::vector<std::string> arguments = {"bench-worker",
                                              "--server",
                                              client->server,
                                              "--id",
                                              prefix + std::to_string(i),
                                              "--sessions",
                                              std::to_string(options.sessions),
                                              "--capacity",
                                              std::to_string(options.capacity)};
        if (!client->token.empty()) arguments.insert(arguments.end(), {"--token", client->token});
        if (!client->space.empty()) {
            arguments.insert(arguments.end(), {"--namespace", client->space});
        }
        auto worker = Child::Start(arguments);
        if (!worker) return std::unexpected(worker.error());
        fleet.workers_.push_back(std::move(*worker));
    }
    for (Child& worker : fleet.workers_) {
        if (auto ready = worker.ReadLine(kFleetStart); !ready)
            return std::unexpected(ready.error());
    }
    return fleet;
}

Result<BenchTally> BenchFleet::Read(std::size_t phase) {
    BenchTally sum;
    for (Child& worker : workers_) {
        if (auto asked = worker.WriteLine(std::to_string(phase)); !asked) {
            return std::unexpected(asked.error());
        }
        if (auto added = AddAnswer(worker, sum); !added) return std::unexpected(added.error());
    }
    return sum;
}

std::vector<pid_t> BenchFleet::processes() const {
    std::vector<pid_t> found;
    for (const Child& worker : workers_) found.push_back(worker.process());
    return found;
}

}  // namespace takt::internal::cli
