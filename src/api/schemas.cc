#include "api/schemas.h"

#include <array>

namespace takt::internal {
namespace {

#define TAKT_LIST(item)                                                                        \
    R"({"type":"object","properties":{"items":{"type":"array","items":{"$ref":"#/components/)" \
    R"(schemas/)" item R"("}},"next_cursor":{"type":["string","null"]}}})"

constexpr std::array<std::pair<std::string_view, std::string_view>, 57> kSchemas = {{
    {"Problem",
     R"({"type":"object","properties":{"type":{"type":"string"},"title":{"type":"string"},
"status":{"type":"integer"},"code":{"type":"string"},"detail":{"type":"string"},
"field":{"type":"string"},"request_id":{"type":"string"}}})"},
    {"TaskList", TAKT_LIST("Task")},
    {"Trigger",
     R"({"type":"object","properties":{"parameters":{"description":"Instead of the task's."},
"payload":{"description":"The same as parameters."},"force":{"type":"boolean",
"description":"Whatever the execution mode says."}},"additionalProperties":false})"},
    {"Preview",
     R"({"type":"object","description":"The fields of a task that say when it fires.","properties":{
"cron_expression":{"type":"string"},"timezone":{"type":"string"},"interval":{"type":["string",
"number"]},"start_at":{"type":"string","format":"date-time"},"end_at":{"type":"string",
"format":"date-time"},"count":{"type":"integer","minimum":1,"maximum":1000},"after":{"type":
"string","format":"date-time"}}})"},
    {"Fires",
     R"({"type":"object","properties":{"task_id":{"type":"string"},"description":{"type":"string"},
"description_zh":{"type":"string"},"fires":{"type":"array","items":{"type":"string",
"format":"date-time"}}}})"},
    {"Bulk",
     R"({"oneOf":[{"type":"array","maxItems":10000,"items":{"$ref":"#/components/schemas/Task"}},
{"type":"object","properties":{"tasks":{"type":"array","items":{"$ref":
"#/components/schemas/Task"}}},"required":["tasks"]}]})"},
    {"BulkAnswer",
     R"({"type":"object","properties":{"created":{"type":"integer"},"existing":{"type":"integer"},
"failed":{"type":"integer"},"items":{"type":"array","items":{"type":"object","properties":{
"id":{"type":"string"},"status":{"type":"integer"},"problem":{"$ref":
"#/components/schemas/Problem"}}}}}})"},
    {"Execution",
     R"({"type":"object","properties":{"id":{"type":"string"},"task_id":{"type":"string"},
"task_name":{"type":"string"},"type":{"type":"string"},"queue":{"type":"string"},
"priority":{"type":"integer"},"status":{"enum":["pending","scheduled","running","retrying",
"success","failed","cancelled","skipped"]},"origin":{"enum":["once","fire","trigger"]},
"attempt":{"type":"integer"},"failures":{"type":"integer"},"losses":{"type":"integer"},
"worker_id":{"type":["string","null"]},"created_at":{"type":"string","format":"date-time"},
"scheduled_at":{"type":"string","format":"date-time"},"ready_at":{"type":"string",
"format":"date-time"},"started_at":{"type":["string","null"],"format":"date-time"},
"finished_at":{"type":["string","null"],"format":"date-time"},"result":{},"error":{"type":
["object","null"],"properties":{"code":{"type":"string"},"message":{"type":"string"},
"handler_code":{"type":"integer"}}},"parameters":{},"progress":{"type":["object","null"],
"properties":{"percent":{"type":"number"},"message":{"type":"string"},"at":{"type":"string",
"format":"date-time"}}},"attempts":{"type":"array","items":{"type":"object","properties":{"attempt":{
"type":"integer"},"worker_id":{"type":["string","null"]},"started_at":{"type":["string","null"]},
"finished_at":{"type":["string","null"]},"status":{"type":"string"},"error":{"type":["object","null"
]}}}},"trace_id":{"type":["string","null"]}}})"},
    {"ExecutionList", TAKT_LIST("Execution")},
    {"ExecutionFilter",
     R"({"type":"object","properties":{"task_id":{"type":"string"},"status":{"type":"string"},
"worker_id":{"type":"string"},"type":{"type":"string"},"queue":{"type":"string"},
"from":{"type":"string","format":"date-time"},"to":{"type":"string","format":"date-time"},
"limit":{"type":"integer","minimum":1,"maximum":1000},"cursor":{"type":"string","description":
"next_cursor of the call before: goes on with older ones."}},"additionalProperties":false})"},
    {"SweepAnswer",
     R"({"type":"object","properties":{"matched":{"type":"integer"},"changed":{"type":"integer"},
"more":{"type":"boolean"},"items":{"type":"array","items":{"type":"object","properties":{
"id":{"type":"string"},"status":{"type":"integer"},"problem":{"$ref":
"#/components/schemas/Problem"}}}},"next_cursor":{"type":["string","null"]}}})"},
    {"Reason",
     R"({"type":"object","properties":{"reason":{"type":"string","maxLength":1000}},
"additionalProperties":false})"},
    {"Conclusion",
     R"({"type":"object","required":["status"],"properties":{"status":{"enum":["success","failed",
"cancelled"]},"message":{"type":"string"},"result":{}},"additionalProperties":false})"},
    {"LogChunk",
     R"({"type":"object","properties":{"attempt":{"type":"integer"},"at":{"type":"string",
"format":"date-time"},"lines":{"type":"string"}}})"},
    {"Log", TAKT_LIST("LogChunk")},
    {"Explanation",
     R"({"type":"object","properties":{"execution_id":{"type":"string"},"code":{"type":"string"},
"explanation":{"type":"string"},"values":{"type":"object","description":
"What the explanation names: with the code, enough to say it in another language.",
"additionalProperties":{"type":["string","integer"]}}}})"},
    {"Worker",
     R"({"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},
