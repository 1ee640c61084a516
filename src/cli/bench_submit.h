// How takt bench submits: numbered tasks into a queue of their own, in bulk, one by one, or evenly.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "cli/client.h"

namespace takt::internal::cli {

// Tasks of different kinds ask for different labels of a worker; one of takt bench has all of them.
constexpr std::size_t kBenchKindsMax = 1 << 14;
std::map<std::string, std::string> BenchLabels(std::size_t kind);
inline std::map<std::string, std::string> BenchLabels() {
    return BenchLabels(kBenchKindsMax - 1);
}

// Where the tasks of one measurement go.
struct BenchLane {
    std::size_t phase = 0;
    std::string queue;
    std::string type = "bench";
    std::size_t payload = 100;
    std::size_t kinds = 1;
    bool runs = true;  // Workers take them meanwhile, so that a full queue empties again.
};

// All of them: kUnavailable after `end`; what else the scheduler says, except that it is full: then
// the tasks that were turned away are sent again; unless nothing runs that could make room: then
// kExhausted, with the key to raise. Tasks have the numbers from 0 on.

struct BulkPlan {
    std::size_t tasks = 0;
    std::size_t batch = 1'000;
    Steady end;
};
// One thread for each client.
Result<void> SubmitInBulk(std::vector<Client>& clients, const BenchLane& lane,
                          const BulkPlan& plan);

Result<void> SubmitOneByOne(Client& client, const BenchLane& lane, std::size_t tasks, Steady end);

// `rate` per second, also while earlier ones are not answered yet: one thread for each client takes
// turns. The payloads tell when they were sent.
Result<void> SubmitEvenly(std::vector<Client>& clients, const BenchLane& lane, std::size_t tasks,
                          std::size_t rate);

}  // namespace takt::internal::cli
