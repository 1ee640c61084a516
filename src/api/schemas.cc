#include "api/schemas.h"

#include "api/step_json.h"

#include "api/execution_json.h"
#include "api/json_schema.h"
#include "api/retry_policy_json.h"
#include "api/task_field.h"
#include "api/worker_json.h"

namespace takt::internal {
namespace {

using schema::Bool;
using schema::Integer;
using schema::ListOf;
using schema::Number;
using schema::Object;
using schema::OneOf;
using schema::OrNull;
using schema::PageOf;
using schema::Reference;

std::string Counts(const std::vector<std::string_view>& names) {
    Object object;
    for (const std::string_view name : names) object.Add(name, OrNull(Number()));
    return object.Text();
}

void AddTasks(SchemaList& to) {
    to.emplace_back("Task", TaskAnswerSchema());
    to.emplace_back("TaskRequest", TaskRequestSchema());
    to.emplace_back("TaskChange", TaskChangeSchema());
    to.emplace_back("TaskList", PageOf("Task"));
    to.emplace_back("Preview", PreviewSchema());
    to.emplace_back("Fires", Object()
                                 .Add("task_id", schema::Text(), false)
                                 .Add("description", schema::Text(), false)
                                 .Add("description_zh", schema::Text(), false)
                                 .Add("fires", ListOf(schema::Time()))
                                 .Text());
    to.emplace_back("Bulk",
                    R"({"oneOf":[{"type":"array","maxItems":10000,"items":{"$ref":
"#/components/schemas/TaskRequest"}},{"type":"object","properties":{"tasks":{"type":"array","items":{
"$ref":"#/components/schemas/TaskRequest"}}},"required":["tasks"]}]})");
    to.emplace_back("BulkAnswer", Object()
                                      .Add("created", Integer(0))
                                      .Add("existing", Integer(0))
                                      .Add("failed", Integer(0))
                                      .Add("items", TouchedSchema())
                                      .Text());
}

void AddExecutions(SchemaList& to) {
    to.emplace_back("Step", StepAnswerSchema());
    to.emplace_back("StepRequest", StepRequestSchema());
    AddExecutionCountSchemas(to);
    AddRunSchemas(to);
    AddBackfillSchemas(to);
    to.emplace_back("Execution", ExecutionSchema());
    to.emplace_back("ExecutionList",
                    Object()
                        .Add("searched_to", OrNull(schema::Time()), false)
                        .Add("parameters_searched_to", OrNull(schema::Time()), false)
                        .Add("items", ListOf(Reference("Execution")))
                        .Add("next_cursor", OrNull(schema::Text()))
                        .Text());
    to.emplace_back("LogChunk", Object()
                                    .Add("attempt", Integer(0))
                                    .Add("at", schema::Time())
                                    .Add("lines", schema::Text())
                                    .Add("id", schema::Text())
                                    .Text());
    to.emplace_back("Log", PageOf("LogChunk"));
    to.emplace_back(
        "Explanation",
        Object()
            .Add("execution_id", schema::Text(), false)
            .Add("task_id", schema::Text(), false)
            .Add("queue", schema::Text(), false)
            .Add("worker_id", schema::Text(), false)
            .Add("code", schema::Text())
            .Add("explanation", schema::Text())
            .Add("values",
                 schema::Described(
                     R"({"type":"object","additionalProperties":{"type":["string","integer"]}})",
                     "What the explanation names: with the code, enough to say it in another "
                     "language."))
            .Text());
}

void AddFleet(SchemaList& to) {
    to.emplace_back("Worker", WorkerSchema());
    to.emplace_back("WorkerCapacity", WorkerCapacitySchema());
    to.emplace_back("WorkerList", PageOf("Worker"));
    to.emplace_back("Callback",
                    R"({"type":"object","required":["status"],"properties":{"status":{"enum":[
"success","completed","failed"]},"result":{},"error":{"type":["string","object"]},"retryable":{
"type":"boolean"},"log":{"type":["string","array"],"items":{"type":"string"}},"callback_token":{
"type":"string"},"token":{"type":"string"},"execution_id":{"type":"string"}},
"additionalProperties":false})");
    to.emplace_back("ExecutorNews",
                    R"({"type":"object","properties":{"lines":{"type":["string","array"],"items":{
"type":"string"}},"progress":{"type":"object","required":["percent"],"properties":{"percent":{"type":
"number","minimum":0,"maximum":100},"message":{"type":"string"}},"additionalProperties":false},
"callback_token":{"type":"string"},"token":{"type":"string"}},"additionalProperties":false})");
    to.emplace_back("CallbackAnswer", Object()
                                          .Add("execution_id", schema::Text())
                                          .Add("accepted", Bool())
                                          .Add("status", OneOf({"success", "failed"}), false)
                                          .Text());
    to.emplace_back("StepResults", Object()
                                       .Add("total", schema::Integer(0))
                                       .Add("list", Bool())
                                       .Add("items", ListOf("{}"))
                                       .Add("next", OrNull(schema::Integer(0)))
                                       .Text());
}