"status":{"enum":["online","offline","draining","maintenance"]},"status_reason":{"type":"string"},
"link":{"enum":["stream","push"]},"connected":{"type":"boolean"},"group":{"type":"string"},
"types":{"type":"array","items":{"type":"string"}},"queues":{"type":"array","items":{"type":
"string"}},"labels":{"type":"object"},"capacity":{"type":"integer"},"weight":{"type":"integer"},
"running":{"type":"integer"},"address":{"type":"string"},"version":{"type":"string"},
"joined_at":{"type":"string","format":"date-time"},"seen_at":{"type":"string",
"format":"date-time"},"load":{"type":"object"}}})"},
    {"WorkerList", TAKT_LIST("Worker")},
    {"Registration",
     R"({"type":"object","required":["name","instance_id","base_url"],"properties":{"name":{"type":
"string"},"instance_id":{"type":"string"},"base_url":{"type":"string","format":"uri"},
"health_check_url":{"type":"string","format":"uri"},"tasks":{"type":"array","maxItems":1000,"items":
{"type":"object","required":["task_name"],"properties":{"task_name":{"type":"string"}}}},"capacity":
{"type":"integer","minimum":1},"weight":{"type":"integer","minimum":1},"labels":{"type":"object"},
"process_id":{"type":"string"}},"additionalProperties":false})"},
    {"Executor",
     R"({"type":"object","properties":{"id":{"type":"string"},"instance_id":{"type":"string"},"name":{
"type":"string"},"base_url":{"type":"string"},"health_check_url":{"type":"string"},"status":{"enum":[
"online","offline","draining","maintenance"]},"status_reason":{"type":"string"},"types":{"type":
"array","items":{"type":"string"}},"capacity":{"type":"integer"},"weight":{"type":"integer"},
"running":{"type":"integer"},"labels":{"type":"object"},"circuit":{"enum":["closed","open",
"half_open"]},"health":{"type":"object"},"registered_at":{"type":"string","format":"date-time"},
"seen_at":{"type":"string","format":"date-time"},"tasks":{"type":"array","items":{"type":"object"}}}})"},
    {"ExecutorList", TAKT_LIST("Executor")},
    {"ExecutorLoad",
     R"({"type":"object","properties":{"cpu":{"type":"number","minimum":0,"maximum":1},"memory":{
"type":"number","minimum":0,"maximum":1},"connections":{"type":"integer"},"draining":{"type":
"boolean"}},"additionalProperties":false})"},
    {"ExecutorStatus",
     R"({"type":"object","required":["status"],"properties":{"status":{"enum":["online",
"maintenance","offline"]},"reason":{"type":"string"}},"additionalProperties":false})"},
    {"Callback",
     R"({"type":"object","required":["status"],"properties":{"status":{"enum":["success","completed",
"failed"]},"result":{},"error":{"type":["string","object"]},"retryable":{"type":"boolean"},"log":{
"type":["string","array"],"items":{"type":"string"}},"token":{"type":"string"},"execution_id":{
"type":"string"}},"additionalProperties":false})"},
    {"ExecutorNews",
     R"({"type":"object","properties":{"lines":{"type":["string","array"],"items":{"type":"string"}},
"progress":{"type":"object","required":["percent"],"properties":{"percent":{"type":"number",
"minimum":0,"maximum":100},"message":{"type":"string"}},"additionalProperties":false},"token":{
"type":"string"}},"additionalProperties":false})"},
    {"CallbackAnswer",
     R"({"type":"object","properties":{"execution_id":{"type":"string"},"accepted":{"type":
"boolean"},"status":{"type":"string"}}})"},
    {"Queue",
     R"({"type":"object","properties":{"name":{"type":"string"},"paused":{"type":"boolean"},
"waiting":{"type":"integer"},"working":{"type":"integer"},"finished":{"type":"integer",
"description":"Since this leader began; skipped ones do not count."},"finished_per_second":{"type":
["number","null"],"description":"Over metrics.interval; null if there are too many queues to tell."},
"oldest_wait_seconds":{"type":["number","null"]},"concurrency_max":{"type":["integer","null"]},
"rate_limit":{"type":["object","null"]}}})"},
    {"QueueList", TAKT_LIST("Queue")},
    {"QueueLimits",
     R"({"type":"object","properties":{"paused":{"type":"boolean"},"concurrency_max":{"type":
["integer","null"]},"rate_limit":{"type":["object","null"],"properties":{"count":{"type":
"integer"},"per":{"type":["string","number"]}}}},"additionalProperties":false})"},
    {"SchedulerStatus",
     R"({"type":"object","properties":{"node_id":{"type":"string"},"role":{"enum":["follower",
"loading","leader","stopped"]},"is_leader":{"type":"boolean"},"leader":{"type":["object","null"],
"properties":{"node_id":{"type":"string"},"address":{"type":"string"},"epoch":{"type":
"integer"}}},"epoch":{"type":"integer"},"elections":{"type":"integer"},"version":{"type":
"string"},"started_at":{"type":"string","format":"date-time"},"uptime_seconds":{"type":"integer"},
"store":{"type":"object"},"nodes":{"type":"array","items":{"type":"object"}}}})"},
    {"Strategy",
     R"({"type":"object","properties":{"strategy":{"type":"string"},"available":{"type":"array",
"items":{"type":"string"}}}})"},
    {"StrategyChoice",
     R"({"type":"object","required":["strategy"],"properties":{"strategy":{"type":["string",
"null"],"description":"null: the configured one."}},
"additionalProperties":false})"},
    {"ComingFire",
     R"({"type":"object","properties":{"at":{"type":"string","format":"date-time"},"task_id":{"type":
"string"},"task_name":{"type":"string"},"type":{"type":"string"},"queue":{"type":"string"},
"cron_expression":{"type":"string"},"interval":{"type":"string"},"interval_after_end":{"type":
"string"},"timezone":{"type":"string"}}})"},
    {"ComingFireList", TAKT_LIST("ComingFire")},
    {"Health", R"({"type":"object","properties":{"status":{"type":"string"}}})"},
    {"Version",
     R"({"type":"object","properties":{"name":{"type":"string"},"version":{"type":"string"}}})"},
    {"Metrics",
     R"({"type":"object","properties":{"tasks_total":{"type":"integer"},"tasks_pending":{"type":
"integer"},"tasks_scheduled":{"type":"integer"},"tasks_running":{"type":"integer"},
"tasks_retrying":{"type":"integer"},"tasks_completed":{"type":"integer"},"tasks_failed":{"type":
"integer"},"tasks_cancelled":{"type":"integer"},"workers_online":{"type":"integer"},
"workers_draining":{"type":"integer"},"workers_offline":{"type":"integer"},
"worker_utilization":{"type":"number"},"task_throughput":{"type":"number"},"scheduler_uptime":{"type":
"integer"},"tasks_ready":{"type":"array","minItems":10,"maxItems":10,"items":{"type":"integer"},
"description":"Executions that could start now: how many of each priority, from 0 to 9."}}})"},
    {"Alert",
     R"({"type":"object","properties":{"id":{"type":"string"},"rule":{"type":"string"},"severity":{
"enum":["info","warning","critical"]},"state":{"enum":["pending","firing","resolved"]},"metric":{
"type":"string"},"operator":{"type":"string"},"threshold":{"type":"number"},"value":{"type":
"number"},"subject":{"type":"string"},"message":{"type":"string"},"pending_at":{"type":"string",
"format":"date-time"},"firing_at":{"type":["string","null"],"format":"date-time"},"resolved_at":{
"type":["string","null"],"format":"date-time"},"acknowledged":{"type":["object","null"],
"properties":{"by":{"type":"string"},"at":{"type":"string","format":"date-time"},"note":{"type":
"string"}}},"silenced_until":{"type":["string","null"],"format":"date-time"}}})"},
    {"AlertList", TAKT_LIST("Alert")},
    {"AlertNote",
     R"({"type":"object","properties":{"note":{"type":["string","null"],"maxLength":1000}},
"additionalProperties":false})"},
    {"AlertRulePut",
     R"({"type":"object","required":["metric","operator","threshold"],"properties":{"name":{"type":
"string"},"description":{"type":"string","maxLength":1000},"metric":{"type":"string"},"operator":{
"enum":[">",">=","<","<=","==","!="]},"threshold":{"type":"number"},"duration":{"type":["string",
"number"],"default":"0s"},"severity":{"enum":["info","warning","critical"],"default":"warning"},
"enabled":{"type":"boolean","default":true},"channels":{"type":"array","maxItems":20,"items":{"type":
"string"},"description":"Empty: every channel."}},"additionalProperties":false})"},
    {"AlertRule",
     R"({"allOf":[{"$ref":"#/components/schemas/AlertRulePut"},{"type":"object","properties":{
"builtin":{"type":"boolean"},"silenced_until":{"type":["string","null"],"format":"date-time"},
"state":{"enum":["ok","pending","firing"]},"value":{"type":["number","null"]}}}]})"},
    {"AlertRuleList", TAKT_LIST("AlertRule")},
    {"AlertSilence",
     R"({"type":"object","required":["duration"],"properties":{"duration":{"type":["string",
"number"]}},"additionalProperties":false})"},
    {"AlertMetric",
     R"({"type":"object","properties":{"name":{"type":"string"},"unit":{"type":"string"},"help":{
"type":"string"},"subject":{"enum":["","task","worker","queue"]}}})"},
    {"AlertMetricList", TAKT_LIST("AlertMetric")},
    {"AlertChannel",
     R"({"type":"object","properties":{"name":{"type":"string"},"kind":{"enum":["log","webhook",
"email"]},"target":{"type":"string"},"waiting":{"type":"integer"},"last_delivery":{"type":["object",
"null"],"properties":{"at":{"type":"string","format":"date-time"},"ok":{"type":"boolean"},"error":{
"type":"string"}}}}})"},
    {"AlertChannelList", TAKT_LIST("AlertChannel")},
    {"AlertChannelTest",
     R"({"type":"object","properties":{"ok":{"type":"boolean"},"error":{"type":"string"}}})"},
    {"StatisticsLine",
     R"({"type":"object","properties":{"key":{"type":"string"},"name":{"type":"string"},
"total":{"type":"integer"},"success":{"type":"integer"},"failed":{"type":"integer"},"cancelled":{
"type":"integer"},"skipped":{"type":"integer"},"missed":{"type":"integer"},"retries":{"type":
"integer"},"success_rate":{"type":["number","null"]},"duration":{"type":"object","properties":{
"avg_ms":{"type":["number","null"]},"p50_ms":{"type":["number","null"]},"p95_ms":{"type":["number",
"null"]},"p99_ms":{"type":["number","null"]},"max_ms":{"type":["integer","null"]}}},"wait":{"type":
"object","properties":{"avg_ms":{"type":["number","null"]},"p95_ms":{"type":["number","null"]}}}}})"},
    {"Statistics", TAKT_LIST("StatisticsLine")},
    {"Series",
     R"({"type":"object","properties":{"step":{"type":"string"},"items":{"type":"array","items":{
"type":"object","properties":{"at":{"type":"string","format":"date-time"},"submitted":{"type":
"integer"},"completed":{"type":"integer"},"failed":{"type":"integer"},"retries":{"type":"integer"},
"running":{"type":"integer"},"pending":{"type":"integer"},"wait_p50_ms":{"type":["number","null"]},
"wait_p99_ms":{"type":["number","null"]},"run_p50_ms":{"type":["number","null"]},"run_p99_ms":{
"type":["number","null"]}}}}}})"},
    {"TokenRequest",
     R"({"type":"object","required":["name","role"],"properties":{"name":{"type":"string"},
"role":{"enum":["viewer","operator","admin","worker","executor"]},"expires_in":{"type":["string",
"number"]}},"additionalProperties":false})"},
    {"Token",
     R"({"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},
"role":{"type":"string"},"created_at":{"type":"string"},"expires_at":{"type":["string","null"]},
"last_used_at":{"type":["string","null"]}}})"},
    {"NewToken",
     R"({"allOf":[{"$ref":"#/components/schemas/Token"},{"type":"object","properties":{
"token":{"type":"string"}}}]})"},
    {"TokenList", TAKT_LIST("Token")},
    {"OpenApi", R"({"type":"object"})"},
}};

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> Schemas() {
    return kSchemas;
}

}  // namespace takt::internal
