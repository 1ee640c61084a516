// The measurements of takt bench, against a scheduler that is there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "cli/bench_fleet.h"
#include "cli/client.h"

namespace takt::internal::cli {

// Phases whose number of tasks is 0 are left out.
struct BenchPlan {
    std::size_t pending = 0;      // Tasks that wait during everything else; nobody runs them.
    std::size_t single = 0;       // Submitted one by one.
    std::size_t drain = 0;        // Submitted in bulk while nothing runs, then run.
    std::size_t tasks = 100'000;  // Submitted in bulk and run at the same time.
    Duration latency_for{5'000};
    std::size_t rate = 500;  // Single submits per second for the latency.
    std::size_t batch = 1'000;
    std::size_t submitters = 2;  // Connections that submit batches.
    std::size_t payload = 100;   // Bytes.
    std::size_t kinds = 1;       // Of tasks, by the labels that they ask for.
    Duration timeout{120'000};   // Of each part.
};

struct Rate {
    std::size_t tasks = 0;
    double seconds = 0;
    double per_second() const { return static_cast<double>(tasks) / seconds; }
};

// From just before a submit is sent to when its handler begins; milliseconds.
struct Latency {
    Rate sent;
    std::size_t tasks = 0;
    double p50 = 0;
    double p99 = 0;
    double p999 = 0;
    double max = 0;
};

struct BenchResults {
    std::optional<Rate> pending;     // How fast they were taken.
    std::optional<Rate> single;      // Each accepted before the next is sent.
    std::optional<Rate> bulk;        // Until the last acceptance.
    std::optional<Rate> drain;       // From letting go until nothing is left.
    std::optional<Rate> submitted;   // Of end_to_end, until the last acceptance.
    std::optional<Rate> end_to_end;  // From the first submit until nothing is left.
    std::optional<Latency> latency;
};

// kUnavailable if a part is not over in time; kConflict if a task ran never or twice.
Result<BenchResults> RunBench(const ClientOptions& client, const BenchPlan& plan,
                              BenchFleet& fleet);

}  // namespace takt::internal::cli
