#include "alerts/rule.h"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <charconv>
#include <cmath>
#include <set>

#include "alerts/metric.h"
#include "alerts/split_list.h"
#include "base/id.h"
#include "base/json.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 3> kSeverities = {"info", "warning", "critical"};
constexpr std::array<std::string_view, 6> kComparisons = {">", ">=", "<", "<=", "==", "!="};

template <typename Value, std::size_t kCount>
std::optional<Value> Find(const std::array<std::string_view, kCount>& names,
                          std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Value>(found - names.begin());
}

std::unexpected<Error> BadRule(std::string_view field, std::string_view why) {
    return Fail(ErrorCode::kInvalid, std::string(field) + " " + std::string(why),
                std::string(field));
}

constexpr std::string_view kSeverityHelp = "must be info, warning or critical";
constexpr std::string_view kComparisonHelp = "must be one of > >= < <= == !=";

// One field by its name, from text. kInvalid if there is none of that name.
Result<void> SetRuleField(AlertRule& rule, std::string_view name, const std::string& text) {
    if (name == "name") {
        rule.name = text;
    } else if (name == "description") {
        rule.description = text;
    } else if (name == "metric") {
        rule.metric = text;
    } else if (name == "operator") {
        const auto comparison = ParseComparison(text);
        if (!comparison) return BadRule(name, kComparisonHelp);
        rule.comparison = *comparison;
    } else if (name == "threshold") {
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), rule.threshold);
        if (error != std::errc() || end != text.data() + text.size()) {
            return BadRule(name, "must be a number");
        }
    } else if (name == "duration") {
        const auto duration = ParseDuration(text);
        if (!duration) return BadRule(name, "must be a duration such as 5m");
        rule.duration = *duration;
    } else if (name == "severity") {
        const auto severity = ParseSeverity(text);
        if (!severity) return BadRule(name, kSeverityHelp);
        rule.severity = *severity;
    } else if (name == "enabled") {
        if (text != "true" && text != "false") return BadRule(name, "must be true or false");
        rule.enabled = text == "true";
    } else if (name == "subject") {
        rule.subject = text;
    } else if (name == "channels") {
        rule.channels = SplitList(text);
    } else {
        return BadRule(name,
                       "is no field of a rule: name, description, metric, operator, threshold, "
                       "subject, duration, severity, enabled, channels");
    }
    return {};
}

// All that is wrong with it, at most one of each field.
std::vector<Error> MistakesOf(const AlertRule& rule) {
    std::vector<Error> wrong;
    const auto require = [&](bool good, std::string_view field, std::string_view why) {
        if (!good) wrong.push_back(BadRule(field, why).error());
        return good;
    };
    require(IsValidId(rule.name), "name",
            "must be 1 to 64 characters of A-Z a-z 0-9 . _ ~ - and start with a letter or digit");
    const AlertMetric* metric = FindAlertMetric(rule.metric);
    require(metric != nullptr, "metric", "must be one that GET /api/v1/alert-metrics lists");
    require(std::isfinite(rule.threshold), "threshold", "must be a number");
    if (metric && !rule.subject.empty()) {
        require(metric->subject != AlertSubject::kAll, "subject",
                "must be empty: this metric has one value for all together") &&
            require(IsValidId(rule.subject), "subject", "must be the id of one of them");
    }
    require(rule.duration >= Duration(0) && rule.duration <= kRuleDurationMax, "duration",
            "must be from 0s to 7d");
    require(rule.description.size() <= kRuleDescriptionBytesMax, "description",
            "is longer than 1000 bytes");
    require(rule.channels.size() <= kRuleChannelsMax, "channels", "has more than 20 names") &&
        require(std::ranges::all_of(rule.channels, IsValidId), "channels",
                "must be names of channels");
    return wrong;
}

}  // namespace

std::string_view Name(Severity severity) {
    return kSeverities[static_cast<std::size_t>(severity)];
}
std::optional<Severity> ParseSeverity(std::string_view name) {
    return Find<Severity>(kSeverities, name);
}
std::string_view Name(Comparison comparison) {
    return kComparisons[static_cast<std::size_t>(comparison)];
}
std::optional<Comparison> ParseComparison(std::string_view name) {
    return Find<Comparison>(kComparisons, name);
}

bool AlertRule::Holds(double value) const {
    switch (comparison) {
        case Comparison::kAbove:
            return value > threshold;
        case Comparison::kAtLeast:
            return value >= threshold;
        case Comparison::kBelow:
            return value < threshold;
        case Comparison::kAtMost:
            return value <= threshold;
        case Comparison::kEqual:
            return value == threshold;
        case Comparison::kUnequal:
            return value != threshold;
    }
    return false;
}

Result<void> CheckRule(const AlertRule& rule) {
    const auto wrong = MistakesOf(rule);
    if (wrong.empty()) return {};
    return std::unexpected(wrong.front());
}

