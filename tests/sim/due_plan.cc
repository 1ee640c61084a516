#include "sim/due_plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <string_view>

namespace takt::internal::sim {
namespace {

constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kHour = 3'600;
// Some hour of a day fits; on the days of a change perhaps none does.
constexpr std::int64_t kSearched = 4 * kDay;

constexpr std::int64_t At(int month, unsigned day, int hour, int minute) {
    const auto date = std::chrono::sys_days(std::chrono::year(2026) / month / day);
    return date.time_since_epoch().count() * kDay + hour * kHour + minute * 60;
}

constexpr std::array kChanges{
    ZoneChange{"Europe/Berlin", At(3, 29, 1, 0), kHour, 2 * kHour},
    ZoneChange{"Europe/Berlin", At(10, 25, 1, 0), 2 * kHour, kHour},
    ZoneChange{"America/New_York", At(3, 8, 7, 0), -5 * kHour, -4 * kHour},
    ZoneChange{"America/New_York", At(11, 1, 6, 0), -4 * kHour, -5 * kHour},
    // By half an hour.
    ZoneChange{"Australia/Lord_Howe", At(4, 4, 15, 0), 11 * kHour, 21 * kHour / 2},
    ZoneChange{"Australia/Lord_Howe", At(10, 3, 15, 30), 21 * kHour / 2, 11 * kHour},
};

std::int64_t HourOf(std::int64_t local) {
    return (local % kDay + kDay) % kDay / kHour;
}

// "*", "*/5", "7", "7/20", "10-30", "10-30/7", and lists of these.
template <std::size_t N>
bool ReadField(std::string_view text, std::bitset<N>& field) {
    while (!text.empty()) {
        std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        std::size_t step = 0;
        if (const std::size_t slash = item.find('/'); slash != std::string_view::npos) {
            const std::string_view digits = item.substr(slash + 1);
            std::from_chars(digits.data(), digits.data() + digits.size(), step);
            item = item.substr(0, slash);
        }
        std::size_t first = 0;
        std::size_t last = N - 1;
        if (item != "*") {
            const char* end = item.data() + item.size();
            const auto read = std::from_chars(item.data(), end, first);
            if (read.ptr != end) {
                std::from_chars(read.ptr + 1, end, last);
            } else if (step == 0) {
                last = first;
            }
        }
        if (first >= N || last >= N) return false;
        for (std::size_t i = first; i <= last; i += std::max<std::size_t>(step, 1)) field.set(i);
    }
    return true;
}

std::int64_t SecondOf(Time time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

}  // namespace

std::span<const ZoneChange> ZoneChanges() {
    return kChanges;
}

std::string AnyCronAround(World& world, const ZoneChange& change) {
    constexpr std::array kSeconds{"*/5", "*/7", "0", "10,40", "*"};
    constexpr std::array kMinutes{"*", "*/2", "0-5,55-59", "*/30", "0,29,30,59"};
    // The time that the clock shows at the change, and would show without it.
    const std::int64_t one = HourOf(change.at + change.before);
    const std::int64_t other = HourOf(change.at + change.after);
    const std::int64_t low = std::min(one, other);
    const std::int64_t high = std::max(one, other);
    const std::array<std::string, 6> hours{"*",
                                           std::to_string(low),
                                           std::to_string(low - 1) + "-" + std::to_string(high),
                                           std::to_string(low) + "-" + std::to_string(high),
                                           "*/2",
                                           std::to_string(low - 1) + "," + std::to_string(high)};
    return std::string(kSeconds[world.Below(kSeconds.size())]) + " " +
           kMinutes[world.Below(kMinutes.size())] + " " + hours[world.Below(hours.size())] +
           " * * *";
}

std::optional<DuePlan> DuePlan::Make(const Recurrence& recurrence, Time anchor) {
    DuePlan plan;
    plan.end_at_ = recurrence.end_at;
    plan.after_end_ = recurrence.every_after_end > Duration(0);
    plan.every_ = recurrence.every;
    plan.anchor_ = anchor;
    if (plan.after_end_ || plan.every_ > Duration(0)) return plan;
    const std::string_view cron = recurrence.cron;
    if (constexpr std::string_view kEvery = "@every "; cron.starts_with(kEvery)) {
        std::int64_t seconds = 0;
        std::from_chars(cron.data() + kEvery.size(), cron.data() + cron.size(), seconds);
        plan.every_ = std::chrono::seconds(seconds);
        plan.anchor_ = Time{};
        if (seconds == 0) return std::nullopt;
        return plan;
    }
    std::istringstream in{std::string(cron)};
    std::array<std::string, 6> fields;
    for (std::string& field : fields) in >> field;
    const bool known = ReadField(fields[0], plan.seconds_) && ReadField(fields[1], plan.minutes_) &&
                       ReadField(fields[2], plan.hours_) && fields[3] == "*" && fields[4] == "*" &&
                       fields[5] == "*" && plan.hours_.any();
    if (!known) return std::nullopt;
    plan.dst_ = recurrence.dst;
    if (recurrence.timezone.empty()) return plan;
    // A zone has more than one; of these only one is near.
    for (const ZoneChange& change : kChanges) {
        const std::int64_t apart = std::abs(change.at - SecondOf(anchor));
        if (recurrence.timezone == change.zone && apart < 30 * kDay) plan.change_ = &change;
    }
    if (!plan.change_) return std::nullopt;
    for (std::int64_t local = plan.change_->at + plan.change_->before;
         local < plan.change_->at + plan.change_->after; ++local) {
        plan.skipped_fits_ = plan.skipped_fits_ || plan.Fits(local);
    }
    return plan;
}

std::int64_t DuePlan::OffsetAt(std::int64_t second) const {
    if (!change_) return 0;
    return second < change_->at ? change_->before : change_->after;
}

bool DuePlan::Fits(std::int64_t local) const {
    const std::int64_t of_day = (local % kDay + kDay) % kDay;
    return hours_[std::size_t(of_day / kHour)] && minutes_[std::size_t(of_day / 60 % 60)] &&
           seconds_[std::size_t(of_day % 60)];
}

bool DuePlan::IsDueSecond(std::int64_t second) const {
    // The moment of the jump stands for all that it skips.
    const bool names_times = !hours_.all();
    if (change_ && names_times && second == change_->at && skipped_fits_ && dst_ != Dst::kSkip) {
        return true;
    }
    if (!Fits(second + OffsetAt(second))) return false;
    // A time that the clock showed before the change already comes a second time.
    const bool again =
        change_ && second >= change_->at && second < change_->at + change_->before - change_->after;
    return !again || !names_times || dst_ == Dst::kTwice;
}

bool DuePlan::IsDue(Time time) const {
    if (end_at_ != Time{} && time >= end_at_) return false;
    if (every_ > Duration(0)) return (time - anchor_) % every_ == Duration(0);
    const std::int64_t second = SecondOf(time);
    return time == Time(std::chrono::seconds(second)) && IsDueSecond(second);
}

std::optional<Time> DuePlan::Next(Time after) const {
    std::optional<Time> next;
    if (every_ > Duration(0)) {
        const Duration since = ((after - anchor_) % every_ + every_) % every_;
        next = after + every_ - since;
    } else {
        const std::int64_t first = SecondOf(after) + 1;
        for (std::int64_t second = first; second < first + kSearched; ++second) {
            const std::int64_t local = second + OffsetAt(second);
            if (IsDueSecond(second)) {
                next = Time(std::chrono::seconds(second));
                break;
            }
            if (hours_[std::size_t(HourOf(local))]) continue;
            // To the end of an hour that does not fit, or to the change.
            std::int64_t end = second + kHour - (local % kHour + kHour) % kHour;
            if (change_ && second < change_->at) end = std::min(end, change_->at);
            second = end - 1;
        }
    }
    if (next && end_at_ != Time{} && *next >= end_at_) return std::nullopt;
    return next;
}

std::uint64_t DuePlan::Count(Time after, Time until, std::uint64_t most) const {
    std::uint64_t count = 0;
    for (auto next = Next(after); next && *next <= until; next = Next(*next)) {
        if (++count > most) break;
    }
    return count;
}

}  // namespace takt::internal::sim
