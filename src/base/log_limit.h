// Keeps a warning that repeats from filling the disk, in a fixed amount of memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace takt::internal {

// Not thread-safe.
class LogLimiter {
  public:
    // Enough of an outbreak to understand it, few enough to read.
    static constexpr std::uint32_t kBurst = 10;
    static constexpr std::chrono::seconds kWindow{10};

    // Whether the event may be written now: nothing if not, else how many like it were left out
    // since the last that was.
    std::optional<std::uint64_t> Admit(std::string_view component, std::string_view message,
                                       Steady now);

  private:
    // Far more than there are different warnings in the source. When two share a slot, the newer
    // one takes it, and at worst both are written more often.
    static constexpr std::size_t kSlots = 256;

    struct Slot {
        std::size_t hash = 0;
        Steady start{};
        std::uint32_t count = 0;  // Seen since `start`; 0 in a slot that was never used.
        std::uint64_t left_out = 0;
    };
    std::array<Slot, kSlots> slots_{};
};

}  // namespace takt::internal
