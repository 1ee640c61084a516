#include "alerts/alert.h"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>

#include "base/id.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 3> kStates = {"pending", "firing", "resolved"};

std::string TextOf(const boost::json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value && value->is_string() ? std::string(value->as_string()) : std::string();
}
double NumberOf(const boost::json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value && value->is_number() ? value->to_number<double>() : 0;
}
bool FlagOf(const boost::json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value && value->is_bool() && value->as_bool();
}
Time TimeOf(const boost::json::object& object, std::string_view key) {
    return ParseTime(TextOf(object, key)).value_or(Time{});
}

}  // namespace

std::string_view Name(AlertState state) {
    return kStates[static_cast<std::size_t>(state)];
}

std::optional<AlertState> ParseAlertState(std::string_view name) {
    const auto found = std::ranges::find(kStates, name);
    if (found == kStates.end()) return std::nullopt;
    return static_cast<AlertState>(found - kStates.begin());
}

std::string AlertId(const AlertOccasion& occasion) {
    // FNV-1a. Equal on every node and in every version; nobody gains by a collision.
    std::uint64_t hash = 14695981039346656037u;
    const auto add = [&](std::string_view text) {
        for (const char c : text) {
            hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
        }
        hash = (hash ^ 0xff) * 1099511628211u;
    };
    add(occasion.rule);
    add(occasion.subject);
    add(std::to_string(occasion.at.time_since_epoch().count()));
    return SerialText(hash);
}

void WriteAlertFields(JsonWriter& json, const Alert& alert) {
    json.Field("id", std::string_view(alert.id)).Field("rule", std::string_view(alert.rule));
    json.Field("severity", Name(alert.severity)).Field("state", Name(alert.state));
    json.Field("metric", std::string_view(alert.metric));
    json.Field("operator", Name(alert.comparison)).Field("threshold", alert.threshold);
    json.Field("value", alert.value).Key("firing_value");
    alert.firing_value ? json.Value(*alert.firing_value) : json.Null();
    json.Field("subject", alert.subject.view());
    json.Field("subject_name", alert.subject_name.view());
    json.Field("message", std::string_view(alert.message));
    json.Field("pending_at", alert.pending_at).Field("firing_at", alert.firing_at);
    json.Field("resolved_at", alert.resolved_at);
    json.Key("acknowledged");
    if (alert.acknowledged) {
        json.BeginObject().Field("by", std::string_view(alert.acknowledged->by));
        json.Field("at", alert.acknowledged->at);
        json.Field("note", std::string_view(alert.acknowledged->note)).EndObject();
    } else {
        json.Null();
    }
}

bool Alert::HasHeard(std::string_view channel) const {
    const auto found = heard.find(channel);
    return found != heard.end() && found->second >= state;
}

std::string EncodeAlert(const Alert& alert) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject();
    WriteAlertFields(json, alert);
    json.Field("occasion", alert.occasion).Field("settled", alert.settled);
    json.Field("told", alert.told ? Name(*alert.told) : std::string_view());
    if (!alert.heard.empty()) {
        json.Key("heard").BeginObject();
        for (const auto& [channel, state] : alert.heard) json.UserKey(channel).Value(Name(state));
        json.EndObject();
    }
    json.EndObject();
    return out;
}

Result<Alert> DecodeAlert(std::string_view id, std::string_view value) {
    const auto broken = [&] {
        return Fail(ErrorCode::kInvalid,
                    "the setting alert/" + std::string(id) + " is not an alert; remove it");
    };
    const auto parsed = ParseJson(value);
    if (!parsed || !parsed->is_object()) return broken();
    const boost::json::object& object = parsed->as_object();
    const auto severity = ParseSeverity(TextOf(object, "severity"));
    const auto state = ParseAlertState(TextOf(object, "state"));
    const auto comparison = ParseComparison(TextOf(object, "operator"));
    if (!severity || !state || !comparison) return broken();
    Alert alert{.id = std::string(id),
                .rule = TextOf(object, "rule"),
                .severity = *severity,
                .metric = TextOf(object, "metric"),
                .comparison = *comparison,
                .threshold = NumberOf(object, "threshold"),
                .value = NumberOf(object, "value"),
                .subject = Text(TextOf(object, "subject")),
                .subject_name = Text(TextOf(object, "subject_name")),
                .message = TextOf(object, "message"),
                .state = *state,
                .pending_at = TimeOf(object, "pending_at"),
                .firing_at = TimeOf(object, "firing_at"),
                .resolved_at = TimeOf(object, "resolved_at"),
                .occasion = TimeOf(object, "occasion"),
                .settled = FlagOf(object, "settled"),
                .told = ParseAlertState(TextOf(object, "told"))};
    const auto* fired = object.if_contains("firing_value");
    if (fired && fired->is_number()) alert.firing_value = fired->to_number<double>();
    const auto* acknowledged = object.if_contains("acknowledged");
    if (acknowledged && acknowledged->is_object()) {
        const auto& by = acknowledged->as_object();
        alert.acknowledged =
            Acknowledgement{TextOf(by, "by"), TimeOf(by, "at"), TextOf(by, "note")};
    }
    const auto* heard = object.if_contains("heard");
    if (heard && heard->is_object()) {
        for (const auto& member : heard->as_object()) {
            const auto state = ParseAlertState(TextOf(heard->as_object(), member.key()));
            if (state) alert.heard.emplace(member.key(), *state);
        }
    }
    return alert;
}

std::string AlertEventText(const Alert& alert) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("id", std::string_view(alert.id));
    json.Field("rule", std::string_view(alert.rule)).Field("state", Name(alert.state));
    json.Field("severity", Name(alert.severity));
    json.Field("message", std::string_view(alert.message)).Field("value", alert.value);
    json.Field("subject", alert.subject.view()).EndObject();
    return out;
}

}  // namespace takt::internal
