#include "takt/operator_api.h"

#include "base/json.h"
#include "sdk/calls.h"
#include "sdk/operator_records.h"
#include "sdk/own_names.h"
#include "sdk/questions.h"

namespace takt {

using internal::HttpMethod;
using internal::PathOf;

OperatorApi::OperatorApi(std::shared_ptr<Calls> calls) : calls_(std::move(calls)) {}
OperatorApi::~OperatorApi() = default;

// A name that is empty would be the address of the list.
static std::optional<Error> Unnamed(std::string_view name, std::string_view field) {
    if (!name.empty()) return std::nullopt;
    return Error{ErrorCode::kInvalid, std::string(field) + " is empty", std::string(field)};
}

Result<std::vector<Queue>> OperatorApi::ListQueues() {
    return GetList<Queue>(*calls_, "/api/v1/queues", ReadQueue);
}

Result<Queue> OperatorApi::GetQueue(std::string_view name) {
    if (auto error = Unnamed(name, "name")) return *error;
    return Get(*calls_, PathOf("queues", name), ReadQueue);
}

Result<Queue> OperatorApi::SetQueueLimits(std::string_view name, const QueueLimits& limits) {
    return PutTo(*calls_, PathOf("queues", name), JsonOf(limits), ReadQueue);
}

Result<Queue> OperatorApi::PauseQueue(std::string_view name) {
    return Post(*calls_, PathOf("queues", name, "pause"), {}, ReadQueue);
}

Result<Queue> OperatorApi::ResumeQueue(std::string_view name) {
    return Post(*calls_, PathOf("queues", name, "resume"), {}, ReadQueue);
}

Result<std::string> OperatorApi::ExplainQueue(std::string_view name) {
    return AskWhy(*calls_, "queues", name);
}

Result<Page<LockRecord>> OperatorApi::ListLocks(std::size_t limit, std::string_view cursor) {
    return GetPage<LockRecord>(
        *calls_,
        internal::WithQuery("/api/v1/locks",
                            {{"limit", std::to_string(limit)}, {"cursor", std::string(cursor)}}),
        ReadLock);
}

Result<LockRecord> OperatorApi::GetLock(std::string_view name) {
    if (auto error = Unnamed(name, "name")) return *error;
    return Get(*calls_, PathOf("locks", name), ReadLock);
}

Result<LockRecord> OperatorApi::SetLockPermits(std::string_view name, std::uint32_t permits) {
    return PutTo(*calls_, PathOf("locks", name), R"({"permits": )" + std::to_string(permits) + "}",
                 ReadLock);
}

Result<LockRecord> OperatorApi::TakeLockAway(std::string_view name, std::string_view lock_id) {
    return Ask(*calls_, HttpMethod::kDelete,
               internal::WithQuery(PathOf("locks", name), {{"lock_id", std::string(lock_id)}}), {},
               ReadLock);
}

Result<std::vector<AlertRuleRecord>> OperatorApi::ListAlertRules() {
    return GetList<AlertRuleRecord>(*calls_, "/api/v1/alert-rules", ReadAlertRule);
}

Result<AlertRuleRecord> OperatorApi::GetAlertRule(std::string_view name) {
    if (auto error = Unnamed(name, "name")) return *error;
    return Get(*calls_, PathOf("alert-rules", name), ReadAlertRule);
}

Result<AlertRuleRecord> OperatorApi::PutAlertRule(const AlertRule& rule) {
    if (auto error = Unnamed(rule.name, "name")) return *error;
    return InOwnNames(PutTo(*calls_, PathOf("alert-rules", rule.name), JsonOf(rule), ReadAlertRule),
                      {{"operator", "comparison"}});
}

Result<AlertRuleRecord> OperatorApi::PutAlertRule(const AlertRule& rule, std::uint32_t version) {
    if (auto error = Unnamed(rule.name, "name")) return *error;
    const auto answer = calls_->Call({HttpMethod::kPut,
                                      PathOf("alert-rules", rule.name),
                                      JsonOf(rule),
                                      {{"If-Match", "\"" + std::to_string(version) + "\""}}});
    return InOwnNames(ReadAnswer(answer, ReadAlertRule),
                      {{"operator", "comparison"}, {"If-Match", "version"}});
}

Result<void> OperatorApi::DeleteAlertRule(std::string_view name) {
    return Only(calls_->Call({HttpMethod::kDelete, PathOf("alert-rules", name)}));
}

Result<AlertRuleRecord> OperatorApi::SilenceAlertRule(std::string_view name, Duration duration) {
    const std::string path = PathOf("alert-rules", name, "silence");
    if (duration == Duration(0)) {
        return Ask(*calls_, HttpMethod::kDelete, path, {}, ReadAlertRule);
    }
    std::string body;
    internal::JsonWriter json(body);
    json.BeginObject().Field("duration", static_cast<double>(duration.count()) / 1000).EndObject();
    return Post(*calls_, path, body, ReadAlertRule);
}

Result<std::vector<Alert>> OperatorApi::ListAlerts(std::optional<AlertState> state) {
    return GetList<Alert>(
        *calls_,
        internal::WithQuery("/api/v1/alerts",
                            {{"state", state ? std::string(Name(*state)) : std::string()}}),
        ReadAlert);
}

Result<Alert> OperatorApi::AcknowledgeAlert(std::string_view id, std::string_view note) {
    return Post(*calls_, PathOf("alerts", id, "acknowledge"), Small("note", note), ReadAlert);
}

Result<std::vector<AlertMetric>> OperatorApi::ListAlertMetrics() {
    return GetList<AlertMetric>(*calls_, "/api/v1/alert-metrics", [](const JsonFields& fields) {
        return AlertMetric{fields.Text("name"), fields.Text("unit"), fields.Text("help"),
                           fields.Text("subject")};
    });
}

Result<std::vector<AlertChannel>> OperatorApi::ListAlertChannels() {
    return GetList<AlertChannel>(*calls_, "/api/v1/alert-channels", ReadAlertChannel);
}

Result<void> OperatorApi::TestAlertChannel(std::string_view name) {
    const auto error =
        Post(*calls_, PathOf("alert-channels", name, "test"), {}, [](const JsonFields& fields) {
            return fields.Bool("ok") ? std::string() : "not told: " + fields.Text("error");
        });
    if (!error) return error.error();
    if (error->empty()) return {};
    return Error{ErrorCode::kUnavailable, *error, {}};
}

Result<std::vector<StatisticsLine>> OperatorApi::GetStatistics(const StatisticsQuery& query) {
    return GetList<StatisticsLine>(
        *calls_,
        internal::WithQuery("/api/v1/statistics", {{"by", std::string(Name(query.by))},
                                                   {"from", TimeText(query.from)},
                                                   {"to", TimeText(query.to)},
                                                   {"task_id", query.task_id},
                                                   {"type", query.type}}),
        ReadStatistics);
}

Result<Series> OperatorApi::GetSeries(std::uint32_t minutes) {
    return Get(*calls_, "/api/v1/statistics/series?minutes=" + std::to_string(minutes), ReadSeries);
}

Result<std::vector<NamespaceRecord>> OperatorApi::ListNamespaces() {
    return GetList<NamespaceRecord>(*calls_, "/api/v1/namespaces", ReadNamespace);
}

Result<NamespaceRecord> OperatorApi::GetNamespace(std::string_view name) {
    if (auto error = Unnamed(name, "name")) return *error;
    return Get(*calls_, PathOf("namespaces", name), ReadNamespace);
}

Result<NamespaceRecord> OperatorApi::CreateNamespace(const Namespace& space) {
    return Post(*calls_, "/api/v1/namespaces", JsonOf(space, NamespaceBody::kWhole), ReadNamespace);
}

Result<NamespaceRecord> OperatorApi::UpdateNamespace(const Namespace& space) {
    if (auto error = Unnamed(space.name, "name")) return *error;
    return Ask(*calls_, HttpMethod::kPatch, PathOf("namespaces", space.name),
               JsonOf(space, NamespaceBody::kChange), ReadNamespace);
}

Result<NamespaceRecord> OperatorApi::DeleteNamespace(std::string_view name) {
    if (auto error = Unnamed(name, "name")) return *error;
    return Ask(*calls_, HttpMethod::kDelete,
               internal::WithQuery(PathOf("namespaces", name), {{"confirm", std::string(name)}}),
               {}, ReadNamespace);
}

Result<Page<AuditEntry>> OperatorApi::ListAudit(const AuditFilter& filter) {
    const std::string outcome = !filter.refused ? "" : *filter.refused ? "refused" : "done";
    return GetPage<AuditEntry>(
        *calls_,
        internal::WithQuery("/api/v1/audit", {{"since", TimeText(filter.since)},
                                              {"until", TimeText(filter.until)},
                                              {"who", filter.who},
                                              {"action", filter.action},
                                              {"target", filter.target},
                                              {"outcome", outcome},
                                              {"limit", std::to_string(filter.limit)},
                                              {"cursor", filter.cursor}}),
        ReadAuditEntry);
}

Result<std::string> OperatorApi::CallRest(std::string_view method, std::string_view path,
                                          std::string_view body) {
    const auto known = internal::ParseHttpMethod(method);
    if (!known) {
        return Error{ErrorCode::kInvalid,
                     "'" + std::string(method) + "' is not GET, POST, PUT, PATCH or DELETE",
                     "method"};
    }
    if (!path.starts_with('/')) {
        return Error{ErrorCode::kInvalid, "an address begins with '/', as /api/v1/tokens", "path"};
    }
    return ResultOf(calls_->Call({*known, std::string(path), std::string(body)}));
}

}  // namespace takt
