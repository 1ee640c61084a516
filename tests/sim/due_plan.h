// DuePlan: the due times of a recurring task as docs/cron.md and docs/scheduling.md say them, worked
// out second by second, and without anything that src/model has: it knows the crons that planners
// write, and by how much the clocks of a few zones are set at one moment each.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "model/task.h"
#include "sim/world.h"

namespace takt::internal::sim {

// The clock of a zone is set once, within some days.
struct ZoneChange {
    const char* zone;
    std::int64_t at;  // In seconds since 1970.
    std::int64_t before;
    std::int64_t after;  // Seconds ahead of UTC.
};
std::span<const ZoneChange> ZoneChanges();

// A cron that says something about the hours around it.
std::string AnyCronAround(World& world, const ZoneChange& change);

class DuePlan {
  public:
    // Nothing if it is of a kind that is not known here.
    static std::optional<DuePlan> Make(const Recurrence& recurrence, Time anchor);

    bool after_end() const { return after_end_; }
    bool IsDue(Time time) const;
    // The first due time after that; nothing if there is none.
    std::optional<Time> Next(Time after) const;
    // How many there are after the one and up to the other; one more than `most` if there are more.
    std::uint64_t Count(Time after, Time until, std::uint64_t most) const;

  private:
    bool IsDueSecond(std::int64_t second) const;
    bool Fits(std::int64_t local) const;
    std::int64_t OffsetAt(std::int64_t second) const;

    bool after_end_ = false;
    Duration every_{0};  // Multiples of it from `anchor_` on.
    Time anchor_{};
    Time end_at_{};
    std::bitset<60> seconds_;
    std::bitset<60> minutes_;
    std::bitset<24> hours_;
    Dst dst_{};
    const ZoneChange* change_ = nullptr;  // Null: UTC.
    bool skipped_fits_ = false;           // A local time that the change skips does.
};

}  // namespace takt::internal::sim
