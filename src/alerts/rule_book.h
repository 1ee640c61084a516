// RuleBook: the rules that hold, from the program, the configuration and operators, and which of
// them are silenced. Not for concurrent use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "alerts/rule.h"
#include "base/error.h"
#include "base/time.h"
#include "model/change.h"

namespace takt::internal {

// Until when a rule's alerts are not told: the time, under "alert-silence/NAME".
constexpr std::string_view kSilencePrefix = "alert-silence/";

class RuleBook {
  public:
    RuleBook() : RuleBook(std::vector<AlertRule>{}) {}
    explicit RuleBook(const std::vector<AlertRule>& configured);

    // Forgets what operators said.
    void Reset();
    // Takes a stored row; an empty value takes it away. Rows of other kinds are passed over.
    Result<void> Apply(const SettingPut& row);

    std::vector<AlertRule> rules() const;
    // Null if there is none.
    const AlertRule* Find(std::string_view name) const;
    Time silenced_until(std::string_view name) const;
    // Whether the rule comes back by itself when an operator's word on it is taken away.
    bool IsGiven(std::string_view name) const { return given_.contains(name); }
    std::size_t size() const { return rules_.size(); }

  private:
    std::map<std::string, AlertRule, std::less<>> given_;  // By the program and the configuration.
    std::map<std::string, AlertRule, std::less<>> rules_;
    std::map<std::string, Time, std::less<>> silences_;
};

}  // namespace takt::internal
