// Cron: when a recurring task fires.
//
//     Result<Cron> cron = Cron::Parse("0 2 * * MON-FRI", {.timezone = "Asia/Shanghai"});
//     std::optional<Time> next = cron->Next(now);
//
// The syntax, with what it takes from which other cron, is in docs/cron.md. In short: 5 fields
// (minute hour day month weekday), 6 (seconds first) or 7 (year last); lists, ranges, steps, names,
// L, W, #, ?; @daily and friends; @every 90s; a zone may stand in front as TZ=Europe/Berlin.
//
// One rule for daylight saving time. The option decides about the times of day that an expression
// names; an expression for all 24 hours of the day names none:
//
//               local time that is skipped             local time that comes twice
//     kOnce     fires once, when the clock jumps       fires the first time
//     kSkip     does not fire                          fires the first time
//     kTwice    fires once, when the clock jumps       fires both times
//     hour `*`  whatever the option: goes by the clock on the wall, so that */15 * * * * runs every
//               15 minutes of real time throughout, and nothing is made up for a skipped time
//
// "Fires once": however many skipped times there are in one jump, they give one fire, and none of
// its own if a time that fits falls on that moment anyway.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "model/cron_fields.h"
#include "model/task.h"
#include "model/time_zone.h"

namespace takt::internal {

struct CronOptions {
    std::string_view timezone =
        {};  // IANA name; empty is UTC. TZ= in the expression goes before it.
    Dst dst = Dst::kOnce;
};

// 104 bytes, no memory of its own; zones are shared. Immutable: const methods may be called from
// any thread. Equal expressions give equal times on every node that has the same tzdata.
class Cron {
  public:
    // Longer expressions are refused unread. Real ones have under 100 characters.
    static constexpr std::size_t kBytesMax = 256;

    // kInvalid: `detail` names the column (from 1) and the field at fault; also for expressions
    // that no day of the years 1970 to 2199 can fit, such as 30 February. kUnavailable: see
    // TimeZone.
    static Result<Cron> Parse(std::string_view expression, const CronOptions& options = {});

    // The first fire strictly after `after`; always a whole second (for @every, see every()).
    // nullopt: there is none up to the end of 2199. So Next applied to its own result rises.
    std::optional<Time> Next(Time after) const;

    // How many fires there are after `after` and up to `until`, but for those on the local days
    // `without` (sorted). Looks at months and changes of offset, not at fires. REQUIRES: no `without`
    // for @every.
    std::uint64_t CountBetween(Time after, Time until,
                               std::span<const std::chrono::sys_days> without = {}) const;

    // Up to `count` fires after `after`, fewer only if there are no more. `count` is cut to 1,000:
    // people look at a few, and a loop over a year of seconds belongs to nobody's request.
    std::vector<Time> Preview(Time after, std::size_t count) const;

    // One sentence that is true of every fire and names all of them:
    // "at 02:00:00 on Monday-Friday (Asia/Shanghai)".
    std::string Describe() const;
    std::string DescribeZh() const;

    // For @every, else 0. Such a cron fires at the multiples of this since 1970-01-01 00:00 UTC, so
    // that every node agrees without a remembered start.
    Duration every() const { return every_; }

    const TimeZone& zone() const { return *zone_; }
    Dst dst() const { return dst_; }

  private:
    Cron(const CronFields& fields, Duration every, const TimeZone* zone, Dst dst)
        : fields_(fields), every_(every), zone_(zone), dst_(dst) {}

    std::optional<Time> NextMultiple(Time after) const;
    std::uint64_t CountMultiples(Time after, Time until) const;

    CronFields fields_;  // All empty for @every.
    Duration every_;
    const TimeZone* zone_;
    Dst dst_;
};

static_assert(sizeof(Cron) <= 120, "a million crons must stay small");

}  // namespace takt::internal
