// AlertEvaluator: which alerts there are, given the rules and what is read.
//
// Pure: time and readings come with each step, transitions go out; no clock, no store. Equal steps
// give equal transitions, so a test can hold a rule through its whole duration in no time.
//
// A condition must hold at every step for the rule's duration, then it fires; one step at which it
// does not hold ends a pending alert. A firing one resolves only when the condition has not held
// for a while (see HoldOff): one that comes and goes is one alert. A value that is missing ends a
// pending alert; a firing one waits for it as long as the rule's duration, and at least a minute.
//
// A new leader has seen nothing of the past that rates sum up. So an alert that an earlier one left
// behind is not ended by such a metric, neither by its value nor by the lack of one, before the
// term is as old as what the metric sums up. Not for concurrent use.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "alerts/alert.h"
#include "alerts/metric.h"
#include "alerts/rule.h"
#include "alerts/sorted_readings.h"

namespace takt::internal {

class AlertEvaluator {
  public:
    // One rule has at most this many alerts at a time: when everything is late, a hundred say so as
    // well as ten thousand.
    static constexpr std::size_t kSubjectsMax = 100;
    static constexpr Duration kMissingMin = std::chrono::minutes(1);
    // Nobody waits longer to hear that it is over, unless looks are rarer still.
    static constexpr Duration kHoldOffMax = std::chrono::minutes(5);

    // `interval` lies between two steps.
    explicit AlertEvaluator(Duration interval) : interval_(interval) {}

    // Takes effect at the next step. Alerts of rules that are gone or disabled are resolved then.
    void SetRules(std::vector<AlertRule> rules);

    // An alert that an earlier leader left behind; those that are over are passed over. `now` is
    // when the term began.
    void Restore(const Alert& alert, Time now);
    void Clear() { active_.clear(); }

    // The alerts that came to another state, as they are now. A pending one whose condition ended
    // is kResolved without ever having fired.
    std::vector<Alert> Step(Time now, const SortedReadings& readings);
    // Alerts that came to no other state, but whose `settled` or `pending_at` changed since this was
    // last called: whoever keeps them for the next leader keeps them again.
    std::vector<const Alert*> TakeUnkept();

    // For how long the condition must not hold before a firing alert resolves: half the rule's
    // duration, but at least three steps and at most kHoldOffMax.
    Duration HoldOff(const AlertRule& rule) const;

    // By rule and subject.
    using Key = std::pair<std::string, Text>;
    const auto& active() const { return active_; }
    Alert* FindAlert(std::string_view id);

  private:
    struct Entry {
        Alert alert;
        Time restored_at{};    // 0: it began in this term.
        Time missing_since{};  // 0: there is a value.
        Time well_since{};     // It fires, and its condition has not held since. 0: it holds.
        bool seen = false;     // In this step.
        bool unkept = false;   // See TakeUnkept.
    };
    // Whether this term has not seen enough to end it.
    static bool IsYoung(const Entry& entry, Duration window, Time now);
    bool IsWell(const AlertRule& rule, Entry& entry, Time now) const;
    void TakeReading(const AlertRule& rule, const AlertReading& reading, Time now,
                     std::vector<Alert>& changed);
    void MoveBack(Duration by);
    bool IsOver(const std::string& name, Entry& entry, Time now, std::vector<Alert>& changed);
    void Resolve(Entry& entry, Time now, std::string_view why, std::vector<Alert>& changed);

    const Duration interval_;
    std::map<std::string, AlertRule> rules_;
    std::map<Key, Entry> active_;
    Time stepped_at_{};  // The time of the last step.
};

// "task_failure_rate is 0.25, above 0.1 for 5m".
std::string AlertMessage(const AlertRule& rule, const AlertReading& reading);

}  // namespace takt::internal
