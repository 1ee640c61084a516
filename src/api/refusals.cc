#include "api/refusals.h"

#include <utility>

#include "api/audit.h"
#include "api/call_body.h"
#include "api/passed_on.h"
#include "api/request_kinds.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "base/log.h"

namespace takt::internal {
namespace {

constexpr Duration kGathered{60'000};
constexpr std::size_t kRefusalTextBytesMax = 500;
constexpr std::string_view kReportPath = "/audit/refusals";

// A refusal as one scheduler tells it another.
struct RefusalReport {
    std::string who, token_id, role, action, path, address, request_id;
    std::uint32_t status = 403;
    std::uint32_t count = 1;
};

const RequestTable<RefusalReport>& ReportFields() {
    using Take = TakenBy<RefusalReport>;
    const auto text = [](std::string RefusalReport::* place) {
        return Take::Text(place, kRefusalTextBytesMax);
    };
    static const RequestTable<RefusalReport> fields = {
        {"who", "The name of the token.", text(&RefusalReport::who).Required()},
        {"token_id", "", text(&RefusalReport::token_id).Required()},
        {"role", "", text(&RefusalReport::role)},
        {"action", "The operationId of the address.", text(&RefusalReport::action).Required()},
        {"path", "The last one that was asked for.", text(&RefusalReport::path)},
        {"address", "From where.", text(&RefusalReport::address)},
        {"request_id", "Of the last one.", text(&RefusalReport::request_id)},
        {"status", "Of the last one.", Take::Count(&RefusalReport::status, {400, 599})},
        {"count", "How often.", Take::Count(&RefusalReport::count, {1, 1'000'000'000})}};
    return fields;
}

void WriteRefusals(const std::shared_ptr<Gate>& gate);

void Gather(const std::shared_ptr<Gate>& gate, AuditEntry refusal) {
    if (!gate->family->refusals.Add(std::move(refusal)) || !gate->after) return;
    gate->post([gate] { gate->after(kGathered, [gate] { WriteRefusals(gate); }); });
}

// To the leader, which adds it to its own.
void Report(Gate& gate, const NodeStatus& status, const AuditEntry& refusal) {
    const Act& act = refusal.act;
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    const auto field = [&](std::string_view name, const std::string& text) {
        if (!text.empty()) json.Field(name, std::string_view(text));
    };
    field("who", act.who);
    field("token_id", act.token_id);
    field("role", act.role);
    field("action", act.action);
    field("path", act.change.target.id);
    field("address", act.address);
    field("request_id", act.request_id);
    json.Field("status", refusal.status).Field("count", refusal.refusals).EndObject();
    HttpRequest request{.method = HttpMethod::kPost};
    request.raw_path = "/api/v1/namespaces/" + act.space + std::string(kReportPath);
    request.body = std::move(body);
    request.remote_address = act.address;
    request.request_id = act.request_id;
    request.headers.Add("Content-Type", "application/json");
    request.headers.Add(kForwarded, ForwardedBy(status, request));
    gate.forward(std::move(request), status.leader->address, [](const HttpResponse& answer) {
        if (answer.status < 300) return;
        Log(LogLevel::kWarning, "api", "the leader did not take a refusal for the audit",
            {{"status", answer.status}, {"answer", answer.body}});
    });
}

void WriteRefusals(const std::shared_ptr<Gate>& gate) {
    for (AuditEntry& refusal : gate->family->refusals.TakeAll()) {
        const auto found = gate->realms.find(refusal.act.space);
        if (found == gate->realms.end()) continue;  // It is gone with its audit.
        Node& node = found->second->node;
        const NodeStatus status = node.status();
        if (status.role == Role::kLeader) {
            node.Tell(NoteRefusal{.entry = std::move(refusal)});
        } else if (gate->forward && status.leader && status.leader->nonce != 0 &&
                   !status.leader->address.empty()) {
            Report(*gate, status, refusal);
        } else {
            Gather(gate, std::move(refusal));
        }
    }
}

void TakeReport(Call call) {
    Services& services = call.services();
    const NodeStatus status = services.node.status();
    const auto passed = ReadForwarded(status, call.request());
    if (!passed || status.role != Role::kLeader) {
        return call.Refuse({403, "forbidden", "schedulers tell this to their leader, nobody else"});
    }
    auto report = ReadBody(call, ReportFields());
    if (!report) return call.RefuseRequest(report.error());
    Gather(services.gate, {.act = {.who = std::move(report->who),
                                   .token_id = std::move(report->token_id),
                                   .role = std::move(report->role),
                                   .action = std::move(report->action),
                                   .space = services.name,
                                   .address = std::move(report->address),
                                   .via = passed->node,
                                   .request_id = std::move(report->request_id),
                                   .change = {.target = {"path", std::move(report->path)}}},
                           .refusals = report->count,
                           .status = report->status});
    call.Send({.status = 204});
}

}  // namespace

void CountRefusal(const std::shared_ptr<Services>& realm, const RefusedCall& refused) {
    if (refused.who.token_id.empty() || refused.status != 403) return;
    Act act = MakeAct(*realm, refused.route, refused.request, refused.who);
    act.change.target = {"path", refused.request.path.substr(0, kRefusalTextBytesMax)};
    Gather(realm->gate, {.act = std::move(act),
                         .refusals = 1,
                         .status = static_cast<std::uint32_t>(refused.status)});
}

void AddRefusalSchemas(SchemaList& to) {
    to.emplace_back("RefusalReport", RequestSchema(ReportFields()));
}

void AddRefusalRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/audit/refusals",
                      .permission = Permission::kNone,
                      .handler = TakeReport,
                      .tag = "audit",
                      .summary = "Between schedulers: somebody was refused; signed with the term",
                      .takes = "RefusalReport",
                      .success = 204});
}

}  // namespace takt::internal
