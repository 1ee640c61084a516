#include "sdk/operator_records.h"

#include <array>

#include "base/json.h"
#include "base/time.h"
#include "sdk/enum_names.h"
#include "sdk/records.h"

namespace takt {
namespace {

using internal::JsonWriter;

constexpr std::array<std::string_view, 3> kSeverities = {"info", "warning", "critical"};
constexpr std::array<std::string_view, 3> kAlertStates = {"pending", "firing", "resolved"};
constexpr std::array<std::string_view, 5> kBys = {"day", "hour", "task", "type", "worker"};

double Seconds(Duration duration) {
    return static_cast<double>(duration.count()) / 1000;
}

LockHolder ReadHolder(const JsonFields& fields) {
    const auto expires = fields.When("expires_at");
    return {.lock_id = fields.Text("lock_id"),
            .owner = fields.Text("owner"),
            .permits = fields.Count<std::uint32_t>("permits"),
            .token = fields.Count<std::uint64_t>("token"),
            .since = fields.When("since").value_or(Time{}),
            .until = expires ? expires : fields.When("until"),
            .execution_id = fields.Text("execution_id"),
            .attempt = fields.Count<std::uint32_t>("attempt"),
            .worker_id = fields.Text("worker_id")};
}

Spread ReadSpread(const JsonFields& fields) {
    return {.mean = fields.NumberIf("avg_ms"),
            .p50 = fields.NumberIf("p50_ms"),
            .p95 = fields.NumberIf("p95_ms"),
            .p99 = fields.NumberIf("p99_ms"),
            .max = fields.NumberIf("max_ms")};
}

std::optional<Duration> SpanIf(const JsonFields& fields, std::string_view name) {
    const internal::JsonView* value = fields.Find(name);
    if (!value || value->is_null()) return std::nullopt;
    return fields.Span(name);
}

void PutCount(JsonWriter& json, std::string_view key, std::uint64_t most) {
    json.Key(key);
    most > 0 ? json.Value(most) : json.Null();
}
void PutSpan(JsonWriter& json, std::string_view key, std::optional<Duration> span) {
    json.Key(key);
    span && *span != Duration(0) ? json.Value(Seconds(*span)) : json.Null();
}

}  // namespace

std::string_view Name(AlertSeverity severity) {
    return NameFrom(kSeverities, severity);
}
std::string_view Name(AlertState state) {
    return NameFrom(kAlertStates, state);
}
std::string_view Name(StatisticsBy by) {
    return NameFrom(kBys, by);
}

Queue ReadQueue(const JsonFields& fields) {
    const JsonFields rate = fields.Inner("rate_limit");
    Queue queue;
    queue.name = fields.Text("name");
    queue.paused = fields.Bool("paused");
    queue.waiting = fields.Count<std::uint64_t>("waiting");
    queue.working = fields.Count<std::uint64_t>("working");
    queue.finished = fields.Count<std::uint64_t>("finished");
    queue.finished_per_second = fields.NumberIf("finished_per_second");
    queue.oldest_wait = SpanIf(fields, "oldest_wait_seconds");
    queue.concurrency_max = fields.Count<std::uint32_t>("concurrency_max");
    queue.rate_limit.count = rate.Count<std::uint32_t>("count");
    if (queue.rate_limit.count != 0) queue.rate_limit.per = rate.Span("per");
    return queue;
}

std::string JsonOf(const QueueLimits& limits) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    if (limits.concurrency_max) PutCount(json, "concurrency_max", *limits.concurrency_max);
    if (limits.rate_limit) {
        json.Key("rate_limit");
        if (limits.rate_limit->count == 0) {
            json.Null();
        } else {
            json.BeginObject().Field("count", limits.rate_limit->count);
            json.Field("per", Seconds(limits.rate_limit->per)).EndObject();
        }
    }
    if (limits.paused) json.Field("paused", *limits.paused);
    json.EndObject();
    return body;
}

LockRecord ReadLock(const JsonFields& fields) {
    return {.name = fields.Text("name"),
            .permits = fields.Count<std::uint32_t>("permits"),
            .taken = fields.Count<std::uint32_t>("taken"),
            .waiting = fields.Count<std::uint64_t>("waiting"),
            .holders = ReadList<LockHolder>(fields, "holders", ReadHolder),
            .waiters = ReadList<LockHolder>(fields, "waiters", ReadHolder)};
}

