// The rule at the end of a time zone file (RFC 9636, a POSIX TZ string such as
// "CET-1CEST,M3.5.0,M10.5.0/3"): which changes of offset go on for ever after the recorded ones.
//
// Needed because date/tz reads the recorded changes only: with Debian's files all zones would stay
// on winter time after 2037, with files in the "slim" format already today.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace takt::internal {

// From the second `at` (Unix time, UTC) on, local time is UTC plus `offset` seconds.
struct OffsetChange {
    std::int64_t at;
    std::int32_t offset;

    friend bool operator==(const OffsetChange&, const OffsetChange&) = default;
};

class PosixZone {
  public:
    // nullopt when `text` is not such a rule, or has daylight saving time without saying when.
    static std::optional<PosixZone> Parse(std::string_view text);

    // The changes of one year, in order of time: none without daylight saving time, else two.
    std::vector<OffsetChange> ChangesOf(int year) const;

  private:
    enum class Form : std::uint8_t {
        kMonthWeekDay,  // M3.5.0: the last Sunday of March.
        kJulian,        // J60: always 1 March; 29 February is not counted.
        kDayOfYear,     // 59: counted from 0, 29 February included.
    };
    struct Edge {
        Form form;
        int month, week, day;
        std::int32_t time;  // Seconds after local midnight; may be negative or several days.
    };
    struct Reader;

    static std::int64_t LocalSeconds(const Edge& edge, int year);

    std::int32_t standard_ = 0;
    std::int32_t summer_ = 0;
    std::optional<Edge> start_, end_;  // Both or neither.
};

}  // namespace takt::internal