void AddSchedulerStatus(SchemaList& to) {
    const std::string node = Object()
                                 .Add("node_id", schema::Text())
                                 .Add("address", schema::Text())
                                 .Add("version", schema::Text())
                                 .Add("started_at", OrNull(schema::Time()))
                                 .Add("leads", ListOf(schema::Text()))
                                 .Text();
    const std::string leader = Object()
                                   .Add("node_id", schema::Text())
                                   .Add("address", schema::Text())
                                   .Add("epoch", Integer(0))
                                   .Text();
    const std::string room = Object()
                                 .Add("bytes", Integer(0))
                                 .Add("bytes_max", OrNull(Integer(0)))
                                 .Add("bound", schema::Text())
                                 .Text();
    const std::string store = Object()
                                  .Add("description", schema::Text())
                                  .Add("reachable", Bool())
                                  .Add("trouble", schema::Text())
                                  .Add("commits", Integer(0))
                                  .Add("changes", Integer(0))
                                  .Add("room", OrNull(room))
                                  .Text();
    to.emplace_back("SchedulerStatus",
                    Object()
                        .Add("node_id", schema::Text())
                        .Add("role", OneOf({"follower", "loading", "leader", "stopped"}))
                        .Add("is_leader", Bool())
                        .Add("leader", OrNull(leader))
                        .Add("why_no_leader", OrNull(schema::Text()))
                        .Add("epoch", Integer(0))
                        .Add("elections", Integer(0))
                        .Add("version", schema::Text())
                        .Add("started_at", OrNull(schema::Time()))
                        .Add("now", schema::Time())
                        .Add("uptime_seconds", Integer())
                        .Add("retention", OrNull(schema::Text()))
                        .Add("store", store)
                        .Add("nodes", ListOf(node), false)
                        .Text());
}

void AddMetrics(SchemaList& to) {
    Object metrics;
    for (const std::string_view count :
         {"tasks_total", "tasks_pending", "tasks_scheduled", "tasks_running", "tasks_retrying",
          "tasks_completed", "tasks_failed", "tasks_cancelled", "workers_online",
          "workers_draining", "workers_offline"}) {
        metrics.Add(count, Integer(0));
    }
    to.emplace_back(
        "Metrics",
        metrics.Add("worker_utilization", Number())
            .Add("task_throughput", Number())
            .Add("scheduler_uptime", Integer())
            .Add("tasks_ready",
                 schema::Described(
                     R"({"type":"array","minItems":10,"maxItems":10,"items":{"type":"integer"}})",
                     "Executions that could start now: how many of each priority, from 0 to 9."))
            .Text());
}

void AddScheduler(SchemaList& to) {
    AddSchedulerStatus(to);
    to.emplace_back("Defaults", Object()
                                    .Add("timeout", schema::Duration())
                                    .Add("retry_policy", RetryPolicySchema())
                                    .Add("strategy", schema::Text())
                                    .Text());
    to.emplace_back(
        "Strategy",
        Object().Add("strategy", schema::Text()).Add("available", ListOf(schema::Text())).Text());
    to.emplace_back("ComingFire", Object()
                                      .Add("at", schema::Time())
                                      .Add("task_id", schema::Text())
                                      .Add("task_name", schema::Text())
                                      .Add("type", schema::Text())
                                      .Add("queue", schema::Text())
                                      .Add("cron_expression", schema::Text(), false)
                                      .Add("interval", schema::Duration(), false)
                                      .Add("interval_after_end", schema::Duration(), false)
                                      .Add("timezone", schema::Text())
                                      .Text());
    to.emplace_back("ComingFireList", PageOf("ComingFire"));
    to.emplace_back("Health", Object()
                                  .Add("status", schema::Text())
                                  .Add("trouble",
                                       schema::Described(schema::Text(),
                                                         "Why no new task is taken, although all "
                                                         "else goes on: the store is full."),
                                       false)
                                  .Text());
    to.emplace_back("Version",
                    Object().Add("name", schema::Text()).Add("version", schema::Text()).Text());
    AddMetrics(to);
}
void AddAlerts(SchemaList& to) {
    const std::string operators = OneOf({">", ">=", "<", "<=", "==", "!="});
    const std::string acknowledged = Object()
                                         .Add("by", schema::Text())
                                         .Add("at", schema::Time())
                                         .Add("note", schema::Text())
                                         .Text();
    to.emplace_back("Alert", Object()
                                 .Add("id", schema::Text())
                                 .Add("rule", schema::Text())
                                 .Add("severity", OneOf({"info", "warning", "critical"}))
                                 .Add("state", OneOf({"pending", "firing", "resolved"}))
                                 .Add("metric", schema::Text())
                                 .Add("operator", operators)
                                 .Add("threshold", Number())
                                 .Add("value", OrNull(Number()))
                                 .Add("firing_value", OrNull(Number()))
                                 .Add("subject", schema::Text())
                                 .Add("subject_name", schema::Text())
                                 .Add("message", schema::Text())
                                 .Add("pending_at", OrNull(schema::Time()))
                                 .Add("firing_at", OrNull(schema::Time()))
                                 .Add("resolved_at", OrNull(schema::Time()))
                                 .Add("acknowledged", OrNull(acknowledged))
                                 .Add("silenced_until", OrNull(schema::Time()))
                                 .Text());
    to.emplace_back("AlertList", PageOf("Alert"));
    to.emplace_back("AlertMetric", Object()
                                       .Add("name", schema::Text())
                                       .Add("unit", schema::Text())
                                       .Add("help", schema::Text())
                                       .Add("subject", OneOf({"", "task", "worker", "queue"}))
                                       .Text());
    to.emplace_back("AlertMetricList", PageOf("AlertMetric"));
}

