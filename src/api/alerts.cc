// Alerts: what is wrong, the rules that say so, and who is told.
#include "alerts/alerts.h"

#include <array>

#include "api/json_read.h"
#include "api/resources.h"
#include "api/services.h"

namespace takt::internal {
namespace {

// Runs `look` on the node's thread once alerts are read; refuses the call otherwise.
void WithAlerts(Call call, std::move_only_function<void(Call, Alerts&)> look) {
    Alerts& alerts = call.services().alerts;
    alerts.With([call = std::move(call), look = std::move(look)](Alerts& alerts) mutable {
        if (auto ready = alerts.Ready(); !ready) return call.RefuseAnswer(ready.error());
        look(std::move(call), alerts);
    });
}

void WriteTimeOrNull(JsonWriter& json, std::string_view key, Time time, Time now) {
    json.Field(key, time > now ? time : Time{});
}

void WriteAlert(JsonWriter& json, const Alert& alert, const Alerts& alerts) {
    json.BeginObject();
    WriteAlertFields(json, alert);
    WriteTimeOrNull(json, "silenced_until", alerts.rules().silenced_until(alert.rule),
                    ReadClocks().wall);
    json.EndObject();
}

void WriteRule(JsonWriter& json, const AlertRule& rule, const Alerts& alerts) {
    json.BeginObject().Field("name", std::string_view(rule.name));
    json.Field("description", std::string_view(rule.description));
    json.Field("metric", std::string_view(rule.metric)).Field("operator", Name(rule.comparison));
    json.Field("threshold", rule.threshold);
    json.Field("duration", std::string_view(FormatDuration(rule.duration)));
    json.Field("severity", Name(rule.severity)).Field("enabled", rule.enabled);
    json.Field("builtin", rule.origin == RuleOrigin::kBuiltin);
    json.Key("channels").BeginArray();
    for (const std::string& channel : rule.channels) json.Value(std::string_view(channel));
    json.EndArray();
    WriteTimeOrNull(json, "silenced_until", alerts.rules().silenced_until(rule.name),
                    ReadClocks().wall);
    const auto state = alerts.StateOf(rule.name);
    json.Field("state", state ? Name(*state) : std::string_view("ok"));
    const auto value = alerts.values().find(rule.name);
    json.Key("value");
    value == alerts.values().end() ? json.Null() : json.Value(value->second);
    json.EndObject();
}

// --- Alerts -------------------------------------------------------------------------------------

void ListAlerts(Call call) {
    const std::string state = call.request().Query("state").value_or("");
    const auto wanted = ParseAlertState(state);
    if (!state.empty() && state != "all" && !wanted) {
        return call.RefuseRequest(
            BadField("state", "must be pending, firing, resolved or all").error());
    }
    WithAlerts(std::move(call), [state, wanted](Call call, Alerts& alerts) {
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        for (const Alert* alert : alerts.alerts()) {
            const bool shown = state == "all" || (wanted ? alert->state == *wanted
                                                         : alert->state != AlertState::kResolved);
            if (shown) WriteAlert(json, *alert, alerts);
        }
        json.EndArray().Key("next_cursor").Null().EndObject();
        call.Json(200, std::move(body));
    });
}

Result<std::string> ReadNote(const Call& call) {
    static constexpr std::array<std::string_view, 1> kNames = {"note"};
    if (call.request().body.empty()) return std::string();
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return std::unexpected(object.error());
    std::string note;
    std::string scratch;
    JsonView::Members members(*object);
    while (members.Next()) {
        if (members.key() != kNames[0]) return UnknownField(members.key(), kNames);
        if (members.value().is_null()) continue;
        const auto text = ReadText(members.value(), "note", kReasonBytesMax, scratch);
        if (!text) return std::unexpected(text.error());
        note = *text;
    }
    return note;
}

void AcknowledgeAlert(Call call) {
    auto note = ReadNote(call);
    if (!note) return call.RefuseRequest(note.error());
    WithAlerts(std::move(call), [note = std::move(*note)](Call call, Alerts& alerts) mutable {
        const std::string id(call.request().Parameter("id"));
        Acknowledgement by{call.who().name, ReadClocks().wall, std::move(note)};
        alerts.Acknowledge(id, std::move(by), [call = std::move(call)](auto alert) mutable {
            if (!alert) return call.RefuseAnswer(alert.error());
            std::string body;
            JsonWriter json(body);
            WriteAlert(json, *alert, call.services().alerts);
            call.Json(200, std::move(body));
        });
    });
}

// --- Rules --------------------------------------------------------------------------------------

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

// --- Metrics and channels -----------------------------------------------------------------------

void ListMetrics(Call call) {
    static constexpr std::array<std::string_view, 4> kSubjects = {"", "task", "worker", "queue"};
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("items").BeginArray();
    for (const AlertMetric& metric : AlertMetrics()) {
        json.BeginObject().Field("name", metric.name).Field("unit", metric.unit);
        json.Field("help", metric.help);
        json.Field("subject", kSubjects[static_cast<std::size_t>(metric.subject)]).EndObject();
    }
    json.EndArray().Key("next_cursor").Null().EndObject();
    call.Json(200, std::move(body));
}

void ListChannels(Call call) {
    WithAlerts(std::move(call), [](Call call, Alerts& alerts) {
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        for (const Delivery::View& view : alerts.delivery().channels()) {
            json.BeginObject().Field("name", std::string_view(view.channel.name));
            json.Field("kind", Name(view.channel.kind));
            json.Field("target", std::string_view(view.channel.target()));
            json.Field("waiting", view.waiting);
            json.Key("last_delivery");
            if (view.last) {
                json.BeginObject().Field("at", view.last->at).Field("ok", view.last->ok);
                json.Field("error", std::string_view(view.last->error)).EndObject();
            } else {
                json.Null();
            }
            json.EndObject();
        }
        json.EndArray().Key("next_cursor").Null().EndObject();
        call.Json(200, std::move(body));
    });
}

void TestChannel(Call call) {
    WithAlerts(std::move(call), [](Call call, Alerts& alerts) mutable {
        const std::string name(call.request().Parameter("name"));
        alerts.delivery().Test(name, [call = std::move(call)](Result<void> told) mutable {
            if (!told && told.error().code == ErrorCode::kNotFound) {
                return call.RefuseAnswer(told.error());
            }
            std::string body;
            JsonWriter json(body);
            json.BeginObject().Field("ok", told.has_value());
            json.Field("error", std::string_view(told ? "" : told.error().detail)).EndObject();
            call.Json(200, std::move(body));
        });
    });
}

}  // namespace

void AddAlertRoutes(std::vector<Route>& routes) {
    const auto add = [&](HttpMethod method, std::string_view path, Permission permission,
                         RouteHandler handler, std::string_view summary, std::string_view gives) {
        routes.push_back({.method = method,
                          .path = path,
                          .permission = permission,
                          .where = Where::kLeader,
                          .handler = std::move(handler),
                          .tag = "alerts",
                          .summary = summary,
                          .gives = gives});
        return &routes.back();
    };
    using enum HttpMethod;
    add(kGet, "/api/v1/alerts", Permission::kViewer, ListAlerts, "List alerts, newest first",
        "AlertList")
        ->query = {{"state", "pending, firing, resolved or all; by default pending and firing."}};
    Route* route = add(kPost, "/api/v1/alerts/{id}/acknowledge", Permission::kOperator,
                       AcknowledgeAlert, "Say that somebody looks after it", "Alert");
    route->takes = "AlertNote";
    route->body_optional = true;
    add(kGet, "/api/v1/alert-rules", Permission::kViewer, ListRules, "List rules", "AlertRuleList");
    add(kGet, "/api/v1/alert-rules/{name}", Permission::kViewer, GetRule, "Get a rule",
        "AlertRule");
    add(kPut, "/api/v1/alert-rules/{name}", Permission::kAdmin, PutRule, "Make or change a rule",
        "AlertRule")
        ->takes = "AlertRulePut";
    add(kDelete, "/api/v1/alert-rules/{name}", Permission::kAdmin, DeleteRule, "Delete a rule", {})
        ->success = 204;
    add(kPost, "/api/v1/alert-rules/{name}/silence", Permission::kOperator, SilenceRule,
        "Tell nobody about its alerts for a while", "AlertRule")
        ->takes = "AlertSilence";
    add(
        kDelete, "/api/v1/alert-rules/{name}/silence", Permission::kOperator,
        [](Call call) { SetSilence(std::move(call), Time{}); }, "Tell about its alerts again",
        "AlertRule");
    add(kGet, "/api/v1/alert-metrics", Permission::kViewer, ListMetrics, "What a rule may watch",
        "AlertMetricList");
    add(kGet, "/api/v1/alert-channels", Permission::kViewer, ListChannels, "Who is told",
        "AlertChannelList");
    add(kPost, "/api/v1/alert-channels/{name}/test", Permission::kAdmin, TestChannel,
        "Tell a channel that this is a test", "AlertChannelTest");
}

}  // namespace takt::internal
