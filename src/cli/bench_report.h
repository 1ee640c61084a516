// The report of takt bench, as text and as JSON.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/bench_run.h"
#include "cli/child.h"

namespace takt::internal::cli {

struct BenchProcess {
    std::string name;
    pid_t process;
    Usage before{};
    Usage after{};
};

struct BenchReport {
    std::string store;  // As the scheduler describes it.
    BenchPlan plan;
    BenchFleetOptions fleet;
    BenchResults results;
    std::vector<BenchProcess> processes;
    double seconds = 0;  // Of all parts together.
};

void PrintBench(const BenchReport& report);
// One object on one line; docs/cli.md tells its members.
void PrintBenchJson(const BenchReport& report);

}  // namespace takt::internal::cli
