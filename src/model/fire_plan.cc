#include "model/fire_plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace takt::internal {
namespace {

// More often than this nothing can be fired on time, and catching up would never end.
constexpr Duration kEveryMin{100};
constexpr std::size_t kExcludedMax = 1000;

Result<std::chrono::sys_days> ParseDate(std::string_view text) {
    // A date is a time at midnight; that parser knows the calendar.
    if (text.size() == 10) {
        if (const auto time = ParseTime(std::string(text) + "T00:00:00Z")) {
            return std::chrono::floor<std::chrono::days>(*time);
        }
    }
    return Fail(ErrorCode::kInvalid,
                "'" + std::string(text.substr(0, 40)) + "' is not a date; write it as 2026-12-25",
                "excluded_dates");
}

}  // namespace

Result<FirePlan> FirePlan::Make(const Recurrence& recurrence, Time anchor) {
    FirePlan plan;
    const int kinds = int(!recurrence.cron.empty()) + int(recurrence.every > Duration(0)) +
                      int(recurrence.every_after_end > Duration(0));
    if (kinds != 1) {
        return Fail(ErrorCode::kInvalid,
                    "give exactly one of cron_expression, interval and interval_after_end",
                    "cron_expression");
    }
    if (!recurrence.cron.empty()) {
        auto cron = Cron::Parse(recurrence.cron,
                                {.timezone = recurrence.timezone.view(), .dst = recurrence.dst});
        if (!cron) {
            Error error = cron.error();
            if (error.field.empty()) error.field = "cron_expression";
            return std::unexpected(std::move(error));
        }
        plan.zone_ = &cron->zone();
        plan.cron_ = *cron;
    } else {
        auto zone = TimeZone::Find(recurrence.timezone);
        if (!zone) return std::unexpected(zone.error());
        plan.zone_ = *zone;
    }
    for (const auto& [interval, field] :
         {std::pair(recurrence.every, "interval"),
          std::pair(recurrence.every_after_end, "interval_after_end")}) {
        if (interval > Duration(0) && (interval < kEveryMin || interval > kDurationMax)) {
            return Fail(ErrorCode::kInvalid, "an interval is at least 100ms and at most 100 years",
                        field);
        }
    }
    plan.every_ = recurrence.every;
    plan.after_end_ = recurrence.every_after_end;
    plan.start_at_ = recurrence.start_at;
    plan.end_at_ = recurrence.end_at;
    plan.anchor_ = recurrence.start_at != Time{} ? recurrence.start_at : anchor;
    if (recurrence.excluded_dates.size() > kExcludedMax) {
        return Fail(ErrorCode::kInvalid, "at most 1000 dates can be excluded", "excluded_dates");
    }
    for (const Text& date : recurrence.excluded_dates) {
        auto day = ParseDate(date);
        if (!day) return std::unexpected(day.error());
        plan.excluded_.push_back(*day);
    }
    std::ranges::sort(plan.excluded_);
    const auto again = std::ranges::unique(plan.excluded_);  // They are counted, each once.
    plan.excluded_.erase(again.begin(), again.end());
    return plan;
}

Result<void> FirePlan::CheckFires(Time at) const {
    if (First(at)) return {};
    return Fail(ErrorCode::kInvalid, "it would never fire: no due time is left",
                end_at_ != Time{} ? "end_at" : "cron_expression");
}

std::optional<Time> FirePlan::AnyDueFrom(Time at) const {
    if (cron_) return cron_->Next(at - Duration(1));
    if (after_end()) return at;
    // Before the anchor too: a task may have been made by a clock that was ahead.
    const Duration since = at - anchor_;
    const Duration over = (since % every_ + every_) % every_;
    return over == Duration(0) ? at : at + (every_ - over);
}

std::optional<Time> FirePlan::EndOfExclusion(Time time) const {
    if (excluded_.empty()) return std::nullopt;
    const std::chrono::seconds local(zone_->LocalSeconds(time));
    const auto day = std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(local));
    if (!std::ranges::binary_search(excluded_, day)) return std::nullopt;
    const std::int64_t midnight =
        std::chrono::sys_seconds(day + std::chrono::days(1)).time_since_epoch().count();
    const auto second = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
    // A change of offset on that day makes it longer or shorter, or skips its midnight.
    const auto changes = zone_->changes();
    for (std::size_t i = zone_->IndexAt(second);; ++i) {
        const std::int64_t end = midnight - changes[i].offset;
        if (i + 1 == changes.size() || end < changes[i + 1].at) {
            return Time(std::chrono::seconds(end));
        }
        const OffsetChange& change = changes[i + 1];
        if (change.at + change.offset >= midnight) return Time(std::chrono::seconds(change.at));
    }
}

std::optional<Time> FirePlan::DueFrom(Time at) const {
    if (start_at_ != Time{}) at = std::max(at, start_at_);
    // Each turn leaves one excluded day (two turns if the clock was set back into it).
    for (std::size_t turns = 2 * excluded_.size() + 1; turns > 0; --turns) {
        const auto due = AnyDueFrom(at);
        if (!due || (end_at_ != Time{} && *due >= end_at_)) return std::nullopt;
        const auto past = EndOfExclusion(*due);
        if (!past) return due;
        at = *past;
    }
    return std::nullopt;
}

std::optional<Time> FirePlan::Next(Time after) const {
    return DueFrom(after + (after_end() ? after_end_ : Duration(1)));
}

std::optional<Time> FirePlan::First(Time at) const {
    return after_end() ? DueFrom(at) : Next(at);
}

std::optional<std::uint64_t> FirePlan::Count(Time after, Time until) const {
    if (start_at_ != Time{}) after = std::max(after, start_at_ - Duration(1));
    if (end_at_ != Time{}) until = std::min(until, end_at_ - Duration(1));
    if (after >= until) return 0;
    if (cron_ && (cron_->every() == Duration(0) || excluded_.empty())) {
        return cron_->CountBetween(after, until, excluded_);
    }
    if (!excluded_.empty()) return std::nullopt;
    const auto up_to = [&](Time time) {
        const Duration since = time - anchor_;
        return (since - (since % every_ + every_) % every_) / every_;
    };
    return std::uint64_t(up_to(until) - up_to(after));
}

std::optional<DueTimes> DueBetween(const FirePlan& plan, Time after, Time until,
                                   std::uint64_t count_max) {
    const auto first = plan.Next(after);
    if (!first || *first > until) return std::nullopt;
    DueTimes due{.first = *first, .last = *first, .count = 1};
    if (const auto count = plan.Count(after, until)) {
        due.count = *count;
    } else {
        for (auto next = plan.Next(due.last); next && *next <= until; next = plan.Next(due.last)) {
            if (due.count >= count_max) {
                due.more = true;
                break;
            }
            due.last = *next;
            ++due.count;
        }
        if (!due.more) return due;
    }
    // The last one lies between the last that is known and the end; each turn halves the distance.
    for (Time end = until; due.last < end;) {
        const Time middle = due.last + (end - due.last) / 2;
        const auto next = plan.Next(middle);
        if (next && *next <= until) {
            due.last = *next;
        } else {
            end = middle;
        }
    }
    return due;
}

}  // namespace takt::internal
