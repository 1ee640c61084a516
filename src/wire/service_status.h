// ServiceStatus: what an HTTP service says of an attempt, in its answer or in a callback, in any case
// of letters.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace takt::internal {

enum class ServiceStatus : std::uint8_t { kSuccess, kFailed, kGoesOn };

// Nothing if it is another word: whether the work was done is not known then.
inline std::optional<ServiceStatus> ParseServiceStatus(std::string_view word) {
    using enum ServiceStatus;
    struct Known {
        std::string_view word;
        ServiceStatus status;
    };
    static constexpr std::array known = {
        Known{"success", kSuccess}, Known{"completed", kSuccess}, Known{"succeeded", kSuccess},
        Known{"failed", kFailed},   Known{"accepted", kGoesOn},   Known{"queued", kGoesOn},
        Known{"pending", kGoesOn},  Known{"scheduled", kGoesOn},  Known{"started", kGoesOn},
        Known{"running", kGoesOn},  Known{"processing", kGoesOn}, Known{"in_progress", kGoesOn},
    };
    const auto same = [](char given, char small) {
        return (given >= 'A' && given <= 'Z' ? char(given - 'A' + 'a') : given) == small;
    };
    const auto found = std::ranges::find_if(
        known, [&](const Known& one) { return std::ranges::equal(word, one.word, same); });
    if (found == known.end()) return std::nullopt;
    return found->status;
}

}  // namespace takt::internal
