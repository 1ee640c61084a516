// The measurements of takt bench, against a scheduler and workers that are there.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "cli/client.h"

namespace takt::internal::cli {

struct BenchPlan {
    std::size_t tasks = 100'000;
    std::size_t batch = 1'000;
    std::size_t submitters = 2;  // Connections that submit batches.
    std::size_t rate = 500;      // Single submits per second for the latency.
    Duration latency_for{5'000};
    Duration timeout{120'000};  // Of each of the two parts.
};

struct Throughput {
    std::size_t tasks = 0;
    double submit_seconds = 0;  // From the first submit to the last acceptance.
    double total_seconds = 0;   // From the first submit until nothing is left.
};

// Submits no-ops in batches and waits for the last one to end. kUnavailable after the timeout.
Result<Throughput> MeasureThroughput(const ClientOptions& client, const BenchPlan& plan);

// From just before a submit is sent to when its handler begins; milliseconds.
struct Latency {
    std::size_t tasks = 0;
    double rate = 0;  // What was really sent.
    double p50 = 0;
    double p99 = 0;
    double p999 = 0;
    double max = 0;
};

// Submits single tasks at an even rate. The clocks of this machine and the workers' must agree.
Result<Latency> MeasureLatency(const ClientOptions& client, const BenchPlan& plan);

}  // namespace takt::internal::cli