void AddStatistics(SchemaList& to) {
    Object line;
    line.Add("key", schema::Text()).Add("name", schema::Text());
    for (const std::string_view count :
         {"total", "success", "failed", "cancelled", "skipped", "missed", "retries"}) {
        line.Add(count, Integer(0));
    }
    line.Add("success_rate", OrNull(Number()));
    line.Add("duration", Counts({"avg_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"}));
    line.Add("wait", Counts({"avg_ms", "p95_ms"}));
    line.Add("last_status", OrNull(StatusSchema())).Add("last_at", OrNull(schema::Time()));
    to.emplace_back("StatisticsLine", line.Text());
    to.emplace_back("Statistics", PageOf("StatisticsLine"));
    Object point;
    point.Add("at", schema::Time());
    for (const std::string_view count :
         {"submitted", "completed", "failed", "retries", "running", "pending"}) {
        point.Add(count, Integer(0));
    }
    for (const std::string_view quantile :
         {"wait_p50_ms", "wait_p99_ms", "run_p50_ms", "run_p99_ms"}) {
        point.Add(quantile, OrNull(Number()));
    }
    to.emplace_back("SeriesPoint", point.Text());
    to.emplace_back(
        "Series",
        Object().Add("step", schema::Text()).Add("items", ListOf(Reference("SeriesPoint"))).Text());
    Object queue_point;
    queue_point.Add("at", schema::Time());
    for (const std::string_view count :
         {"waiting", "working", "oldest_wait_ms", "finished", "failed"}) {
        queue_point.Add(count, Integer(0));
    }
    queue_point.Add("wait_p95_ms", OrNull(Number()));
    to.emplace_back("QueuePoint", queue_point.Text());
    to.emplace_back("QueueHistory", Object()
                                        .Add("step", schema::Text())
                                        .Add("kept", Bool())
                                        .Add("items", ListOf(Reference("QueuePoint")))
                                        .Text());
}

}  // namespace

std::string TouchedSchema() {
    return ListOf(Object()
                      .Add("id", schema::Text(), false)
                      .Add("status", Integer())
                      .Add("problem", Reference("Problem"), false)
                      .Text());
}

std::span<const std::pair<std::string_view, std::string>> Schemas() {
    static const SchemaList schemas = [] {
        SchemaList made;
        made.emplace_back("Problem", Object()
                                         .Add("type", schema::Text())
                                         .Add("title", schema::Text())
                                         .Add("status", Integer())
                                         .Add("code", schema::Text())
                                         .Add("detail", schema::Text())
                                         .Add("field", schema::Text(), false)
                                         .Add("request_id", schema::Text(), false)
                                         .Add("holders", ListOf(Reference("LockHolder")), false)
                                         .Text());
        AddTasks(made);
        AddTaskActionSchemas(made);
        AddTaskValidationSchemas(made);
        AddExecutions(made);
        AddExecutionActionSchemas(made);
        AddFleet(made);
        AddExecutorSchemas(made);
        AddQueueSchemas(made);
        AddDefinitionSchemas(made);
        AddOwnerSchemas(made);
        AddLockSchemas(made);
        AddScheduler(made);
        AddStrategySchemas(made);
        AddAlerts(made);
        AddAlertNoteSchema(made);
        AddAlertRuleSchemas(made);
        AddAlertChannelSchemas(made);
        AddStatistics(made);
        AddTokenSchemas(made);
        AddAuditSchemas(made);
        AddRefusalSchemas(made);
        AddMeSchemas(made);
        AddSignInSchemas(made);
        AddNamespaceSchemas(made);
        made.emplace_back("OpenApi", R"({"type":"object"})");
        return made;
    }();
    return schemas;
}

}  // namespace takt::internal
