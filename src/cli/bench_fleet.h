// The worker processes that takt bench starts, and what they have run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/bench_ledger.h"
#include "cli/child.h"
#include "cli/client.h"

namespace takt::internal::cli {

struct BenchFleetOptions {
    std::size_t processes = 2;
    // In each process; 0 is one worker as people have it, more are light ones on one thread.
    std::size_t sessions = 0;
    std::uint32_t capacity = 500;  // Of each session.
};

class BenchFleet {
  public:
    // Returns when all of them are attached. REQUIRES: as Child::Start.
    static Result<BenchFleet> Start(const BenchFleetOptions& options, const ClientOptions& client);

    // The executions of a phase that all of them have run until now.
    Result<BenchTally> Read(std::size_t phase);

    // Process ids, in the order of the workers.
    std::vector<pid_t> processes() const;

  private:
    std::vector<Child> workers_;
};

}  // namespace takt::internal::cli
