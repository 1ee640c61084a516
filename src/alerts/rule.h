// AlertRule: when a number is a reason to tell somebody.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/mistakes.h"
#include "base/time.h"

namespace takt::internal {

enum class Severity : std::uint8_t { kInfo, kWarning, kCritical };
std::string_view Name(Severity severity);
std::optional<Severity> ParseSeverity(std::string_view name);

enum class Comparison : std::uint8_t { kAbove, kAtLeast, kBelow, kAtMost, kEqual, kUnequal };
std::string_view Name(Comparison comparison);  // ">", ">=", "<", "<=", "==", "!="
std::optional<Comparison> ParseComparison(std::string_view name);

enum class RuleOrigin : std::uint8_t {
    kBuiltin,     // Comes with the program.
    kConfigured,  // Stands in the configuration of this scheduler.
    kStored,      // Made by an operator.
};

struct AlertRule {
    std::string name;  // A valid id.
    std::string description;
    std::string metric;  // One of AlertMetrics.
    Comparison comparison = Comparison::kAbove;
    double threshold = 0;
    std::string subject;   // The one task, worker or queue that it watches; empty: each of them.
    Duration duration{0};  // The condition must hold this long.
    Severity severity = Severity::kWarning;
    bool enabled = true;
    std::vector<std::string> channels;        // Who is told; empty: every channel.
    RuleOrigin origin = RuleOrigin::kStored;  // Not part of the record.
    std::uint32_t version = 0;                // Rises with each change; 0: no operator touched it.

    bool Holds(double value) const;
    // Whether it looks at this task, worker or queue.
    bool Watches(std::string_view of) const { return subject.empty() || subject == of; }
};

// Durations longer than this would outlive what is remembered of the past.
constexpr Duration kRuleDurationMax = std::chrono::hours(24 * 7);
constexpr std::size_t kRulesMax = 500;
constexpr std::size_t kRuleChannelsMax = 20;
constexpr std::size_t kRuleDescriptionBytesMax = 1000;

// kInvalid names the field at fault. Whether its channels exist is not looked at.
Result<void> CheckRule(const AlertRule& rule);
// Of one that is given now: also that its condition can hold, and can fail to hold. Not asked of
// stored ones, which earlier versions took.
Result<void> CheckNewRule(const AlertRule& rule);

// As it is stored under "alert-rule/NAME".
constexpr std::string_view kRulePrefix = "alert-rule/";
std::string EncodeRule(const AlertRule& rule);
Result<AlertRule> DecodeRule(std::string_view name, std::string_view value);

// A rule as the configuration spells it: the fields of the API by name, channels parted by commas.
// All that is wrong with it is added to `mistakes`, by field.
AlertRule RuleOf(const std::map<std::string, std::string>& fields, Mistakes& mistakes);

// high_task_failure_rate and no_online_workers, as the users of other schedulers know them,
// run_missed_or_late, clock_was_set and store_nearly_full.
std::vector<AlertRule> BuiltinRules();

}  // namespace takt::internal
