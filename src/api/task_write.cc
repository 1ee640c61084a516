// Tasks and executions as answers.
#include "api/execution_json.h"
#include "api/task_json.h"

namespace takt::internal {
namespace {

double Seconds(Duration duration) {
    return static_cast<double>(duration.count()) / 1000;
}

// Whole seconds without a fraction, as they were most likely sent.
void WriteSeconds(JsonWriter& json, std::string_view key, Duration duration) {
    if (duration.count() % 1000 == 0) {
        json.Field(key, duration.count() / 1000);
    } else {
        json.Field(key, Seconds(duration));
    }
}

void WriteIfSet(JsonWriter& json, std::string_view key, Duration duration) {
    if (duration > Duration(0)) json.Field(key, std::string_view(FormatDuration(duration)));
}
void WriteIfSet(JsonWriter& json, std::string_view key, const Text& text) {
    if (!text.empty()) json.Field(key, text.view());
}
void WriteIfSet(JsonWriter& json, std::string_view key, Time time) {
    if (time != Time{}) json.Field(key, time);
}

void WritePairs(JsonWriter& json, std::string_view key, const Pairs& pairs) {
    json.Key(key).BeginObject();
    for (const auto& [first, second] : pairs) json.UserKey(first).Value(second.view());
    json.EndObject();
}

void WriteRetry(JsonWriter& json, const RetryPolicy& retry) {
    json.Field("max_retry", retry.retries_max);
    json.Key("retry_policy").BeginObject();
    json.Field("max_retries", retry.retries_max);
    json.Field("delay", std::string_view(FormatDuration(retry.delay)));
    json.Field("backoff_rate", retry.backoff_rate);
    json.Field("delay_max", std::string_view(FormatDuration(retry.delay_max)));
    json.Field("jitter", retry.jitter);
    json.EndObject();
}

void WriteOptions(JsonWriter& json, const TaskOptions& options) {
    if (options.retry) WriteRetry(json, *options.retry);
    if (options.strategy) {
        json.Field("load_balance_strategy",
                   std::string_view(StrategyText(*options.strategy, options.strategy_name)));
    }
    if (!options.metadata.empty()) WritePairs(json, "metadata", options.metadata);
    if (!options.labels.empty()) WritePairs(json, "labels", options.labels);
    WriteIfSet(json, "executor", options.executor);
    WriteIfSet(json, "unique_key", options.unique_key);
    WriteIfSet(json, "unique_for", options.unique_for);
    WriteIfSet(json, "delay", options.delay);
    WriteIfSet(json, "expires_after", options.expires_after);
    WriteIfSet(json, "traceparent", options.trace);
    WriteIfSet(json, "tracestate", options.trace_state);
    WriteIfSet(json, "concurrency_key", options.concurrency_key);
    if (options.concurrency_max > 0) json.Field("concurrency_max", options.concurrency_max);
    if (options.rate.count > 0) {
        json.Key("rate_limit").BeginObject();
        json.Field("count", options.rate.count);
        json.Field("per", std::string_view(FormatDuration(options.rate.per))).EndObject();
    }
}

void WriteRecurrence(JsonWriter& json, const TaskOptions& options) {
    const Recurrence& recurrence = *options.recurrence;
    WriteIfSet(json, "cron_expression", recurrence.cron);
    WriteIfSet(json, "interval", recurrence.every);
    WriteIfSet(json, "interval_after_end", recurrence.every_after_end);
    json.Field("timezone", recurrence.timezone.empty() ? "UTC" : recurrence.timezone.view());
    json.Field("dst", Name(recurrence.dst));
    WriteIfSet(json, "start_at", recurrence.start_at);
    WriteIfSet(json, "end_at", recurrence.end_at);
    if (recurrence.fires_max > 0) json.Field("fires_max", recurrence.fires_max);
    WriteIfSet(json, "jitter", recurrence.jitter);
    if (!recurrence.excluded_dates.empty()) {
        json.Key("excluded_dates").BeginArray();
        for (const Text& date : recurrence.excluded_dates) json.Value(date.view());
        json.EndArray();
    }
    json.Field("execution_mode", Name(options.mode));
    json.Field("misfire_policy", Name(options.misfire));
    json.Field("misfires_max", options.misfires_max);
    json.Field("backlog_max", options.backlog_max);
    WriteIfSet(json, "start_deadline", options.start_deadline);
    json.Field("catch_up_after_pause", options.catch_up_after_pause);
}

void WriteCommon(JsonWriter& json, const Task& task) {
    json.Field("id", task.id.view()).Field("name", task.name.view());
    json.Field("type", task.type.view()).Field("queue", task.queue.view());
    json.Field("priority", task.priority);
    json.Key("parameters");
    WriteJsonText(json, task.payload);
    if (task.timeout > Duration(0)) WriteSeconds(json, "timeout_seconds", task.timeout);
    if (task.options) WriteOptions(json, *task.options);
}

void WriteOutcome(JsonWriter& json, const Execution& execution) {
    const Outcome* outcome = execution.outcome.get();
    json.Key("result");
    WriteJsonText(json, outcome ? outcome->data.view() : std::string_view());
    json.Key("error");
    if (!outcome || outcome->reason == Reason::kNone) {
        json.Null();
        return;
    }
    json.BeginObject();
    json.Field("code", Name(outcome->reason)).Field("message", outcome->message.view());
    if (outcome->code != 0) json.Field("handler_code", outcome->code);
    json.EndObject();
}

void WriteProgress(JsonWriter& json, const Execution& execution) {
    json.Field("status", Name(execution.status)).Field("origin", Name(execution.origin));
    json.Field("attempt", execution.attempt).Field("failures", execution.failures);
    json.Field("losses", execution.losses);
    json.Key("worker_id");
    execution.worker.empty() ? json.Null() : json.Value(execution.worker.view());
    json.Field("created_at", execution.created_at).Field("scheduled_at", execution.scheduled_at);
    json.Field("ready_at", execution.ready_at).Field("started_at", execution.started_at);
    json.Field("finished_at", execution.finished_at);
    WriteOutcome(json, execution);
}

void WriteAttempt(JsonWriter& json, const PastAttempt& attempt, std::string_view status) {
    json.BeginObject().Field("attempt", attempt.attempt).Key("worker_id");
    attempt.worker.empty() ? json.Null() : json.Value(attempt.worker.view());
    json.Field("started_at", attempt.started_at).Field("finished_at", attempt.finished_at);
    json.Field("status", status).Key("error");
    if (attempt.reason == Reason::kNone) {
        json.Null();
    } else {
        json.BeginObject().Field("code", Name(attempt.reason));
        json.Field("message", attempt.message.view()).EndObject();
    }
    json.EndObject();
}

// Those that are remembered, and the current or last one.
void WriteAttempts(JsonWriter& json, const Execution& execution) {
    json.Key("attempts").BeginArray();
    const Outcome* outcome = execution.outcome.get();
    std::uint32_t last = 0;
    if (outcome) {
        for (const PastAttempt& past : outcome->past) {
            WriteAttempt(json, past, Name(past.end));
            last = past.attempt;
        }
    }
    if (execution.attempt > last) {
        PastAttempt current{.attempt = execution.attempt,
                            .worker = execution.worker,
                            .started_at = execution.started_at,
                            .finished_at = execution.finished_at};
        if (outcome && IsTerminal(execution.status)) {
            current.reason = outcome->reason;
            current.message = outcome->message;
        }
        WriteAttempt(json, current, Name(execution.status));
    }
    json.EndArray();
}

}  // namespace

void WriteJsonText(JsonWriter& json, std::string_view text) {
    if (text.empty()) {
        json.Null();
    } else if (CheckJson(text, {.bytes_max = text.size()})) {
        json.Raw(text);
    } else {
        json.Value(text);
    }
}

void WriteTask(JsonWriter& json, const TaskRow& row) {
    const Task& task = *row.task;
    json.BeginObject();
    WriteCommon(json, task);
    if (task.recurring()) WriteRecurrence(json, *task.options);
    json.Field("enabled", !row.state.paused).Field("version", task.version);
    json.Field("created_at", task.created_at).Field("updated_at", task.updated_at);
    json.Field("next_fire_at", row.state.paused ? Time{} : row.state.next_at);
    json.Field("last_fire_at", row.state.last_at);
    json.Field("fires", row.state.fires).Field("missed", row.state.missed);
    json.EndObject();
}

void WriteOnceTask(JsonWriter& json, const Execution& execution) {
    const Task& task = *execution.task;
    json.BeginObject();
    WriteCommon(json, task);
    WriteIfSet(json, "run_at", task.run_at);
    json.Field("version", task.version);
    WriteProgress(json, execution);
    json.EndObject();
}

static void BeginExecution(JsonWriter& json, const Execution& execution) {
    const Task& task = *execution.task;
    json.BeginObject();
    json.Field("id", execution.id.view()).Field("task_id", task.id.view());
    json.Field("task_name", task.name.view()).Field("type", task.type.view());
    json.Field("queue", task.queue.view()).Field("priority", task.priority);
    WriteProgress(json, execution);
}

void WriteExecution(JsonWriter& json, const Execution& execution, ExecutionDetail detail) {
    BeginExecution(json, execution);
    if (detail == ExecutionDetail::kFull) {
        json.Key("parameters");
        WriteJsonText(json, execution.input());
    }
    json.EndObject();
}

void WriteExecution(JsonWriter& json, const Execution& execution, const ExecutionExtras& extras) {
    BeginExecution(json, execution);
    json.Key("parameters");
    WriteJsonText(json, execution.input());
    json.Key("progress");
    if (extras.progress) {
        json.BeginObject().Field("percent", extras.progress->fraction * 100);
        json.Field("message", extras.progress->message.view());
        json.Field("at", extras.progress->at).EndObject();
    } else {
        json.Null();
    }
    WriteAttempts(json, execution);
    json.Key("trace_id");
    extras.trace_id.empty() ? json.Null() : json.Value(std::string_view(extras.trace_id));
    json.EndObject();
}

}  // namespace takt::internal
