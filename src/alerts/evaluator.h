// AlertEvaluator: which alerts there are, given the rules and what is read.
//
// Pure: time and readings come with each step, transitions go out; no clock, no store. Equal steps
// give equal transitions, so a test can hold a rule through its whole duration in no time.
//
// A condition must hold at every step for the rule's duration, then it fires; one step at which it
// does not hold ends a pending alert, and resolves a firing one. A value that is missing ends a
// pending alert; a firing one waits for it as long as the rule's duration, and at least a minute:
// a new leader has no rates yet, and that is no news. Not for concurrent use.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "alerts/alert.h"
#include "alerts/metric.h"
#include "alerts/rule.h"

namespace takt::internal {

class AlertEvaluator {
  public:
    // One rule has at most this many alerts at a time: when everything is late, a hundred say so as
    // well as ten thousand.
    static constexpr std::size_t kSubjectsMax = 100;
    static constexpr Duration kMissingMin = std::chrono::minutes(1);

    // Takes effect at the next step. Alerts of rules that are gone or disabled are resolved then.
    void SetRules(std::vector<AlertRule> rules);

    // An alert that an earlier leader left behind; those that are over are passed over.
    void Restore(const Alert& alert);
    void Clear() { active_.clear(); }

    // The alerts that came to another state, as they are now. A pending one whose condition ended
    // is kResolved without ever having fired.
    std::vector<Alert> Step(Time now, const AlertReadings& readings);

    // By rule and subject.
    using Key = std::pair<std::string, Text>;
    const auto& active() const { return active_; }
    Alert* Find(std::string_view id);

  private:
    struct Entry {
        Alert alert;
        Time missing_since{};
        bool seen = false;  // In this step.
    };
    void Take(const AlertRule& rule, const AlertReading& reading, Time now,
              std::vector<Alert>& changed);
    bool IsOver(const std::string& name, Entry& entry, Time now, std::vector<Alert>& changed);
    void Resolve(Entry& entry, Time now, std::string_view why, std::vector<Alert>& changed);

    std::map<std::string, AlertRule> rules_;
    std::map<Key, Entry> active_;
};

// "task_failure_rate is 0.25, above 0.1 for 5m".
std::string AlertMessage(const AlertRule& rule, const AlertReading& reading);

}  // namespace takt::internal
