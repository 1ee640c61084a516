// The table of a task's fields.
#include <algorithm>
#include <array>

#include "api/json_read.h"
#include "api/task_field_readers.h"
#include "api/task_json.h"

namespace takt::internal {
namespace {

using Kind = TaskField::Kind;
using Draft = TaskDraft;
using task_field::kCountMax;
using task_field::Keep;
using task_field::kShortest;

// Metadata and labels travel with every dispatch: a few, and short.
constexpr PairLimits kMetadataLimits = {64, 128, 4096};
constexpr PairLimits kLabelLimits = {32, 64, 256};
constexpr std::size_t kKeyBytesMax = 200;
constexpr Duration kIntervalMin{100};  // As FirePlan has it.

template <typename Parse>
auto ReadName(const JsonView& value, std::string_view field, Parse parse, std::string_view names)
    -> Result<typename decltype(parse(std::string_view()))::value_type> {
    std::string scratch;
    if (value.is_string()) {
        if (const auto known = parse(value.AsString(scratch))) return *known;
    }
    return BadField(field, "must be one of " + std::string(names));
}

Result<Text> ReadKeyText(const JsonView& value, std::string_view field) {
    std::string scratch;
    const auto text = ReadText(value, field, kKeyBytesMax, scratch);
    if (!text) return std::unexpected(text.error());
    return Text(*text);
}

// For fields of one kind that differ only in where they go.
#define TAKT_DURATION(place, least)                                      \
    [](Draft& draft, const JsonView& value, std::string_view field) {    \
        return Keep(ReadDuration(value, field, least),                   \
                    [&](Duration duration) { draft.place = duration; }); \
    }
#define TAKT_TIME(place)                                                             \
    [](Draft& draft, const JsonView& value, std::string_view field) {                \
        return Keep(ReadTime(value, field), [&](Time time) { draft.place = time; }); \
    }
#define TAKT_COUNT(place, least, most)                                                             \
    [](Draft& draft, const JsonView& value, std::string_view field) {                              \
        return Keep(ReadInteger(value, field, {least, most}),                                      \
                    [&](std::int64_t count) { draft.place = static_cast<std::uint32_t>(count); }); \
    }
#define TAKT_KEY(place)                                                                            \
    [](Draft& draft, const JsonView& value, std::string_view field) {                              \
        return Keep(ReadKeyText(value, field), [&](Text text) { draft.place = std::move(text); }); \
    }
#define TAKT_PAIRS(place, limits)                                          \
    [](Draft& draft, const JsonView& value, std::string_view field) {      \
        return Keep(ReadPairs(value, field, limits),                       \
                    [&](Pairs pairs) { draft.place = std::move(pairs); }); \
    }
#define TAKT_NAMED(place, parse, names)                               \
    [](Draft& draft, const JsonView& value, std::string_view field) { \
        return Keep(ReadName(value, field, parse, names),             \
                    [&](auto named) { draft.place = named; });        \
    }
#define TAKT_CLEAR(place, value) [](Draft& draft) { draft.place = value; }
#define TAKT_FORGET(place)                                             \
    [](Draft& draft) {                                                 \
        if (draft.options) draft.options->place = TaskOptions().place; \
    }
#define TAKT_INTERVAL(place)                                             \
    [](Draft& draft, const JsonView& value, std::string_view field) {    \
        draft.schedule_field = field;                                    \
        return Keep(ReadDuration(value, field, kIntervalMin),            \
                    [&](Duration interval) { draft.place = interval; }); \
    }
#define TAKT_FORGET_SCHEDULE(place, field)                         \
    [](Draft& draft) {                                             \
        draft.schedule_field = field;                              \
        if (draft.options && draft.options->recurrence)            \
            draft.options->recurrence->place = Recurrence().place; \
    }
#define TAKT_FORGET_RECURRENCE(place)                              \
    [](Draft& draft) {                                             \
        if (draft.options && draft.options->recurrence)            \
            draft.options->recurrence->place = Recurrence().place; \
    }

constexpr std::string_view kText = R"({"type":"string"})";
constexpr std::string_view kTime = R"({"type":"string","format":"date-time"})";
constexpr std::string_view kDurationSchema =
    R"({"type":["string","number"],"examples":["90s","1h30m",90]})";
constexpr std::string_view kCount = R"({"type":"integer","minimum":0})";
constexpr std::string_view kPairsSchema =
    R"({"type":"object","additionalProperties":{"type":"string"}})";
constexpr std::string_view kModes = "sequential, parallel, skip, replace";
constexpr std::string_view kMisfires = "fire_once, fire_all, skip";
constexpr std::string_view kDsts = "once, skip, twice";
const TaskField kFields[] = {
    {"id", "", Kind::kAny, R"({"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$"})",
     "Chosen by the caller, which makes creation safe to repeat, or generated.", task_field::ReadId,
     TAKT_CLEAR(task->id, TaskId())},
    {"name", "", Kind::kAny, R"({"type":"string","minLength":1,"maxLength":200})",
     "What people call it.", task_field::ReadTaskName, TAKT_CLEAR(task->name, Text())},
    {"type", "", Kind::kAny, R"({"type":"string","minLength":1,"maxLength":200})",
     "What workers know it by; the name unless given.", task_field::ReadType,
     TAKT_CLEAR(task->type, Text())},
    {"queue", "", Kind::kAny, R"({"type":"string","default":"default"})", "Where it waits.",
     task_field::ReadQueue, TAKT_CLEAR(task->queue, Text())},
    {"priority", "", Kind::kAny,
     R"({"oneOf":[{"type":"integer","minimum":0,"maximum":9},{"enum":["low","normal","high","urgent"]}],"default":5})",
     "Higher first.", task_field::ReadPriority, TAKT_CLEAR(task->priority, kPriorityNormal)},
    {"parameters", "", Kind::kAny, "{}", "The input, any JSON.", task_field::ReadPayload,
     TAKT_CLEAR(task->payload, Text())},
    {"payload", "parameters", Kind::kAny, "{}", "", task_field::ReadPayload,
     TAKT_CLEAR(task->payload, Text())},
    {"timeout_seconds", "", Kind::kAny, kDurationSchema,
     "How long one attempt may run; the scheduler's default unless given.", task_field::ReadTimeout,
     TAKT_CLEAR(task->timeout, Duration(0))},
    {"timeout", "timeout_seconds", Kind::kAny, kDurationSchema, "", task_field::ReadTimeout,
     TAKT_CLEAR(task->timeout, Duration(0))},
    {"max_retry", "", Kind::kAny, kCount, "How many failed attempts are repeated.",
     task_field::ReadMaxRetry, task_field::ForgetMaxRetry},
    {"retry_policy", "", Kind::kAny,
     R"({"type":"object","properties":{"max_retries":{"type":"integer"},"delay":{"type":["string","number"]},"backoff_rate":{"type":"number","minimum":1},"delay_max":{"type":["string","number"]},"jitter":{"type":"number","minimum":0,"maximum":1}},"additionalProperties":false})",
     "How failed attempts are repeated. In a PATCH, what is left out of it stays.",
     task_field::ReadRetryPolicy, TAKT_FORGET(retry)},
    {"load_balance_strategy", "", Kind::kAny,
     R"({"anyOf":[{"enum":["least_tasks","least_loaded","least_load","round_robin","weighted_round_robin","weighted","random","consistent_hash","least_connections","capacity_based","sticky","resource_aware"]},{"type":"string","pattern":"^custom:."}]})",
     "How its worker is chosen; the scheduler's strategy unless given. custom:NAME is one of the "
     "embedding program's own.",
     task_field::ReadTaskStrategy,
     [](Draft& draft) {
         if (!draft.options) return;
         draft.options->strategy.reset();
         draft.options->strategy_name = Text();
     }},
    {"metadata", "", Kind::kAny, kPairsSchema, "Passed on to the worker.",
     TAKT_PAIRS(opt().metadata, kMetadataLimits), TAKT_FORGET(metadata)},
    {"labels", "", Kind::kAny, kPairsSchema, "A worker must carry all of them.",
     TAKT_PAIRS(opt().labels, kLabelLimits), TAKT_FORGET(labels)},
    {"executor", "", Kind::kAny, kText,
     "The only executor service or worker group that may run it.", TAKT_KEY(opt().executor),
     TAKT_FORGET(executor)},
    {"unique_key", "", Kind::kOnce, kText, "While an execution with this key lives, no second one.",
     TAKT_KEY(opt().unique_key), TAKT_FORGET(unique_key)},
    {"unique_for", "", Kind::kOnce, kDurationSchema, "How long unique_key holds.",
     TAKT_DURATION(opt().unique_for, kShortest), TAKT_FORGET(unique_for)},
    {"expires_after", "", Kind::kAny, kDurationSchema,
     "Dropped if not started this long after its time.",
     TAKT_DURATION(opt().expires_after, kShortest), TAKT_FORGET(expires_after)},
    {"concurrency_key", "", Kind::kAny, kText,
     "Executions that share the key share concurrency_max.", TAKT_KEY(opt().concurrency_key),
     TAKT_FORGET(concurrency_key)},
    {"concurrency_max", "", Kind::kAny, R"({"type":"integer","minimum":1})",
     "At most so many executions at once.", TAKT_COUNT(opt().concurrency_max, 1, kCountMax),
     TAKT_FORGET(concurrency_max)},
    {"rate_limit", "", Kind::kAny,
     R"({"type":"object","properties":{"count":{"type":"integer","minimum":1},"per":{"type":["string","number"]}},"required":["count"],"additionalProperties":false})",
     "At most `count` starts in `per`. In a PATCH, what is left out of it stays.",
     task_field::ReadRate, TAKT_FORGET(rate)},
    {"traceparent", "", Kind::kOnce, kText,
     "W3C trace context of whoever submits it; the header of the request unless given.",
     task_field::ReadTraceParent, TAKT_FORGET(trace)},
    {"tracestate", "", Kind::kOnce, kText, "What goes with traceparent, handed on as it is.",
     task_field::ReadTraceState, TAKT_FORGET(trace_state)},
    {"run_at", "", Kind::kOnce, kTime, "Not before this time.", TAKT_TIME(task->run_at),
     TAKT_CLEAR(task->run_at, Time())},
    {"delay", "", Kind::kOnce, kDurationSchema, "Not before this long after it was accepted.",
     TAKT_DURATION(opt().delay, Duration(0)), TAKT_FORGET(delay)},
    {"cron_expression", "", Kind::kRecurring, R"({"type":"string","examples":["0 2 * * MON-FRI"]})",
     "5 fields, 6 with seconds first, or @daily and friends.", task_field::ReadCronText,
     TAKT_FORGET_SCHEDULE(cron, "cron_expression")},
    {"cron", "cron_expression", Kind::kRecurring, kText, "", task_field::ReadCronText,
     TAKT_FORGET_SCHEDULE(cron, "cron")},
    {"interval", "", Kind::kRecurring, kDurationSchema, "Fixed rate: from fire to fire.",
     TAKT_INTERVAL(recur().every), TAKT_FORGET_SCHEDULE(every, "interval")},
    {"every", "interval", Kind::kRecurring, kDurationSchema, "", TAKT_INTERVAL(recur().every),
     TAKT_FORGET_SCHEDULE(every, "every")},
    {"interval_after_end", "", Kind::kRecurring, kDurationSchema,
     "Fixed delay: from the end of a run to the next fire.", TAKT_INTERVAL(recur().every_after_end),
     TAKT_FORGET_SCHEDULE(every_after_end, "interval_after_end")},
    {"every_after_end", "interval_after_end", Kind::kRecurring, kDurationSchema, "",
     TAKT_INTERVAL(recur().every_after_end),
     TAKT_FORGET_SCHEDULE(every_after_end, "every_after_end")},
    {"timezone", "", Kind::kRecurring, R"({"type":"string","examples":["Asia/Shanghai"]})",
     "IANA name; UTC unless given.", TAKT_KEY(recur().timezone), TAKT_FORGET_RECURRENCE(timezone)},
    {"dst", "", Kind::kRecurring, R"({"enum":["once","skip","twice"]})",
     "Local times that daylight saving time skips or repeats.",
     TAKT_NAMED(recur().dst, ParseDst, kDsts), TAKT_FORGET_RECURRENCE(dst)},
    {"start_at", "", Kind::kRecurring, kTime, "No fire before.", TAKT_TIME(recur().start_at),
     TAKT_FORGET_RECURRENCE(start_at)},
    {"end_at", "", Kind::kRecurring, kTime, "No fire at or after.", TAKT_TIME(recur().end_at),
     TAKT_FORGET_RECURRENCE(end_at)},
    {"fires_max", "", Kind::kRecurring, R"({"type":"integer","minimum":1})",
     "No more fires than this.", TAKT_COUNT(recur().fires_max, 1, UINT32_MAX),
     TAKT_FORGET_RECURRENCE(fires_max)},
    {"jitter", "", Kind::kRecurring, kDurationSchema, "Each fire is delayed by up to this.",
     TAKT_DURATION(recur().jitter, Duration(0)), TAKT_FORGET_RECURRENCE(jitter)},
    {"excluded_dates", "", Kind::kRecurring,
     R"({"type":"array","items":{"type":"string","format":"date"},"maxItems":1000})",
     "Days without fires, in the task's time zone.", task_field::ReadExcludedDates,
     TAKT_FORGET_RECURRENCE(excluded_dates)},
    {"execution_mode", "", Kind::kRecurring,
     R"({"enum":["sequential","parallel","skip","replace"],"default":"sequential"})",
     "What a fire does while the previous run is still going.",
     TAKT_NAMED(opt().mode, ParseMode, kModes), TAKT_FORGET(mode)},
    {"misfire_policy", "", Kind::kRecurring,
     R"({"enum":["fire_once","fire_all","skip"],"default":"fire_once"})",
     "What becomes of fires whose time passed while nobody could fire them.",
     TAKT_NAMED(opt().misfire, ParseMisfire, kMisfires), TAKT_FORGET(misfire)},
    {"misfires_max", "", Kind::kRecurring, kCount, "For fire_all: more are recorded as missed.",
     TAKT_COUNT(opt().misfires_max, 1, 10'000), TAKT_FORGET(misfires_max)},
    {"backlog_max", "", Kind::kRecurring, kCount, "For sequential: fires beyond are skipped.",
     TAKT_COUNT(opt().backlog_max, 0, 100'000), TAKT_FORGET(backlog_max)},
    {"start_deadline", "", Kind::kRecurring, kDurationSchema, "A fire later than this is missed.",
     TAKT_DURATION(opt().start_deadline, kShortest), TAKT_FORGET(start_deadline)},
    {"catch_up_after_pause", "", Kind::kRecurring, R"({"type":"boolean","default":false})",
     "Whether fires that a pause held back are made up for.",
     [](Draft& draft, const JsonView& value, std::string_view field) {
         return Keep(ReadBool(value, field),
                     [&](bool truth) { draft.opt().catch_up_after_pause = truth; });
     },
     TAKT_FORGET(catch_up_after_pause)},
    {"enabled", "", Kind::kRecurring, R"({"type":"boolean","default":true})",
     "False: paused, no fires.",
     [](Draft& draft, const JsonView& value, std::string_view field) {
         return Keep(ReadBool(value, field), [&](bool truth) { draft.enabled = truth; });
     },
     TAKT_CLEAR(enabled, true)},
    {"version", "", Kind::kReadOnly, kCount, "Rises with each change; the ETag."},
    {"created_at", "", Kind::kReadOnly, kTime, ""},
    {"updated_at", "", Kind::kReadOnly, kTime, ""},
    {"next_fire_at", "", Kind::kReadOnly, kTime, ""},
    {"last_fire_at", "", Kind::kReadOnly, kTime, ""},
    {"fires", "", Kind::kReadOnly, kCount, "Fires made so far."},
    {"missed", "", Kind::kReadOnly, kCount,
     "Due times that the misfire policy or a pause dropped."},
};
static_assert(std::size(kFields) <= 64, "TaskDraft::seen has 64 bits");

}  // namespace

std::span<const TaskField> TaskFields() {
    return kFields;
}

std::string StrategyText(Strategy strategy, std::string_view own_name) {
    if (strategy != Strategy::kCustom) return std::string(Name(strategy));
    return std::string(kOwnStrategyPrefix) + std::string(own_name);
}

}  // namespace takt::internal
