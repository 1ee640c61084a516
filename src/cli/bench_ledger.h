// BenchLedger keeps count in takt bench: each task has a number in its payload, and the worker that
// runs it writes down which it has seen, how often, and how long after it was sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace takt::internal::cli {

struct BenchTask {
    std::size_t phase = 0;  // Each measurement of one run of takt bench has its own.
    std::size_t number = 0;
    // By the steady clock, which all processes of a machine share; 0 if nobody wants to know.
    std::int64_t sent_us = 0;
};

// As large as it must be to hold a task.
constexpr std::size_t kBenchPayloadMin = 32;
// Of one measurement; a bit each in the ledger.
constexpr std::size_t kBenchTasksMax = 10'000'000;

std::int64_t SteadyMicroseconds();

// A JSON string of `bytes` characters and two quotes. REQUIRES: bytes >= kBenchPayloadMin.
std::string BenchPayload(const BenchTask& task, std::size_t bytes);
// Nothing if it is no such payload.
std::optional<BenchTask> ReadBenchPayload(std::string_view payload);

struct BenchTally {
    std::size_t distinct = 0;
    std::size_t twice = 0;  // Begun again, by the same worker process.
    std::vector<std::int64_t> latencies_us;
};

// All methods from any thread.
class BenchLedger {
  public:
    // A handler begins. False if the payload is none of takt bench.
    bool Began(std::string_view payload);
    // Of one phase, until now.
    BenchTally Read(std::size_t phase) const;

  private:
    struct Phase {
        std::vector<bool> seen;
        BenchTally tally;
    };
    mutable std::mutex mutex_;
    std::map<std::size_t, Phase> phases_;  // A handful.
};

}  // namespace takt::internal::cli
