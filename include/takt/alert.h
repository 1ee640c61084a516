// Alerts: rules that say when something is wrong, and what they found. docs/alerts.md lists the metrics
// that a rule may watch.
//
//     client.PutAlertRule({.name = "deep queue", .metric = "tasks_pending", .comparison = ">",
//                          .threshold = 1000, .duration = 5min});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "takt/export.h"
#include "takt/name.h"
#include "takt/time.h"

namespace takt {

enum class AlertSeverity : std::uint8_t { kInfo, kWarning, kCritical };
enum class AlertState : std::uint8_t {
    kPending,   // So, but not for as long as its rule says.
    kFiring,    // Told to the channels.
    kResolved,  // No longer so.
};

TAKT_EXPORT std::string_view Name(AlertSeverity severity);
TAKT_EXPORT std::string_view Name(AlertState state);
template <>
inline constexpr bool kHasName<AlertSeverity> = true;
template <>
inline constexpr bool kHasName<AlertState> = true;

struct AlertRule {
    std::string name = {};
    std::string description = {};  // Told with its alerts.
    std::string metric = {};       // A name that ListAlertMetrics gives.
    std::string comparison = {};   // Between value and threshold: > >= < <= == !=
    double threshold = 0;
    std::string subject =
        {};                // The one task, worker or queue that it watches; empty: each of them.
    Duration duration{0};  // How long it must be so; at most 7 days.
    AlertSeverity severity = AlertSeverity::kWarning;
    bool enabled = true;
    std::vector<std::string> channels = {};  // Who is told, by name. Empty: every channel.
};

// A rule as the scheduler has it.
struct AlertRuleRecord : AlertRule {
    bool builtin = false;       // The program brought it.
    std::uint32_t version = 0;  // Rises with each change; 0: nobody changed it.
    std::optional<Time> silenced_until;
    std::optional<AlertState> state;  // The worst of its alerts; none: all is well.
    std::optional<double> value;      // Read last.
};

// Somebody looks after it.
struct AlertNote {
    std::string by;
    Time at{};
    std::string note;
};

struct Alert {
    std::string id;
    std::string rule;
    AlertSeverity severity = AlertSeverity::kWarning;
    AlertState state = AlertState::kPending;
    std::string metric;
    std::string comparison;
    double threshold = 0;
    double value = 0;
    std::optional<double> firing_value;  // When it began to fire.
    std::string subject;       // The task, worker or queue that it is about; empty: the whole.
    std::string subject_name;  // What people call that; empty: it has no name.
    std::string message;       // One sentence.
    std::optional<Time> pending_at;
    std::optional<Time> firing_at;
    std::optional<Time> resolved_at;
    std::optional<AlertNote> acknowledged;
    std::optional<Time> silenced_until;
};

struct AlertMetric {
    std::string name;
    std::string unit;
    std::string help;
    std::string subject;  // task, worker or queue if it has a value for each; else empty.
};

struct AlertDelivery {
    Time at{};
    bool ok = false;
    std::string error;
};

// Somebody who is told; a channel stands in the configuration, or an operator made it.
struct AlertChannel {
    std::string name;
    std::string kind;
    std::string target;
    std::uint64_t waiting = 0;
    std::optional<AlertDelivery> last_delivery;
};

}  // namespace takt