AlertRuleRecord ReadAlertRule(const JsonFields& fields) {
    AlertRuleRecord rule;
    rule.name = fields.Text("name");
    rule.description = fields.Text("description");
    rule.metric = fields.Text("metric");
    rule.comparison = fields.Text("operator");
    rule.threshold = fields.Number("threshold");
    rule.subject = fields.Text("subject");
    rule.duration = fields.Span("duration");
    rule.severity = NamedIn<AlertSeverity>(kSeverities, fields.Text("severity"))
                        .value_or(AlertSeverity::kWarning);
    rule.enabled = fields.Bool("enabled");
    rule.channels = fields.Texts("channels");
    rule.builtin = fields.Bool("builtin");
    rule.version = fields.Count<std::uint32_t>("version");
    rule.silenced_until = fields.When("silenced_until");
    rule.state = NamedIn<AlertState>(kAlertStates, fields.Text("state"));
    rule.value = fields.NumberIf("value");
    return rule;
}

std::string JsonOf(const AlertRule& rule) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    if (!rule.description.empty()) json.Field("description", std::string_view(rule.description));
    json.Field("metric", std::string_view(rule.metric));
    json.Field("operator", std::string_view(rule.comparison)).Field("threshold", rule.threshold);
    if (!rule.subject.empty()) json.Field("subject", std::string_view(rule.subject));
    if (rule.duration != Duration(0)) json.Field("duration", Seconds(rule.duration));
    json.Field("severity", Name(rule.severity)).Field("enabled", rule.enabled);
    json.Key("channels").BeginArray();
    for (const std::string& channel : rule.channels) json.Value(std::string_view(channel));
    json.EndArray().EndObject();
    return body;
}

Alert ReadAlert(const JsonFields& fields) {
    Alert alert;
    alert.id = fields.Text("id");
    alert.rule = fields.Text("rule");
    alert.severity = NamedIn<AlertSeverity>(kSeverities, fields.Text("severity"))
                         .value_or(AlertSeverity::kWarning);
    alert.state =
        NamedIn<AlertState>(kAlertStates, fields.Text("state")).value_or(AlertState::kPending);
    alert.metric = fields.Text("metric");
    alert.comparison = fields.Text("operator");
    alert.threshold = fields.Number("threshold");
    alert.value = fields.Number("value");
    alert.firing_value = fields.NumberIf("firing_value");
    alert.subject = fields.Text("subject");
    alert.subject_name = fields.Text("subject_name");
    alert.message = fields.Text("message");
    alert.pending_at = fields.When("pending_at");
    alert.firing_at = fields.When("firing_at");
    alert.resolved_at = fields.When("resolved_at");
    alert.silenced_until = fields.When("silenced_until");
    const internal::JsonView* note = fields.Find("acknowledged");
    if (note && !note->is_null()) {
        const JsonFields inner(*note);
        alert.acknowledged =
            AlertNote{inner.Text("by"), inner.When("at").value_or(Time{}), inner.Text("note")};
    }
    return alert;
}

AlertChannel ReadAlertChannel(const JsonFields& fields) {
    AlertChannel channel;
    channel.name = fields.Text("name");
    channel.kind = fields.Text("kind");
    channel.target = fields.Text("target");
    channel.waiting = fields.Count<std::uint64_t>("waiting");
    const internal::JsonView* last = fields.Find("last_delivery");
    if (last && !last->is_null()) {
        const JsonFields inner(*last);
        channel.last_delivery =
            AlertDelivery{inner.When("at").value_or(Time{}), inner.Bool("ok"), inner.Text("error")};
    }
    return channel;
}

StatisticsLine ReadStatistics(const JsonFields& fields) {
    const auto count = [&](std::string_view name) { return fields.Count<std::uint64_t>(name); };
    StatisticsLine line;
    line.key = fields.Text("key");
    line.name = fields.Text("name");
    line.total = count("total");
    line.success = count("success");
    line.failed = count("failed");
    line.cancelled = count("cancelled");
    line.skipped = count("skipped");
    line.missed = count("missed");
    line.retries = count("retries");
    line.success_rate = fields.NumberIf("success_rate");
    line.duration = ReadSpread(fields.Inner("duration"));
    line.wait = ReadSpread(fields.Inner("wait"));
    line.last_status = ParseStatus(fields.Text("last_status"));
    line.last_at = fields.When("last_at");
    return line;
}

