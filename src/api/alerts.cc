// Alerts: what is wrong, and what can be watched.
#include "alerts/alerts.h"

#include <array>

#include "api/alerts_call.h"
#include "api/audit.h"
#include "api/call_body.h"
#include "api/reason_body.h"
#include "api/request_kinds.h"
#include "api/resources.h"
#include "api/schemas.h"

namespace takt::internal {
namespace {

void WriteAlert(JsonWriter& json, const Alert& alert, const Alerts& alerts) {
    json.BeginObject();
    WriteAlertFields(json, alert);
    const Time silenced = alerts.rules().silenced_until(alert.rule);
    json.Field("silenced_until", silenced > ReadClocks().wall ? silenced : Time{});
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

struct NoteBody {
    std::string note;
};

const RequestTable<NoteBody>& NoteFields() {
    static const RequestTable<NoteBody> fields = {
        {"note", "For others to read.",
         TakenBy<NoteBody>::Text(&NoteBody::note, kReasonBytesMax).Clears([](NoteBody& body) {
             body.note.clear();
         })}};
    return fields;
}

void AcknowledgeAlert(Call call) {
    auto body = ReadBody(call, NoteFields());
    if (!body) return call.RefuseRequest(body.error());
    WithAlerts(std::move(call), [note = std::move(body->note)](Call call, Alerts& alerts) mutable {
        const std::string id(call.request().Parameter("id"));
        ActPtr act =
            ActOf(call, {.target = {"alert", id}, .after = FieldsDocument({{"note", note}})});
        Acknowledgement by{call.who().name, ReadClocks().wall, std::move(note)};
        alerts.Acknowledge(id, std::move(by), std::move(act),
                           [call = std::move(call)](auto alert) mutable {
                               if (!alert) return call.RefuseAnswer(alert.error());
                               std::string body;
                               JsonWriter json(body);
                               WriteAlert(json, *alert, call.services().alerts);
                               call.Json(200, std::move(body));
                           });
    });
}

// --- Metrics ------------------------------------------------------------------------------------

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

}  // namespace

void AddAlertNoteSchema(SchemaList& to) {
    to.emplace_back("AlertNote", RequestSchema(NoteFields()));
}

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
    add(kGet, "/api/v1/alert-metrics", Permission::kViewer, ListMetrics, "What a rule may watch",
        "AlertMetricList");
}

}  // namespace takt::internal
