// Table: statistics of one day along one dimension, a cell for each task, type, worker or hour.
//
// Bounded: once a table's places are taken, what has no cell of its own goes to the cell "(other)",
// so that a million names cost no more than a hundred. Names of one-off tasks, which anybody makes
// up with every submit, have places apart: they cannot take those of recurring tasks. Not for
// concurrent use.
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
#include "base/time.h"
#include "model/status.h"
#include "statistics/sketch.h"

namespace takt::internal {

constexpr std::string_view kOtherKey = "(other)";

// One-off tasks have an id for each run; they are added up under "once:" and their name. No id of a
// task has a colon.
constexpr std::string_view kOncePrefix = "once:";

struct StatisticsCell {
    Text name;              // What people read; empty if the key says it all.
    Text type;              // Of a task.
    bool is_other = false;  // Many share it, so it has neither of them.
    std::uint64_t success = 0;
    std::uint64_t failed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t skipped = 0;  // Dropped by the execution mode.
    std::uint64_t missed = 0;   // Due times dropped by the misfire policy.
    std::uint64_t retries = 0;  // Failed attempts that were repeated.
    Sketch duration;            // Of the last attempt.
    Sketch wait;                // Between being ready and being begun.
    // The end that came last, of those that were not dropped; nothing if none is known.
    std::optional<Status> last_status;
    Time last_at{};

    std::uint64_t total() const { return success + failed + cancelled + skipped + missed; }
    // Of those that were run to an end; nothing if none was.
    std::optional<double> success_rate() const {
        if (success + failed == 0) return std::nullopt;
        return static_cast<double>(success) / static_cast<double>(success + failed);
    }
    // Unless it has a name already.
    void SetName(const Text& name_now, const Text& type_now);
    void Add(const StatisticsCell& other);
    // Unless a later end is known.
    void SetLast(Status status, Time at);
};

class StatisticsTable {
  public:
    struct Places {
        std::size_t cells_max = 0;
        // Of these for keys that begin with "once:", and only for them; 0: they are not told apart.
        std::size_t once_max = 0;
    };
    explicit StatisticsTable(Places places) : places_(places) {}

    // The cell of `key`, or "(other)" if there are too many. Allocates only when it is new.
    StatisticsCell& At(const Text& key);

    // Adds what an encoded table says. kInvalid if it is none; then nothing changes.
    Result<void> AddEncoded(std::string_view bytes);
    std::string Encode() const;

    const auto& cells() const { return cells_; }

  private:
    const Places places_;
    // Places that are taken; "(other)" takes none.
    std::size_t plain_ = 0;
    std::size_t once_ = 0;
    boost::unordered_flat_map<Text, std::unique_ptr<StatisticsCell>, TextHash, TextEqual> cells_;
};

}  // namespace takt::internal