Series ReadSeries(const JsonFields& fields) {
    const auto read = [](const JsonFields& point) {
        const auto count = [&](std::string_view name) { return point.Count<std::uint64_t>(name); };
        return SeriesPoint{.at = point.When("at").value_or(Time{}),
                           .submitted = count("submitted"),
                           .completed = count("completed"),
                           .failed = count("failed"),
                           .retries = count("retries"),
                           .running = count("running"),
                           .pending = count("pending"),
                           .wait_p50 = point.NumberIf("wait_p50_ms"),
                           .wait_p99 = point.NumberIf("wait_p99_ms"),
                           .run_p50 = point.NumberIf("run_p50_ms"),
                           .run_p99 = point.NumberIf("run_p99_ms")};
    };
    return {.step = fields.Span("step"), .points = ReadList<SeriesPoint>(fields, "items", read)};
}

NamespaceRecord ReadNamespace(const JsonFields& fields) {
    const JsonFields quotas = fields.Inner("quotas");
    const JsonFields settings = fields.Inner("settings");
    const JsonFields leader = fields.Inner("leader");
    const auto quota = [&](std::string_view name) { return quotas.Count<std::uint64_t>(name); };
    NamespaceRecord space;
    space.name = fields.Text("name");
    space.quotas = {.executions_waiting = quota("executions_waiting"),
                    .submits_per_second = quota("submits_per_second"),
                    .payload_bytes = quota("payload_bytes"),
                    .workers = quota("workers"),
                    .log_bytes = quota("log_bytes"),
                    .retention = quotas.Span("retention")};
    space.settings.retention = SpanIf(settings, "retention");
    space.settings.audit_retention = SpanIf(settings, "audit_retention");
    space.settings.timeout = SpanIf(settings, "timeout");
    const internal::JsonView* retry = settings.Find("retry_policy");
    if (retry && !retry->is_null()) space.settings.retry_policy = ReadRetry(settings);
    space.settings.load_balance_strategy = settings.Text("strategy");
    space.number = fields.Count<std::uint32_t>("number");
    space.state = fields.Text("state");
    space.leader_node_id = leader.Text("node_id");
    space.leader_address = leader.Text("address");
    space.created_at = fields.When("created_at");
    return space;
}

std::string JsonOf(const Namespace& space, NamespaceBody kind) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    if (kind == NamespaceBody::kWhole) json.Field("name", std::string_view(space.name));
    json.Key("quotas").BeginObject();
    PutCount(json, "executions_waiting", space.quotas.executions_waiting);
    PutCount(json, "submits_per_second", space.quotas.submits_per_second);
    PutCount(json, "payload_bytes", space.quotas.payload_bytes);
    PutCount(json, "workers", space.quotas.workers);
    PutCount(json, "log_bytes", space.quotas.log_bytes);
    PutSpan(json, "retention", space.quotas.retention);
    json.EndObject().Key("settings").BeginObject();
    PutSpan(json, "retention", space.settings.retention);
    PutSpan(json, "audit_retention", space.settings.audit_retention);
    PutSpan(json, "timeout", space.settings.timeout);
    if (space.settings.retry_policy) {
        WriteRetry(json, *space.settings.retry_policy);
    } else {
        json.Key("retry_policy").Null();
    }
    json.Key("strategy");
    space.settings.load_balance_strategy.empty()
        ? json.Null()
        : json.Value(std::string_view(space.settings.load_balance_strategy));
    json.EndObject().EndObject();
    return body;
}

AuditEntry ReadAuditEntry(const JsonFields& fields) {
    const JsonFields target = fields.Inner("target");
    AuditEntry entry;
    entry.id = fields.Text("id");
    entry.at = fields.When("at").value_or(Time{});
    entry.name_space = fields.Text("namespace");
    entry.who = fields.Text("who");
    entry.token_id = fields.Text("token_id");
    entry.role = fields.Text("role");
    entry.action = fields.Text("action");
    entry.target_kind = target.Text("kind");
    entry.target_id = target.Text("id");
    entry.address = fields.Text("address");
    entry.via = fields.Text("via");
    entry.request_id = fields.Text("request_id");
    entry.refused = fields.Text("outcome") == "refused";
    entry.status = fields.Count<int>("status");
    entry.count = fields.Count<std::uint32_t>("count");
    entry.before = fields.Raw("before");
    entry.after = fields.Raw("after");
    entry.cut = fields.Bool("cut");
    return entry;
}

}  // namespace takt
