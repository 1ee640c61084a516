#include "alerts/evaluator.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace takt::internal {
namespace {

// Six digits of a fraction; a whole number as people write it.
std::string NumberText(double number) {
    const bool whole = std::abs(number) < 1e15 && number == std::floor(number);
    return whole ? fmt::format("{:.0f}", number) : fmt::format("{:.6g}", number);
}

}  // namespace

std::string AlertMessage(const AlertRule& rule, const AlertReading& reading) {
    static constexpr std::string_view kWords[] = {"above",   "at least",    "below",
                                                  "at most", "the same as", "other than"};
    std::string text =
        fmt::format("{} is {}, {} {}", rule.metric, NumberText(reading.value),
                    kWords[static_cast<std::size_t>(rule.comparison)], NumberText(rule.threshold));
    if (rule.duration > Duration(0)) text += " for " + FormatDuration(rule.duration);
    if (!reading.note.empty()) return reading.note.str() + " (" + text + ")";
    const Text& about = reading.subject_name.empty() ? reading.subject : reading.subject_name;
    if (!about.empty()) return about.str() + ": " + text;
    return text;
}

void AlertEvaluator::SetRules(std::vector<AlertRule> rules) {
    rules_.clear();
    for (AlertRule& rule : rules) {
        std::string name = rule.name;
        rules_.insert_or_assign(std::move(name), std::move(rule));
    }
}

void AlertEvaluator::Restore(const Alert& alert, Time now) {
    if (alert.state == AlertState::kResolved) return;
    active_.insert_or_assign({alert.rule, alert.subject},
                             Entry{.alert = alert, .restored_at = now});
}

Duration AlertEvaluator::HoldOff(const AlertRule& rule) const {
    return std::max(std::min(rule.duration / 2, kHoldOffMax), 3 * interval_);
}

bool AlertEvaluator::IsYoung(const Entry& entry, Duration window, Time now) {
    return entry.restored_at != Time{} && now - entry.restored_at < window;
}

Alert* AlertEvaluator::FindAlert(std::string_view id) {
    for (auto& [key, entry] : active_) {
        if (entry.alert.id == id) return &entry.alert;
    }
    return nullptr;
}

void AlertEvaluator::Resolve(Entry& entry, Time now, std::string_view why,
                             std::vector<Alert>& changed) {
    Alert& alert = entry.alert;
    alert.state = AlertState::kResolved;
    alert.resolved_at = now;
    if (!why.empty()) alert.message = std::string(why);
    changed.push_back(alert);
}

void AlertEvaluator::TakeReading(const AlertRule& rule, const AlertReading& reading, Time now,
                                 std::vector<Alert>& changed) {
    const Key key{rule.name, reading.subject};
    auto found = active_.find(key);
    if (!rule.Holds(reading.value)) {
        if (found == active_.end()) return;
        Entry& entry = found->second;
        entry.seen = true;
        const AlertMetric* metric = FindAlertMetric(rule.metric);
        const Duration window = std::max(metric ? metric->window : Duration(0), reading.window);
        if (IsYoung(entry, window, now)) return;
        entry.missing_since = {};
        entry.alert.value = reading.value;
        if (!IsWell(rule, entry, now)) return;
        Resolve(entry, now, {}, changed);
        active_.erase(found);
        return;
    }
    const bool fresh = found == active_.end();
    if (fresh) {
        const auto first = active_.lower_bound({rule.name, Text()});
        std::size_t count = 0;
        for (auto at = first; at != active_.end() && at->first.first == rule.name; ++at) ++count;
        if (count >= kSubjectsMax) return;
        const Time occasion = reading.occasion != Time{} ? reading.occasion : now;
        Alert alert{.id = AlertId({rule.name, reading.subject, occasion}),
                    .rule = rule.name,
                    .subject = reading.subject,
                    .pending_at = now,
                    .occasion = occasion};
        found = active_.emplace(key, Entry{.alert = std::move(alert)}).first;
    }
    Entry& entry = found->second;
    Alert& alert = entry.alert;
    entry.seen = true;
    entry.missing_since = {};
    entry.well_since = {};
    // The rule may have been changed meanwhile: what it says now counts.
    alert.severity = rule.severity;
    alert.metric = rule.metric;
    alert.comparison = rule.comparison;
    alert.threshold = rule.threshold;
    alert.value = reading.value;
    alert.subject_name = reading.subject_name;
    alert.message = AlertMessage(rule, reading);
    const bool resettled = std::exchange(alert.settled, reading.settled) != reading.settled;
    const bool pending = alert.state == AlertState::kPending;
    // An earlier leader's clock may have been ahead: it must not wait for that time to come.
    if (pending) alert.pending_at = std::min(alert.pending_at, now);
    if (pending && now - alert.pending_at >= rule.duration) {
        alert.state = AlertState::kFiring;
        alert.firing_at = now;
        alert.firing_value = reading.value;
        changed.push_back(alert);
    } else if (fresh) {
        changed.push_back(alert);
    } else {
        entry.unkept |= resettled;
    }
}

