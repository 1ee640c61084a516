// Tally: how many rows there are of each kind, and their bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/change.h"

namespace takt::internal {

enum class RowKind : std::uint8_t {
    kHistory,
    kLive,
    kTask,
    kWorker,
    kSetting,
    kRecord,
    kLog,
    kEvent,
    kAudit,
};
constexpr std::size_t kRowKindCount = 9;
// "history", "live", "tasks" and so on.
std::string_view Name(RowKind kind);

// REQUIRES: the change brings a row; it is no deletion and no Purge.
RowKind KindOf(const Change& change);

struct Tally {
    struct Part {
        std::uint64_t rows = 0;
        std::uint64_t bytes = 0;  // As SizeOf counts them, before a store packs them.

        friend bool operator==(const Part&, const Part&) = default;
    };
    std::array<Part, kRowKindCount> parts{};

    void Count(const Change& change);
    void Add(const Tally& other);
    const Part& of(RowKind kind) const { return parts[static_cast<std::size_t>(kind)]; }
    Part sum() const;

    friend bool operator==(const Tally&, const Tally&) = default;
};

}  // namespace takt::internal
