// The table of a task's fields.
#include <algorithm>
#include <array>

#include "api/json_read.h"
#include "api/task_json.h"
#include "model/cron.h"
#include "trace/trace_context.h"

namespace takt::internal {
namespace {

using Kind = TaskField::Kind;
using Draft = TaskDraft;

// Metadata and labels travel with every dispatch: a few, and short.
constexpr PairLimits kMetadataLimits = {64, 128, 4096};
constexpr PairLimits kLabelLimits = {32, 64, 256};
constexpr std::size_t kKeyBytesMax = 200;
constexpr std::int64_t kRetriesMax = 10'000;
constexpr std::int64_t kCountMax = 1'000'000;
constexpr std::size_t kExcludedDatesMax = 1'000;
constexpr Duration kShortest{1};
constexpr Duration kIntervalMin{100};  // As FirePlan has it.

constexpr std::string_view kStrategies =
    "least_tasks, round_robin, weighted_round_robin, random, consistent_hash, least_connections, "
    "capacity_based, sticky, resource_aware";

// Carries a value that was read to where it belongs.
template <typename T, typename Store>
Result<void> Keep(Result<T> value, Store store) {
    if (!value) return std::unexpected(std::move(value.error()));
    store(std::move(*value));
    return {};
}

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

Result<void> ReadId(Draft& draft, const JsonView& value, std::string_view field) {
    std::string scratch;
    const std::string_view text = value.is_string() ? value.AsString(scratch) : std::string_view();
    return Keep(TaskId::Parse(text, field), [&](TaskId id) { draft.task->id = std::move(id); });
}

Result<void> ReadTaskName(Draft& draft, const JsonView& value, std::string_view field) {
    std::string scratch;
    return Keep(ReadText(value, field, kTaskNameBytesMax, scratch),
                [&](std::string_view text) { draft.task->name = draft.pool->Get(text); });
}

Result<void> ReadType(Draft& draft, const JsonView& value, std::string_view field) {
    std::string scratch;
    return Keep(ReadText(value, field, kTaskNameBytesMax, scratch),
                [&](std::string_view text) { draft.task->type = draft.pool->Get(text); });
}

Result<void> ReadQueue(Draft& draft, const JsonView& value, std::string_view field) {
    std::string scratch;
    const std::string_view text = value.is_string() ? value.AsString(scratch) : std::string_view();
    if (!IsValidId(text)) {
        return BadField(field,
                        "must be 1 to 64 characters of A-Z a-z 0-9 . _ ~ - and start with a letter "
                        "or digit");
    }
    draft.task->queue = draft.pool->Get(text);
    return {};
}

Result<void> ReadPayload(Draft& draft, const JsonView& value, std::string_view field) {
    if (value.raw().size() > draft.limits->payload_bytes_max) {
        return Fail(ErrorCode::kExhausted,
                    std::string(field) + " has " + std::to_string(value.raw().size()) +
                        " bytes; at most " + std::to_string(draft.limits->payload_bytes_max) +
                        " are taken",
                    std::string(field));
    }
    draft.task->payload = Text(value.raw());
    return {};
}

Result<void> ReadPriority(Draft& draft, const JsonView& value, std::string_view field) {
    std::string scratch;
    std::optional<std::uint8_t> priority;
    if (value.is_string()) priority = ParsePriority(value.AsString(scratch));
    if (const auto number = value.AsInteger(); number && *number >= 0 && *number <= kPriorityMax) {
        priority = static_cast<std::uint8_t>(*number);
    }
    if (!priority) {
        return BadField(field, "must be a number from 0 to 9, or low, normal, high or urgent");
    }
    draft.task->priority = *priority;
    return {};
}

Result<void> ReadTimeout(Draft& draft, const JsonView& value, std::string_view field) {
    return Keep(ReadDuration(value, field, kShortest),
                [&](Duration timeout) { draft.task->timeout = timeout; });
}

// The number of retries has two names; a caller who gives both must mean the same by them.
Result<void> CheckRetries(const Draft& draft) {
    if (!draft.retries_max || !draft.policy_retries_max ||
        *draft.retries_max == *draft.policy_retries_max) {
        return {};
    }
    return BadField("max_retry", "is " + std::to_string(*draft.retries_max) +
                                     " but retry_policy.max_retries is " +
                                     std::to_string(*draft.policy_retries_max) +
                                     "; they are the same, give one of them");
}

Result<void> ReadMaxRetry(Draft& draft, const JsonView& value, std::string_view field) {
    const auto count = ReadInteger(value, field, {0, kRetriesMax});
    if (!count) return std::unexpected(count.error());
    draft.retries_max = static_cast<std::uint32_t>(*count);
    return CheckRetries(draft);
}

// The rest of the policy stays. One that then says nothing of its own is none.
void ForgetMaxRetry(Draft& draft) {
    if (!draft.options || !draft.options->retry || draft.policy_retries_max) return;
    RetryPolicy& policy = *draft.options->retry;
    policy.retries_max = draft.limits->retry_default.retries_max;
    if (policy == draft.limits->retry_default) draft.options->retry.reset();
}

// What is left out stays as it is, or is the default in a new task; null is the default.
Result<void> ReadRetryPolicy(Draft& draft, const JsonView& value, std::string_view field) {
    static constexpr std::array<std::string_view, 5> kNames = {
        "max_retries", "delay", "backoff_rate", "delay_max", "jitter"};
    if (value.kind() != JsonView::Kind::kObject) return BadField(field, "must be an object");
    const RetryPolicy& standard = draft.limits->retry_default;
    RetryPolicy policy = draft.opt().retry.value_or(standard);
    JsonView::Members members(value);
    while (members.Next()) {
        const std::string name = std::string(field) + "." + std::string(members.key());
        const JsonView given = members.value();
        const auto keep = [&](auto& place, const auto& otherwise, auto read) -> Result<void> {
            if (given.is_null()) {
                place = otherwise;
                return {};
            }
            return Keep(read(), [&](auto found) {
                place = static_cast<std::remove_reference_t<decltype(place)>>(found);
            });
        };
        const auto duration = [&] { return ReadDuration(given, name); };
        Result<void> kept;
        if (members.key() == kNames[0]) {
            kept = keep(policy.retries_max, standard.retries_max,
                        [&] { return ReadInteger(given, name, {0, kRetriesMax}); });
            draft.policy_retries_max = policy.retries_max;
        } else if (members.key() == kNames[1]) {
            kept = keep(policy.delay, standard.delay, duration);
        } else if (members.key() == kNames[2]) {
            kept = keep(policy.backoff_rate, standard.backoff_rate,
                        [&] { return ReadNumber(given, name, {1, 100}); });
        } else if (members.key() == kNames[3]) {
            kept = keep(policy.delay_max, standard.delay_max, duration);
        } else if (members.key() == kNames[4]) {
            kept = keep(policy.jitter, standard.jitter,
                        [&] { return ReadNumber(given, name, {0, 1}); });
        } else {
            return UnknownField(members.key(), kNames, std::string(field) + ".");
        }
        if (!kept) return kept;
    }
    draft.opt().retry = policy;
    return CheckRetries(draft);
}

Result<void> ReadRate(Draft& draft, const JsonView& value, std::string_view field) {
    static constexpr std::array<std::string_view, 2> kNames = {"count", "per"};
    if (value.kind() != JsonView::Kind::kObject) {
        return BadField(field, "must be an object such as {\"count\": 10, \"per\": \"1s\"}");
    }
    // What is left out stays as it is, or is the default in a new task.
    RateLimit rate = draft.opt().rate;
    if (rate.count == 0) rate.per = Duration(1'000);
    JsonView::Members members(value);
    while (members.Next()) {
        const std::string name = std::string(field) + "." + std::string(members.key());
        Result<void> kept;
        if (members.key() == kNames[0]) {
            kept =
                Keep(ReadInteger(members.value(), name, {1, kCountMax}),
                     [&](std::int64_t count) { rate.count = static_cast<std::uint32_t>(count); });
        } else if (members.key() == kNames[1]) {
            kept = Keep(ReadDuration(members.value(), name, kShortest),
                        [&](Duration per) { rate.per = per; });
        } else {
            return UnknownField(members.key(), kNames, std::string(field) + ".");
        }
        if (!kept) return kept;
    }
    if (rate.count == 0) return BadField(std::string(field) + ".count", "is missing");
    draft.opt().rate = rate;
    return {};
}

bool IsDate(std::string_view text) {
    return text.size() == 10 && ParseTime(std::string(text) + "T00:00:00Z").has_value();
}

Result<void> ReadExcludedDates(Draft& draft, const JsonView& value, std::string_view field) {
    if (value.kind() != JsonView::Kind::kArray) {
        return BadField(field, "must be a list of dates such as \"2026-12-25\"");
    }
    std::vector<Text> dates;
    JsonView::Elements elements(value);
    std::string scratch;
    while (elements.Next()) {
        const std::string name = std::string(field) + "[" + std::to_string(dates.size()) + "]";
        if (dates.size() == kExcludedDatesMax) {
            return BadField(field, "has more than " + std::to_string(kExcludedDatesMax) + " dates");
        }
        const JsonView date = elements.value();
        if (!date.is_string() || !IsDate(date.AsString(scratch))) {
            return BadField(name, "must be a date such as \"2026-12-25\"");
        }
        dates.emplace_back(date.AsString(scratch));
    }
    std::ranges::sort(dates);
    draft.recur().excluded_dates = std::move(dates);
    return {};
}

Result<void> ReadTraceParent(Draft& draft, const JsonView& value, std::string_view field) {
    std::string scratch;
    if (!value.is_string() || !ParseTraceParent(value.AsString(scratch))) {
        return BadField(field,
                        "must be a W3C traceparent such as "
                        "\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"");
    }
    draft.opt().trace = Text(value.AsString(scratch));
    return {};
}

Result<void> ReadTraceState(Draft& draft, const JsonView& value, std::string_view field) {
    std::string scratch;
    if (!value.is_string() || !IsTraceState(value.AsString(scratch))) {
        return BadField(field, "must be a W3C tracestate of at most 512 printable characters");
    }
    draft.opt().trace_state = Text(value.AsString(scratch));
    return {};
}

Result<void> ReadCronText(Draft& draft, const JsonView& value, std::string_view field) {
    std::string scratch;
    if (!value.is_string() || value.AsString(scratch).empty()) {
        return BadField(field, "must be a cron expression such as \"0 2 * * *\"");
    }
    // Whether it ever fires is judged when the whole task is known: the time zone belongs to it.
    const std::string_view text = value.AsString(scratch);
    if (const auto cron = Cron::Parse(text); !cron) {
        return Fail(cron.error().code, cron.error().detail, std::string(field));
    }
    draft.recur().cron = Text(text);
    draft.schedule_field = field;
    return {};
}

Result<void> ReadTaskStrategy(Draft& draft, const JsonView& value, std::string_view field) {
    std::string scratch;
    const std::string_view name = value.is_string() ? value.AsString(scratch) : std::string_view();
    const auto built_in = ParseStrategy(name);
    if (built_in && *built_in != Strategy::kCustom) {
        draft.opt().strategy = *built_in;
        draft.opt().strategy_name = Text();
        return {};
    }
    std::string names(kStrategies);
    for (const std::string& own : draft.limits->own_strategies) {
        const std::string known = StrategyText(Strategy::kCustom, own);
        if (name == known) {
            draft.opt().strategy = Strategy::kCustom;
            draft.opt().strategy_name = Text(own);
            return {};
        }
        names += ", " + known;
    }
    return BadField(field, "must be one of " + names);
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
     "Chosen by the caller, which makes creation safe to repeat, or generated.", ReadId,
     TAKT_CLEAR(task->id, TaskId())},
    {"name", "", Kind::kAny, R"({"type":"string","minLength":1,"maxLength":200})",
     "What people call it.", ReadTaskName, TAKT_CLEAR(task->name, Text())},
    {"type", "", Kind::kAny, R"({"type":"string","minLength":1,"maxLength":200})",
     "What workers know it by; the name unless given.", ReadType, TAKT_CLEAR(task->type, Text())},
    {"queue", "", Kind::kAny, R"({"type":"string","default":"default"})", "Where it waits.",
     ReadQueue, TAKT_CLEAR(task->queue, Text())},
    {"priority", "", Kind::kAny,
     R"({"oneOf":[{"type":"integer","minimum":0,"maximum":9},{"enum":["low","normal","high","urgent"]}],"default":5})",
     "Higher first.", ReadPriority, TAKT_CLEAR(task->priority, kPriorityNormal)},
    {"parameters", "", Kind::kAny, "{}", "The input, any JSON.", ReadPayload,
     TAKT_CLEAR(task->payload, Text())},
    {"payload", "parameters", Kind::kAny, "{}", "", ReadPayload, TAKT_CLEAR(task->payload, Text())},
    {"timeout_seconds", "", Kind::kAny, kDurationSchema,
     "How long one attempt may run; the scheduler's default unless given.", ReadTimeout,
     TAKT_CLEAR(task->timeout, Duration(0))},
    {"timeout", "timeout_seconds", Kind::kAny, kDurationSchema, "", ReadTimeout,
     TAKT_CLEAR(task->timeout, Duration(0))},
    {"max_retry", "", Kind::kAny, kCount, "How many failed attempts are repeated.", ReadMaxRetry,
     ForgetMaxRetry},
    {"retry_policy", "", Kind::kAny,
     R"({"type":"object","properties":{"max_retries":{"type":"integer"},"delay":{"type":["string","number"]},"backoff_rate":{"type":"number","minimum":1},"delay_max":{"type":["string","number"]},"jitter":{"type":"number","minimum":0,"maximum":1}},"additionalProperties":false})",
     "How failed attempts are repeated. In a PATCH, what is left out of it stays.", ReadRetryPolicy,
     TAKT_FORGET(retry)},
    {"load_balance_strategy", "", Kind::kAny,
     R"({"anyOf":[{"enum":["least_tasks","least_loaded","least_load","round_robin","weighted_round_robin","weighted","random","consistent_hash","least_connections","capacity_based","sticky","resource_aware"]},{"type":"string","pattern":"^custom:."}]})",
     "How its worker is chosen; the scheduler's strategy unless given. custom:NAME is one of the "
     "embedding program's own.",
     ReadTaskStrategy,
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
     "At most `count` starts in `per`. In a PATCH, what is left out of it stays.", ReadRate,
     TAKT_FORGET(rate)},
    {"traceparent", "", Kind::kOnce, kText,
     "W3C trace context of whoever submits it; the header of the request unless given.",
     ReadTraceParent, TAKT_FORGET(trace)},
    {"tracestate", "", Kind::kOnce, kText, "What goes with traceparent, handed on as it is.",
     ReadTraceState, TAKT_FORGET(trace_state)},
    {"run_at", "", Kind::kOnce, kTime, "Not before this time.", TAKT_TIME(task->run_at),
     TAKT_CLEAR(task->run_at, Time())},
    {"delay", "", Kind::kOnce, kDurationSchema, "Not before this long after it was accepted.",
     TAKT_DURATION(opt().delay, Duration(0)), TAKT_FORGET(delay)},
    {"cron_expression", "", Kind::kRecurring, R"({"type":"string","examples":["0 2 * * MON-FRI"]})",
     "5 fields, 6 with seconds first, or @daily and friends.", ReadCronText,
     TAKT_FORGET_SCHEDULE(cron, "cron_expression")},
    {"cron", "cron_expression", Kind::kRecurring, kText, "", ReadCronText,
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
     "Days without fires, in the task's time zone.", ReadExcludedDates,
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
    {"missed", "", Kind::kReadOnly, kCount, "Due times that the misfire policy dropped."},
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
