// The rules that say when something is wrong: list, get, put, delete, silence.
#include <array>

#include "api/alerts_call.h"
#include "api/answer_table.h"
#include "api/json_read.h"
#include "api/resources.h"
#include "api/schemas.h"

namespace takt::internal {
namespace {

struct RuleAnswer {
    const AlertRule& rule;
    const Alerts& alerts;
};

const AnswerTable<RuleAnswer>& RuleAnswerFields() {
    using Answer = RuleAnswer;
    static const AnswerTable<Answer> fields = {
        {"name", schema::Text(), "",
         [](JsonWriter& json, const Answer& a) { json.Value(std::string_view(a.rule.name)); }},
        {"description", schema::Text(), "",
         [](JsonWriter& json, const Answer& a) {
             json.Value(std::string_view(a.rule.description));
         }},
        {"metric", schema::Text(), "What it watches.",
         [](JsonWriter& json, const Answer& a) { json.Value(std::string_view(a.rule.metric)); }},
        {"operator", schema::OneOf({">", ">=", "<", "<=", "==", "!="}), "",
         [](JsonWriter& json, const Answer& a) { json.Value(Name(a.rule.comparison)); }},
        {"threshold", schema::Number(), "",
         [](JsonWriter& json, const Answer& a) { json.Value(a.rule.threshold); }},
        {"duration", schema::Duration(), "How long it must be so.",
         [](JsonWriter& json, const Answer& a) {
             json.Value(std::string_view(FormatDuration(a.rule.duration)));
         }},
        {"severity", schema::OneOf({"info", "warning", "critical"}), "",
         [](JsonWriter& json, const Answer& a) { json.Value(Name(a.rule.severity)); }},
        {"enabled", schema::Bool(), "",
         [](JsonWriter& json, const Answer& a) { json.Value(a.rule.enabled); }},
        {"builtin", schema::Bool(), "Whether the program brought it.",
         [](JsonWriter& json, const Answer& a) {
             json.Value(a.rule.origin == RuleOrigin::kBuiltin);
         }},
        {"channels", schema::ListOf(schema::Text()), "Empty: every channel.",
         [](JsonWriter& json, const Answer& a) {
             json.BeginArray();
             for (const std::string& channel : a.rule.channels) {
                 json.Value(std::string_view(channel));
             }
             json.EndArray();
         }},
        {"silenced_until", schema::OrNull(schema::Time()), "null: it is not.",
         [](JsonWriter& json, const Answer& a) {
             const Time until = a.alerts.rules().silenced_until(a.rule.name);
             json.Value(until > ReadClocks().wall ? until : Time{});
         }},
        {"state", schema::OneOf({"ok", "pending", "firing"}), "",
         [](JsonWriter& json, const Answer& a) {
             const auto state = a.alerts.StateOf(a.rule.name);
             json.Value(state ? Name(*state) : std::string_view("ok"));
         }},
        {"value", schema::OrNull(schema::Number()), "Read last; null: there is none.",
         [](JsonWriter& json, const Answer& a) {
             const auto value = a.alerts.values().find(a.rule.name);
             value == a.alerts.values().end() ? json.Null() : json.Value(value->second);
         }},
    };
    return fields;
}

void WriteRule(JsonWriter& json, const AlertRule& rule, const Alerts& alerts) {
    json.BeginObject();
    WriteFields(json, RuleAnswerFields(), {rule, alerts});
    json.EndObject();
}

void ListRules(Call call) {
    WithAlerts(std::move(call), [](Call call, Alerts& alerts) {
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        for (const AlertRule& rule : alerts.rules().rules()) WriteRule(json, rule, alerts);
        json.EndArray().Key("next_cursor").Null().EndObject();
        call.Json(200, std::move(body));
    });
}

// On the node's thread.
void SendRule(Call call, int status = 200) {
    const Alerts& alerts = call.services().alerts;
    const std::string name(call.request().Parameter("name"));
    const AlertRule* rule = alerts.rules().Find(name);
    if (!rule) {
        return call.RefuseAnswer({ErrorCode::kNotFound, "there is no rule '" + name + "'", "name"});
    }
    std::string body;
    JsonWriter json(body);
    WriteRule(json, *rule, alerts);
    call.Json(status, std::move(body));
}

void GetRule(Call call) {
    WithAlerts(std::move(call), [](Call call, Alerts&) { SendRule(std::move(call)); });
}

Result<std::vector<std::string>> ReadChannels(const JsonView& value) {
    std::vector<std::string> channels;
    if (value.kind() != JsonView::Kind::kArray) {
        return BadField("channels", "must be a list of names");
    }
    std::string scratch;
    JsonView::Elements elements(value);
    while (elements.Next()) {
        const auto name = ReadText(elements.value(), "channels", kIdBytesMax, scratch);
        if (!name) return std::unexpected(name.error());
        channels.emplace_back(*name);
    }
    return channels;
}

template <typename Value, typename Parse>
Result<Value> ReadNamed(const JsonView& value, std::string_view field, Parse parse,
                        std::string_view help) {
    std::string scratch;
    const auto parsed = value.is_string() ? parse(value.AsString(scratch)) : std::optional<Value>();
    if (!parsed) return BadField(field, help);
    return *parsed;
}

template <typename To, typename From>
Result<void> Take(To& to, Result<From> from) {
    if (!from) return std::unexpected(from.error());
    to = To(std::move(*from));
    return {};
}

constexpr std::array<std::string_view, 9> kRuleFields = {"metric",   "operator", "threshold",
                                                         "duration", "severity", "channels",
                                                         "enabled",  "name",     "description"};

Result<void> SetRuleField(AlertRule& rule, std::string_view field, const JsonView& value) {
    std::string scratch;
    if (field == "metric") return Take(rule.metric, ReadText(value, field, 100, scratch));
    if (field == "operator") {
        return Take(rule.comparison, ReadNamed<Comparison>(value, field, ParseComparison,
                                                           "must be one of > >= < <= == !="));
    }
    if (field == "threshold") {
        return Take(rule.threshold, ReadNumber(value, field, {-1e15, 1e15}));
    }
    if (field == "duration") return Take(rule.duration, ReadDuration(value, field));
    if (field == "severity") {
        return Take(rule.severity, ReadNamed<Severity>(value, field, ParseSeverity,
                                                       "must be info, warning or critical"));
    }
    if (field == "channels") return Take(rule.channels, ReadChannels(value));
    if (field == "enabled") return Take(rule.enabled, ReadBool(value, field));
    if (field == "description") {
        if (value.is_string() && value.AsString(scratch).empty()) {
            rule.description.clear();
            return {};
        }
        return Take(rule.description, ReadText(value, field, 1000, scratch));
    }
    if (field == "name") {
        const auto name = ReadText(value, field, kIdBytesMax, scratch);
        if (!name) return std::unexpected(name.error());
        if (*name != rule.name) return BadField("name", "must be the name in the address");
        return {};
    }
    return UnknownField(field, kRuleFields);
}

Result<AlertRule> ReadRule(const Call& call) {
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return std::unexpected(object.error());
    AlertRule rule{.name = std::string(call.request().Parameter("name"))};
    bool has_threshold = false;
    bool has_operator = false;
    JsonView::Members members(*object);
    while (members.Next()) {
        has_threshold |= members.key() == "threshold";
        has_operator |= members.key() == "operator";
        if (auto set = SetRuleField(rule, members.key(), members.value()); !set) {
            return std::unexpected(set.error());
        }
    }
    if (rule.metric.empty()) return BadField("metric", "is missing");
    if (!has_operator) return BadField("operator", "is missing");
    if (!has_threshold) return BadField("threshold", "is missing");
    if (auto checked = CheckRule(rule); !checked) return std::unexpected(checked.error());
    return rule;
}

void PutRule(Call call) {
    auto rule = ReadRule(call);
    if (!rule) return call.RefuseRequest(rule.error());
    WithAlerts(std::move(call), [rule = std::move(*rule)](Call call, Alerts& alerts) mutable {
        const int status = alerts.rules().Find(rule.name) ? 200 : 201;
        alerts.PutRule(rule, [call = std::move(call), status](Result<void> put) mutable {
            if (!put) return call.RefuseAnswer(put.error());
            SendRule(std::move(call), status);
        });
    });
}

void DeleteRule(Call call) {
    WithAlerts(std::move(call), [](Call call, Alerts& alerts) mutable {
        const std::string name(call.request().Parameter("name"));
        alerts.DeleteRule(name, [call = std::move(call)](Result<void> gone) mutable {
            if (!gone) return call.RefuseAnswer(gone.error());
            HttpResponse response;
            response.status = 204;
            call.Send(std::move(response));
        });
    });
}

void SetSilence(Call call, Time until) {
    WithAlerts(std::move(call), [until](Call call, Alerts& alerts) mutable {
        const std::string name(call.request().Parameter("name"));
        alerts.Silence(name, until, [call = std::move(call)](Result<void> set) mutable {
            if (!set) return call.RefuseAnswer(set.error());
            SendRule(std::move(call));
        });
    });
}

void SilenceRule(Call call) {
    static constexpr std::array<std::string_view, 1> kNames = {"duration"};
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return call.RefuseRequest(object.error());
    std::optional<Duration> length;
    JsonView::Members members(*object);
    while (members.Next()) {
        if (members.key() != kNames[0]) {
            return call.RefuseRequest(UnknownField(members.key(), kNames).error());
        }
        const auto duration = ReadDuration(members.value(), "duration", Duration(1'000));
        if (!duration) return call.RefuseRequest(duration.error());
        length = *duration;
    }
    if (!length) return call.RefuseRequest(BadField("duration", "is missing").error());
    SetSilence(std::move(call), ReadClocks().wall + *length);
}

}  // namespace

std::string AlertRuleSchema() {
    return AnswerSchema(RuleAnswerFields());
}

void AddAlertRuleRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.where = Where::kLeader;
        route.tag = "alerts";
        routes.push_back(std::move(route));
    };
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/alert-rules",
         .permission = Permission::kViewer,
         .handler = ListRules,
         .summary = "List rules",
         .gives = "AlertRuleList"});
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/alert-rules/{name}",
         .permission = Permission::kViewer,
         .handler = GetRule,
         .summary = "Get a rule",
         .gives = "AlertRule"});
    add({.method = HttpMethod::kPut,
         .path = "/api/v1/alert-rules/{name}",
         .permission = Permission::kAdmin,
         .handler = PutRule,
         .summary = "Make or change a rule",
         .takes = "AlertRulePut",
         .gives = "AlertRule",
         .also = 201});
    add({.method = HttpMethod::kDelete,
         .path = "/api/v1/alert-rules/{name}",
         .permission = Permission::kAdmin,
         .handler = DeleteRule,
         .summary = "Delete a rule",
         .success = 204});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/alert-rules/{name}/silence",
         .permission = Permission::kOperator,
         .handler = SilenceRule,
         .summary = "Tell nobody about its alerts for a while",
         .takes = "AlertSilence",
         .gives = "AlertRule"});
    add({.method = HttpMethod::kDelete,
         .path = "/api/v1/alert-rules/{name}/silence",
         .permission = Permission::kOperator,
         .handler = [](Call call) { SetSilence(std::move(call), Time{}); },
         .summary = "Tell about its alerts again",
         .gives = "AlertRule"});
}

}  // namespace takt::internal
