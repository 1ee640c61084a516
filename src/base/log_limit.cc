#include "base/log_limit.h"

#include <functional>
#include <utility>

namespace takt::internal {

std::optional<std::uint64_t> LogLimiter::Admit(std::string_view component, std::string_view message,
                                               Steady now) {
    const std::hash<std::string_view> hash_of;
    const std::size_t hash = hash_of(message) * 31 + hash_of(component);
    Slot& slot = slots_[hash % kSlots];
    if (slot.count == 0 || slot.hash != hash) slot = {.hash = hash, .start = now};
    if (now - slot.start >= kWindow) {
        slot.start = now;
        slot.count = 0;
    }
    // Counts no further than needed, so that it never wraps around in a long outbreak.
    if (slot.count == kBurst) {
        ++slot.left_out;
        return std::nullopt;
    }
    ++slot.count;
    return std::exchange(slot.left_out, 0);
}

}  // namespace takt::internal