Result<void> CheckNewRule(const AlertRule& rule) {
    if (auto checked = CheckRule(rule); !checked) return checked;
    const bool ratio = FindAlertMetric(rule.metric)->unit == "ratio";
    if (ratio && (rule.threshold < 0 || rule.threshold > 1)) {
        return BadRule("threshold", "must be from 0 to 1 for this metric: 0.05 is 5 percent");
    }
    if (rule.threshold < 0) return BadRule("threshold", "must not be below 0: no metric ever is");
    const bool least = rule.threshold == 0;
    const bool most = ratio && rule.threshold == 1;
    if ((least && rule.comparison == Comparison::kBelow) ||
        (most && rule.comparison == Comparison::kAbove)) {
        return BadRule("threshold", "would never be passed");
    }
    if ((least && rule.comparison == Comparison::kAtLeast) ||
        (most && rule.comparison == Comparison::kAtMost)) {
        return BadRule("threshold", "would always be reached");
    }
    return {};
}

std::string EncodeRule(const AlertRule& rule) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("description", std::string_view(rule.description));
    json.Field("metric", std::string_view(rule.metric)).Field("operator", Name(rule.comparison));
    // An earlier build takes the last number for the threshold, and refuses a subject.
    json.Field("version", rule.version).Field("threshold", rule.threshold);
    if (!rule.subject.empty()) json.Field("subject", std::string_view(rule.subject));
    json.Field("duration", std::string_view(FormatDuration(rule.duration)));
    json.Field("severity", Name(rule.severity)).Field("enabled", rule.enabled);
    json.Key("channels").BeginArray();
    for (const std::string& channel : rule.channels) json.Value(std::string_view(channel));
    json.EndArray().EndObject();
    return out;
}

Result<AlertRule> DecodeRule(std::string_view name, std::string_view value) {
    const auto parsed = ParseJson(value);
    if (!parsed || !parsed->is_object()) return BadRule("rule", "is not stored as an object");
    AlertRule rule{.name = std::string(name)};
    for (const auto& [key, field] : parsed->as_object()) {
        if (field.is_array()) {
            for (const auto& item : field.as_array()) {
                if (item.is_string()) rule.channels.emplace_back(item.as_string());
            }
        } else if (key == "version") {
            rule.version = field.is_number() ? field.to_number<std::uint32_t>() : 0;
        } else if (field.is_number()) {
            rule.threshold = field.to_number<double>();
        } else {
            const std::string text = field.is_bool()     ? (field.as_bool() ? "true" : "false")
                                     : field.is_string() ? std::string(field.as_string())
                                                         : std::string();
            if (auto set = SetRuleField(rule, key, text); !set) return std::unexpected(set.error());
        }
    }
    if (auto checked = CheckRule(rule); !checked) return std::unexpected(checked.error());
    return rule;
}

AlertRule RuleOf(const std::map<std::string, std::string>& fields, Mistakes& mistakes) {
    AlertRule rule{.origin = RuleOrigin::kConfigured};
    std::set<std::string> told;
    const auto add = [&](const Error& error) {
        if (told.emplace(error.field).second) mistakes.Add(error);
    };
    for (const std::string_view needed : {"name", "metric", "operator", "threshold"}) {
        if (!fields.contains(std::string(needed))) add(BadRule(needed, "is missing").error());
    }
    for (const auto& [name, text] : fields) {
        if (auto set = SetRuleField(rule, name, text); !set) add(set.error());
    }
    for (const Error& error : MistakesOf(rule)) add(error);
    return rule;
}

std::vector<AlertRule> BuiltinRules() {
    using namespace std::chrono_literals;
    return {
        {.name = "high_task_failure_rate",
         .description = "More than a tenth of the executions fail.",
         .metric = "task_failure_rate",
         .comparison = Comparison::kAbove,
         .threshold = 0.1,
         .duration = 5min,
         .severity = Severity::kWarning,
         .origin = RuleOrigin::kBuiltin},
        {.name = "no_online_workers",
         .description = "Nobody is there to run anything.",
         .metric = "workers_online",
         .comparison = Comparison::kBelow,
         .threshold = 1,
         .duration = 1min,
         .severity = Severity::kCritical,
         .origin = RuleOrigin::kBuiltin},
        {.name = "run_missed_or_late",
         .description = "A run of a recurring task did not happen, or began later than allowed.",
         .metric = std::string(kLatenessMetric),
         .comparison = Comparison::kAbove,
         .threshold = 60,
         .duration = 0s,
         .severity = Severity::kCritical,
         .origin = RuleOrigin::kBuiltin},
        {.name = "clock_was_set",
         .description = "The wall clock of the leading scheduler was set by a minute or more.",
         .metric = "clock_jump_seconds",
         .comparison = Comparison::kAbove,
         .threshold = 0,
         .duration = 0s,
         .severity = Severity::kWarning,
         .origin = RuleOrigin::kBuiltin},
        {.name = "store_nearly_full",
         .description = "The store is nearly full; soon no new task is taken.",
         .metric = std::string(kStoreUsedMetric),
         .comparison = Comparison::kAbove,
         .threshold = 0.85,
         .duration = 1min,
         .severity = Severity::kWarning,
         .origin = RuleOrigin::kBuiltin}};
}

}  // namespace takt::internal