// The condition does not hold at this step. Whether that is the end of it.
bool AlertEvaluator::IsWell(const AlertRule& rule, Entry& entry, Time now) const {
    if (entry.alert.state == AlertState::kPending) return true;
    if (entry.well_since == Time{}) entry.well_since = now;
    return now - entry.well_since >= HoldOff(rule);
}

// Nothing was read of it in this step. Whether that is the end of it.
bool AlertEvaluator::IsOver(const std::string& name, Entry& entry, Time now,
                            std::vector<Alert>& changed) {
    const auto rule = rules_.find(name);
    if (rule == rules_.end() || !rule->second.enabled) {
        Resolve(entry, now, "the rule is not there any more, or is disabled", changed);
        return true;
    }
    const AlertMetric* metric = FindAlertMetric(rule->second.metric);
    if (metric && IsYoung(entry, metric->window, now)) return false;
    const bool absent_is_well = metric && metric->subject != AlertSubject::kAll;
    if (absent_is_well || entry.alert.state == AlertState::kPending) {
        if (!IsWell(rule->second, entry, now)) return false;
        Resolve(entry, now, {}, changed);
        return true;
    }
    if (entry.missing_since == Time{}) entry.missing_since = now;
    if (now - entry.missing_since < std::max(rule->second.duration, kMissingMin)) return false;
    Resolve(entry, now, rule->second.metric + " has no value any more", changed);
    return true;
}

// The wall clock was set back by so much since the last step. What waits goes on from where it was:
// its times move with the clock. An alert that fires keeps those that people were told.
void AlertEvaluator::MoveBack(Duration by) {
    for (auto& [key, entry] : active_) {
        for (Time* time : {&entry.restored_at, &entry.missing_since, &entry.well_since}) {
            if (*time != Time{}) *time -= by;
        }
        if (entry.alert.state != AlertState::kPending) continue;
        entry.alert.pending_at -= by;
        entry.unkept = true;
    }
}

std::vector<Alert> AlertEvaluator::Step(Time now, const SortedReadings& readings) {
    std::vector<Alert> changed;
    if (now < stepped_at_) MoveBack(stepped_at_ - now);
    stepped_at_ = now;
    for (auto& [key, entry] : active_) entry.seen = false;
    for (const auto& [name, rule] : rules_) {
        if (!rule.enabled) continue;
        for (const AlertReading* reading : readings.Of(rule)) {
            TakeReading(rule, *reading, now, changed);
        }
    }
    for (auto item = active_.begin(); item != active_.end();) {
        const bool over =
            !item->second.seen && IsOver(item->first.first, item->second, now, changed);
        item = over ? active_.erase(item) : std::next(item);
    }
    return changed;
}

std::vector<const Alert*> AlertEvaluator::TakeUnkept() {
    std::vector<const Alert*> taken;
    for (auto& [key, entry] : active_) {
        if (std::exchange(entry.unkept, false)) taken.push_back(&entry.alert);
    }
    return taken;
}

}  // namespace takt::internal
