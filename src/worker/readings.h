// Readings of what the machine is doing, read from /proc, for heartbeats.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace takt::internal {

struct Reading {
    float cpu = 0;          // Fraction of all cores since the reading before, 0 to 1.
    float memory = 0;       // Fraction that is not available, 0 to 1.
    double network_in = 0;  // Bytes per second since the reading before, without loopback.
    double network_out = 0;
    std::uint32_t connections = 0;  // Sockets of this process.
};

// Keeps what is needed to tell rates. What cannot be read is 0: a heartbeat is worth more than its
// readings.
class Readings {
  public:
    // `proc`: for tests, another folder than /proc.
    explicit Readings(std::string proc = "/proc") : proc_(std::move(proc)) {}

    Reading Read(Steady now);

  private:
    struct Totals {
        std::uint64_t cpu_busy = 0;
        std::uint64_t cpu_all = 0;
        std::uint64_t bytes_in = 0;
        std::uint64_t bytes_out = 0;
    };

    const std::string proc_;
    Totals last_;
    Steady last_at_{};
};

}  // namespace takt::internal
