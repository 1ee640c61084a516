// The rules that say when something is wrong: list, get, put, delete, silence.
#include "api/alerts_call.h"
#include "api/audit.h"
#include "api/call_body.h"
#include "api/definition_body.h"
#include "api/definition_kind.h"
#include "api/request_kinds.h"
#include "api/resource_pages.h"
#include "api/resource_table.h"
#include "api/resources.h"
#include "api/schemas.h"

namespace takt::internal {
namespace {

struct RuleAnswer {
    const AlertRule& rule;
    const Alerts& alerts;
};

Result<void> CheckNameAgain(AlertRule& rule, const JsonView& value, std::string_view name) {
    std::string scratch;
    const auto text = ReadText(value, name, kIdBytesMax, scratch);
    if (!text) return std::unexpected(text.error());
    if (*text != rule.name) return BadField(name, "must be the name in the address");
    return {};
}

void WriteRuleChannels(JsonWriter& json, const RuleAnswer& answer) {
    json.BeginArray();
    for (const std::string& channel : answer.rule.channels) json.Value(std::string_view(channel));
    json.EndArray();
}

void WriteRuleSilence(JsonWriter& json, const RuleAnswer& answer) {
    const Time until = answer.alerts.rules().silenced_until(answer.rule.name);
    json.Value(until > ReadClocks().wall ? until : Time{});
}

void WriteRuleState(JsonWriter& json, const RuleAnswer& answer) {
    const auto state = answer.alerts.StateOf(answer.rule.name);
    json.Value(state ? Name(*state) : std::string_view("ok"));
}

void WriteRuleValue(JsonWriter& json, const RuleAnswer& answer) {
    const auto value = answer.alerts.values().find(answer.rule.name);
    value == answer.alerts.values().end() ? json.Null() : json.Value(value->second);
}

using RuleFields = std::vector<ResourceField<AlertRule, RuleAnswer>>;

// The fields of its condition.
void AddRuleCondition(RuleFields& to) {
    using Answer = RuleAnswer;
    using Take = TakenBy<AlertRule>;
    to.push_back({"metric",
                  "What it watches; GET /api/v1/alert-metrics lists what can be.",
                  Take::Text(&AlertRule::metric, 100).Required(),
                  {schema::Text(), [](JsonWriter& json, const Answer& a) {
                       json.Value(std::string_view(a.rule.metric));
                   }}});
    const std::vector<std::string_view> operators = {">", ">=", "<", "<=", "==", "!="};
    to.push_back({"operator",
                  "Between the value and the threshold.",
                  Take::Choice(&AlertRule::comparison, ParseComparison, operators).Required(),
                  {schema::OneOf(operators), [](JsonWriter& json, const Answer& a) {
                       json.Value(Name(a.rule.comparison));
                   }}});
    to.push_back({"threshold",
                  "In the metric's unit; of a ratio from 0 to 1: 0.05 is 5 percent.",
                  Take::Number(&AlertRule::threshold, {-1e15, 1e15}).Required(),
                  {schema::Number(),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.rule.threshold); }}});
    to.push_back({"subject",
                  "The one task, worker or queue that it watches, by id. Empty: each of them.",
                  Take::TextOrNone(&AlertRule::subject, kIdBytesMax),
                  {schema::Text(), [](JsonWriter& json, const Answer& a) {
                       json.Value(std::string_view(a.rule.subject));
                   }}});
    to.push_back({"duration",
                  "How long it must be so, up to 7 days; at once unless given.",
                  Take::Duration(&AlertRule::duration, Duration(0)),
                  {schema::Duration(), [](JsonWriter& json, const Answer& a) {
                       json.Value(std::string_view(FormatDuration(a.rule.duration)));
                   }}});
}

