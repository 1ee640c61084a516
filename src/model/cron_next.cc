// Cron's way through real time: the calendar of cron_fields.h laid over a time zone.
#include <algorithm>
#include <chrono>

#include "base/failpoint.h"
#include "model/cron.h"

namespace takt::internal {
namespace {

namespace chr = std::chrono;

constexpr std::size_t kPreviewMax = 1000;

// One day more on each side than the years of cron, for zones ahead of and behind UTC.
constexpr Time kFirst = chr::sys_days(chr::year(kCronYearMin) / 1 / 1) - chr::days(1);
constexpr Time kLast = chr::sys_days(chr::year(kCronYearMax + 1) / 1 / 1) + chr::days(1);

// CronFields::FirstAtOrAfter that remembers its last answer. One search may pass through hundreds
// of changes of offset before it meets a rare date, and asks again at each.
class Search {
  public:
    explicit Search(const CronFields& fields) : fields_(fields) {}

    std::int64_t FirstAtOrAfter(std::int64_t local) {
        if (local < from_ || local > found_) {
            from_ = local;
            found_ = fields_.FirstAtOrAfter(local);
        }
        return found_;
    }

  private:
    const CronFields& fields_;
    std::int64_t from_ = 0;  // Nothing fits in [from_, found_); empty at first.
    std::int64_t found_ = -1;
};

Time AtSecond(std::int64_t second) {
    return Time(chr::seconds(second));
}

}  // namespace

// Real time is cut at the changes of offset; within each part local time runs on evenly. Parts are
// gone through in order of real time, so fires can neither repeat nor go back, whatever a zone
// does.
std::optional<Time> Cron::Next(Time after) const {
    if (every_ > Duration(0)) return NextMultiple(after);
    if (after >= kLast) return std::nullopt;
    const std::int64_t start =
        chr::floor<chr::seconds>(std::max(after, kFirst)).time_since_epoch().count() + 1;

    Search search(fields_);
    const bool names_times = !fields_.every_hour();
    const auto changes = zone_->changes();
    // Ends: a zone has some 500 changes at most.
    for (std::size_t i = zone_->IndexAt(start); i < changes.size(); ++i) {
        const std::int64_t begin = std::max(start, changes[i].at);
        std::int64_t local = begin + changes[i].offset;
        if (i > 0 && names_times) {
            // The time that the clock would have shown here without the change.
            const std::int64_t unchanged = changes[i].at + changes[i - 1].offset;
            const bool jumps_here = begin == changes[i].at && unchanged < local;
            const bool makes_up = (dst_ != Dst::kSkip || TAKT_MUTANT("model.make_up_skipped")) &&
                                  !TAKT_MUTANT("model.lose_skipped");
            if (jumps_here && makes_up && search.FirstAtOrAfter(unchanged) < local) {
                return AtSecond(begin);
            }
            // Earlier times were shown before the change already: this is their second coming.
            const bool twice = dst_ == Dst::kTwice || TAKT_MUTANT("model.repeat_hours");
            if (!twice) local = std::max(local, unchanged);
        }
        const std::int64_t found = search.FirstAtOrAfter(local);
        const bool is_last = i + 1 == changes.size();
        if (found == CronFields::kNever) {
            if (is_last) return std::nullopt;
            continue;
        }
        const std::int64_t second = found - changes[i].offset;
        if (is_last || second < changes[i + 1].at) return AtSecond(second);
    }
    return std::nullopt;
}

std::optional<Time> Cron::NextMultiple(Time after) const {
    if (after >= kLast) return std::nullopt;
    if (after < Time{}) return Time{};
    const Time next(every_ * (after.time_since_epoch() / every_ + 1));
    if (next >= Time(chr::sys_days(chr::year(kCronYearMax + 1) / 1 / 1))) return std::nullopt;
    return next;
}

std::vector<Time> Cron::Preview(Time after, std::size_t count) const {
    count = std::min(count, kPreviewMax);
    std::vector<Time> times;
    times.reserve(count);
    while (times.size() < count) {
        const std::optional<Time> next = Next(times.empty() ? after : times.back());
        if (!next) break;
        times.push_back(*next);
    }
    return times;
}

}  // namespace takt::internal
