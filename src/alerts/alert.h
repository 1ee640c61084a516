// Alert: that a rule's condition holds, or held, for one subject.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "alerts/rule.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"

namespace takt::internal {

enum class AlertState : std::uint8_t {
    kPending,   // The condition holds, not yet as long as the rule asks for.
    kFiring,    // It has held long enough.
    kResolved,  // It does not hold any more.
};
std::string_view Name(AlertState state);
std::optional<AlertState> ParseAlertState(std::string_view name);

struct Acknowledgement {
    std::string by;
    Time at{};
    std::string note;
};

struct Alert {
    std::string id;  // The same on every node that sees the same thing.
    std::string rule;
    Severity severity{};
    std::string metric;
    Comparison comparison{};
    double threshold = 0;
    double value = 0;                    // As last seen.
    std::optional<double> firing_value;  // As it was when it fired.
    Text subject;                        // A task, worker or queue; empty for the whole.
    Text subject_name;                   // As people call it; empty: as its id.
    std::string message;
    AlertState state = AlertState::kPending;
    Time pending_at{};
    Time firing_at{};      // 0: it never fired.
    Time resolved_at{};    // 0: it is not over.
    Time occasion{};       // See AlertReading.
    bool settled = false;  // See AlertReading.
    std::optional<Acknowledgement> acknowledged;
    // The last state that the channels were told; an alert that a leader could not tell of is told
    // by the next one. One that began and ended while nobody was to be told is kResolved here too:
    // nothing is left to tell.
    std::optional<AlertState> told;
    // Channels that have heard of a state that others have not heard of yet, and which. When all have,
    // `told` says so.
    std::map<std::string, AlertState, std::less<>> heard = {};
    bool HasHeard(std::string_view channel) const;  // Of its present state.
};

// Names what an alert is about, so that two who see it call it the same.
struct AlertOccasion {
    std::string_view rule;
    std::string_view subject;
    Time at{};
};
std::string AlertId(const AlertOccasion& occasion);

// As it is stored under "alert/ID".
constexpr std::string_view kAlertPrefix = "alert/";
std::string EncodeAlert(const Alert& alert);
Result<Alert> DecodeAlert(std::string_view id, std::string_view value);

// The event that watchers see: {"id","rule","state","severity","message","value","subject"}.
std::string AlertEventText(const Alert& alert);

// All fields of the API but `silenced_until`, without the braces.
void WriteAlertFields(JsonWriter& json, const Alert& alert);

}  // namespace takt::internal
