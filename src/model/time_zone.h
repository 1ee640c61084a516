// Time zones as cron needs them: the list of all changes of offset from 1970 to 2199.
//
// The changes come from the operating system's tz database (package tzdata) through date/tz, which
// Debian builds to read /usr/share/zoneinfo and never the network; those after the last recorded
// one come from the rule at the end of the zone's file. "UTC" needs no database.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "model/posix_zone.h"

namespace takt::internal {

// Immutable; all const methods may be called from any thread.
class TimeZone {
  public:
    // The zone of an IANA name such as "Asia/Shanghai", exactly as spelled there; "" is UTC. Each
    // zone is read once and lives as long as the process (about 8 KB; the database has some 600),
    // so an update of tzdata takes effect with the next start. kInvalid: no such zone.
    // kUnavailable: there is no database, or its file cannot be read.
    static Result<const TimeZone*> Find(std::string_view name);

    std::string_view name() const { return name_; }

    // Never empty. The first counts from the beginning of time; each differs in offset from the one
    // before.
    std::span<const OffsetChange> changes() const { return changes_; }

    // The index in changes() of the one in force at `second` (Unix time).
    std::size_t IndexAt(std::int64_t second) const;

    // The time that a clock on the wall shows at `time`: seconds since 1970-01-01 00:00 local time.
    std::int64_t LocalSeconds(Time time) const;

  private:
    TimeZone(std::string name, std::vector<OffsetChange> changes)
        : name_(std::move(name)), changes_(std::move(changes)) {}
    static Result<TimeZone> Load(std::string_view name);

    std::string name_;
    std::vector<OffsetChange> changes_;
};

}  // namespace takt::internal
