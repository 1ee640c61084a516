#include "alerts/rule_book.h"

namespace takt::internal {

RuleBook::RuleBook(const std::vector<AlertRule>& configured) {
    for (const AlertRule& rule : BuiltinRules()) given_[rule.name] = rule;
    for (const AlertRule& rule : configured) given_[rule.name] = rule;
    rules_ = given_;
}

void RuleBook::Reset() {
    rules_ = given_;
    silences_.clear();
}

Result<void> RuleBook::Apply(const SettingPut& row) {
    const std::string_view key = row.key;
    if (key.starts_with(kSilencePrefix)) {
        const std::string name(key.substr(kSilencePrefix.size()));
        if (row.value.empty()) {
            silences_.erase(name);
            return {};
        }
        const auto until = ParseTime(row.value);
        if (!until) return std::unexpected(until.error());
        silences_[name] = *until;
        return {};
    }
    if (!key.starts_with(kRulePrefix)) return {};
    const std::string name(key.substr(kRulePrefix.size()));
    const auto given = given_.find(name);
    if (row.value.empty()) {
        if (given != given_.end()) {
            rules_[name] = given->second;
        } else {
            rules_.erase(name);
        }
        return {};
    }
    auto rule = DecodeRule(name, row.value);
    if (!rule) return std::unexpected(rule.error());
    if (given != given_.end()) rule->origin = given->second.origin;
    rules_[name] = std::move(*rule);
    return {};
}

std::vector<AlertRule> RuleBook::rules() const {
    std::vector<AlertRule> rules;
    for (const auto& [name, rule] : rules_) rules.push_back(rule);
    return rules;
}

const AlertRule* RuleBook::Find(std::string_view name) const {
    const auto found = rules_.find(name);
    return found == rules_.end() ? nullptr : &found->second;
}

Time RuleBook::silenced_until(std::string_view name) const {
    const auto found = silences_.find(name);
    return found == silences_.end() ? Time{} : found->second;
}

}  // namespace takt::internal
