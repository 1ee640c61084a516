// Table: statistics of one day along one dimension, a cell for each task, type, worker or hour.
//
// Bounded: once a table has `cells_max` cells, what has none of its own goes to the cell "(other)",
// so that a million names cost no more than a hundred. Not for concurrent use.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "statistics/sketch.h"

namespace takt::internal {

constexpr std::string_view kOtherKey = "(other)";

struct StatisticsCell {
    Text name;  // What people read; empty if the key says it all.
    Text type;  // Of a task.
    std::uint64_t success = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t skipped = 0;  // Dropped by the execution mode.
    std::uint64_t missed = 0;   // Due times dropped by the misfire policy.
    std::uint64_t retries = 0;  // Failed attempts that were repeated.
    Sketch duration;            // Of the last attempt.
    Sketch wait;                // Between being ready and being begun.

    std::uint64_t total() const { return success + failed + cancelled + skipped + missed; }
    // Of those that were run to an end; nothing if none was.
    std::optional<double> success_rate() const {
        if (success + failed == 0) return std::nullopt;
        return static_cast<double>(success) / static_cast<double>(success + failed);
    }
    void Add(const StatisticsCell& other);
};

class StatisticsTable {
  public:
    explicit StatisticsTable(std::size_t cells_max) : cells_max_(cells_max) {}

    // The cell of `key`, or "(other)" if there are too many. Allocates only when it is new.
    StatisticsCell& At(const Text& key);

    // Adds what an encoded table says. kInvalid if it is none; then nothing changes.
    Result<void> AddEncoded(std::string_view bytes);
    std::string Encode() const;

    const auto& cells() const { return cells_; }

  private:
    const std::size_t cells_max_;
    boost::unordered_flat_map<Text, std::unique_ptr<StatisticsCell>, TextHash, TextEqual> cells_;
};

}  // namespace takt::internal
