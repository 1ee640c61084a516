// The fields of tasks and steps in the REST API, each named once: what is written and what is read
// visit the same list, with the member that a field belongs to.
#pragma once

#include "sdk/task_names.h"
#include "takt/task.h"

namespace takt {

// Fields that a task and a step have in common.
template <typename Of, typename Visit>
void EachCommonField(Of& of, Visit& visit) {
    visit("type", of.type);
    visit("queue", of.queue);
    visit("priority", of.priority);
    visit("metadata", of.metadata);
    visit("labels", of.labels);
    visit("executor", of.executor);
    visit("load_balance_strategy", of.load_balance_strategy);
    visit("retry_policy", of.retry);
    visit("timeout_seconds", of.timeout);
    visit("expires_after", of.expires_after);
    visit("delay", of.delay);
    visit("concurrency_key", of.concurrency_key);
    visit("concurrency_max", of.concurrency_max);
    visit("rate_limit", of.rate_limit);
    visit("locks", of.locks);
    visit("shards", of.shards);
    visit("each_worker", of.each_worker);
    visit("parallel_max", of.parallel_max);
    visit("min_success", of.min_success);
}

template <typename Of, typename Visit>
void EachStepField(Of& step, Visit& visit) {
    EachCommonField(step, visit);
    visit("task", step.task);
    visit("after", step.after);
    visit("when", step.when, kWhens);
    visit.Json("payload", step.payload);
    visit.Json("for_each", step.for_each);
    visit("if", step.condition);
}

// A condition of a step.
template <typename Of, typename Visit>
void EachConditionField(Of& condition, Visit& visit) {
    visit.Json("value", condition.value);
    visit.Json("equals", condition.equals);
}

// Of every task.
template <typename Of, typename Visit>
void EachTaskField(Of& task, Visit& visit) {
    visit("id", task.id);
    EachCommonField(task, visit);
    visit("unique_key", task.unique_key);
    visit("unique_for", task.unique_for);
    visit("on_failure", task.on_failure, kOnFailures);
    visit("run_at", task.run_at);
}

// Of recurring tasks only.
template <typename Of, typename Visit>
void EachRecurrenceField(Of& task, Visit& visit) {
    visit("cron_expression", task.cron_expression);
    visit("interval", task.interval);
    visit("interval_after_end", task.interval_after_end);
    visit("timezone", task.timezone);
    visit("dst", task.dst, kDsts);
    visit("start_at", task.start_at);
    visit("end_at", task.end_at);
    visit("fires_max", task.fires_max);
    visit("jitter", task.jitter);
    visit("excluded_dates", task.excluded_dates);
    visit("execution_mode", task.execution_mode, kModes);
    visit("misfire_policy", task.misfire_policy, kMisfires);
    visit("misfires_max", task.misfires_max);
    visit("backlog_max", task.backlog_max);
    visit("start_deadline", task.start_deadline);
    visit("catch_up_after_pause", task.catch_up_after_pause);
}

}  // namespace takt