// The fields that say what is done about it.
void AddRuleConsequence(RuleFields& to) {
    using Answer = RuleAnswer;
    using Take = TakenBy<AlertRule>;
    const std::vector<std::string_view> severities = {"info", "warning", "critical"};
    to.push_back({"severity",
                  "How bad it is; warning unless given.",
                  Take::Choice(&AlertRule::severity, ParseSeverity, severities),
                  {schema::OneOf(severities),
                   [](JsonWriter& json, const Answer& a) { json.Value(Name(a.rule.severity)); }}});
    to.push_back(
        {"enabled",
         "Whether it is looked at; true unless given.",
         Take::Truth(&AlertRule::enabled),
         {schema::Bool(), [](JsonWriter& json, const Answer& a) { json.Value(a.rule.enabled); }}});
    to.push_back({"channels",
                  "Who is told, by name. Empty: every channel.",
                  Take::Texts(&AlertRule::channels, kIdBytesMax, kRuleChannelsMax),
                  {schema::ListOf(schema::Text()), WriteRuleChannels}});
}

const ResourceTable<AlertRule, RuleAnswer>& RuleTable() {
    using Answer = RuleAnswer;
    using Take = TakenBy<AlertRule>;
    static const ResourceTable<AlertRule, Answer> table([] {
        RuleFields fields;
        fields.push_back({"name",
                          "As in the address.",
                          Take::Own(schema::Text(), "the name in the address", CheckNameAgain),
                          {schema::Text(), [](JsonWriter& json, const Answer& a) {
                               json.Value(std::string_view(a.rule.name));
                           }}});
        fields.push_back({"description",
                          "Told with its alerts.",
                          Take::TextOrNone(&AlertRule::description, kRuleDescriptionBytesMax),
                          {schema::Text(), [](JsonWriter& json, const Answer& a) {
                               json.Value(std::string_view(a.rule.description));
                           }}});
        AddRuleCondition(fields);
        AddRuleConsequence(fields);
        fields.push_back({"builtin",
                          "Whether the program brought it.",
                          {},
                          {schema::Bool(), [](JsonWriter& json, const Answer& a) {
                               json.Value(a.rule.origin == RuleOrigin::kBuiltin);
                           }}});
        fields.push_back({"version",
                          "Rises with each change, from 0 for one that nobody changed; the ETag.",
                          {},
                          {schema::Integer(0),
                           [](JsonWriter& json, const Answer& a) { json.Value(a.rule.version); }}});
        fields.push_back({"silenced_until",
                          "null: it is not.",
                          {},
                          {schema::OrNull(schema::Time()), WriteRuleSilence}});
        fields.push_back({"state",
                          "The worst of its alerts.",
                          {},
                          {schema::OneOf({"ok", "pending", "firing"}), WriteRuleState}});
        fields.push_back({"value",
                          "Read last; null: there is none.",
                          {},
                          {schema::OrNull(schema::Number()), WriteRuleValue}});
        return fields;
    }());
    return table;
}

void WriteRule(JsonWriter& json, const AlertRule& rule, const Alerts& alerts) {
    json.BeginObject();
    WriteFields(json, RuleTable().answer(), {rule, alerts});
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
    SendVersioned(std::move(call), status, std::move(body), rule->version);
}

void GetRule(Call call) {
    WithAlerts(std::move(call), [](Call call, Alerts&) { SendRule(std::move(call)); });
}

Result<AlertRule> ReadRule(const Call& call) {
    auto rule = ReadBody(call, RuleTable().request(),
                         {.name = std::string(call.request().Parameter("name"))});
    if (!rule) return rule;
    if (auto checked = CheckRule(*rule); !checked) return std::unexpected(checked.error());
    return rule;
}

// From the rule as it stands, if there is one.
AuditChange RuleChangeOf(const Alerts& alerts, const std::string& name) {
    AuditChange change{.target = {"alert_rule", name}};
    if (const AlertRule* rule = alerts.rules().Find(name)) {
        change.before = JsonDocument(EncodeRule(*rule));
    }
    return change;
}

void PutRule(Call call) {
    auto rule = ReadRule(call);
    if (!rule) return call.RefuseRequest(rule.error());
    const auto condition = ReadWriteCondition(call.request());
    if (!condition) return call.RefuseRequest(condition.error());
    ChangeAlerts(std::move(call), [rule = std::move(*rule), condition = *condition](
                                      Call call, Alerts& alerts) mutable {
        const AlertRule* known = alerts.rules().Find(rule.name);
        const int status = known ? 200 : 201;
        rule.version = known ? known->version + 1 : 1;  // As PutRule will have it.
        AuditChange change = RuleChangeOf(alerts, rule.name);
        change.after = JsonDocument(EncodeRule(rule));
        ActPtr by = ActOf(call, std::move(change));
        alerts.PutRule(std::move(rule), condition, std::move(by),
                       [call = std::move(call), status](Result<void> put) mutable {
                           if (!put) return RefuseWrite(call, put.error());
                           SendRule(std::move(call), status);
                       });
    });
}

