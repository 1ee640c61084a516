// Reads one field of a cron expression into the sets of CronFields. Used by cron_parse.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "base/error.h"
#include "model/cron_fields.h"

namespace takt::internal {

// In the order in which they are written.
enum class CronFieldKind : std::uint8_t {
    kSecond,
    kMinute,
    kHour,
    kDay,
    kMonth,
    kWeekday,
    kYear,
};

// A piece of the expression and where it stands, counted from 1.
struct CronWord {
    std::string_view text;
    std::size_t column = 1;
};

// kInvalid: "column 3 (minute): what". `field` is the name of a field of the expression or empty.
std::unexpected<Error> CronFault(std::size_t column, std::string_view field, std::string_view what);

// kInvalid, with the column of the fault, unless `word` is a list of what `kind` allows.
// REQUIRES: `word` is not empty and printable ASCII.
Result<void> ReadCronField(CronFieldKind kind, const CronWord& word, CronFields& fields);

}  // namespace takt::internal