void DeleteRule(Call call) {
    const auto condition = ReadWriteCondition(call.request());
    if (!condition) return call.RefuseRequest(condition.error());
    ChangeAlerts(std::move(call), [condition = *condition](Call call, Alerts& alerts) mutable {
        const std::string name(call.request().Parameter("name"));
        ActPtr by = ActOf(call, RuleChangeOf(alerts, name));
        alerts.DeleteRule(name, condition, std::move(by),
                          [call = std::move(call)](Result<void> gone) mutable {
                              if (!gone) return RefuseWrite(call, gone.error());
                              HttpResponse response;
                              response.status = 204;
                              call.Send(std::move(response));
                          });
    });
}

void SetSilence(Call call, Time until) {
    WithAlerts(std::move(call), [until](Call call, Alerts& alerts) mutable {
        const std::string name(call.request().Parameter("name"));
        const auto shown = [](Time time) {
            return FieldsDocument(
                {{"silenced_until", time == Time{} ? std::string() : FormatTime(time)}});
        };
        ActPtr by = ActOf(call, {.target = {"alert_rule", name},
                                 .before = shown(alerts.rules().silenced_until(name)),
                                 .after = shown(until)});
        alerts.Silence(name, until, std::move(by),
                       [call = std::move(call)](Result<void> set) mutable {
                           if (!set) return call.RefuseAnswer(set.error());
                           SendRule(std::move(call));
                       });
    });
}

struct SilenceBody {
    Duration duration{0};
};

const RequestTable<SilenceBody>& SilenceFields() {
    static const RequestTable<SilenceBody> fields = {
        {"duration", "How long nobody is told.",
         TakenBy<SilenceBody>::Duration(&SilenceBody::duration, Duration(1'000)).Required()}};
    return fields;
}

void SilenceRule(Call call) {
    const auto body = ReadBody(call, SilenceFields());
    if (!body) return call.RefuseRequest(body.error());
    SetSilence(std::move(call), ReadClocks().wall + body->duration);
}

CheckedDefinition CheckRuleDefinition(const Services& services, const GivenDefinition& given) {
    CheckedDefinition checked;
    AlertRule rule{.name = std::string(given.name)};
    checked.mistakes = ReadMembers(RuleTable().request(), given.object, rule);
    if (!checked.mistakes.empty()) return checked;
    if (auto fits = CheckNewRule(rule); !fits) {
        checked.mistakes.push_back(std::move(fits.error()));
        return checked;
    }
    JsonWriter json(checked.shown);
    RuleTable().WriteShared(json, {rule, services.alerts});
    return checked;
}

}  // namespace

void AddAlertRuleSchemas(SchemaList& to) {
    to.emplace_back("AlertRulePut", RequestSchema(RuleTable().request()));
    to.emplace_back("AlertRule", AnswerSchema(RuleTable().answer()));
    to.emplace_back("AlertRuleList", schema::PageOf("AlertRule"));
    to.emplace_back("AlertSilence", RequestSchema(SilenceFields()));
}

std::string BuiltinRuleDefinitions(const Services& services) {
    std::string text;
    JsonWriter json(text);
    json.BeginArray();
    for (const AlertRule& rule : BuiltinRules()) {
        RuleTable().WriteShared(json, {rule, services.alerts});
    }
    json.EndArray();
    return text;
}

DefinitionKind AlertRuleDefinition() {
    schema::Object object;
    AddRequestFields(object, RuleTable().request());
    object.Require("name");
    return {.name = "alert_rule",
            .identity = "name",
            .fields = RuleTable().SharedFields(),
            .schema = object,
            .check = CheckRuleDefinition};
}

std::string AlertRulePage() {
    return RuleTable().page();
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
         .summary = "Make or change a rule; If-Match and If-None-Match are obeyed",
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
