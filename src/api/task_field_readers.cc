#include "api/task_field_readers.h"

#include <algorithm>

#include "api/json_read.h"
#include "api/rate_limit_json.h"
#include "api/retry_policy_json.h"
#include "api/task_json.h"
#include "model/cron.h"
#include "trace/trace_context.h"

namespace takt::internal::task_field {

using Draft = TaskDraft;

namespace {

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

bool IsDate(std::string_view text) {
    return text.size() == 10 && ParseTime(std::string(text) + "T00:00:00Z").has_value();
}

}  // namespace

Result<void> ReadId(Draft& draft, const JsonView& value, std::string_view field) {
    std::string scratch;
    const std::string_view text = value.is_string() ? value.AsString(scratch) : std::string_view();
    return Keep(TaskId::Parse(text, field), [&](TaskId id) { draft.task->id = std::move(id); });
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

Result<void> ReadMaxRetry(Draft& draft, const JsonView& value, std::string_view field) {
    const auto count = ReadInteger(value, field, {0, kRetriesMax});
    if (!count) return std::unexpected(count.error());
    draft.retries_max = static_cast<std::uint32_t>(*count);
    return CheckRetries(draft);
}

void ForgetMaxRetry(Draft& draft, std::string_view) {
    if (!draft.options || !draft.options->retry || draft.policy_retries_max) return;
    RetryPolicy& policy = *draft.options->retry;
    policy.retries_max = draft.limits->retry_default.retries_max;
    if (policy == draft.limits->retry_default) draft.options->retry.reset();
}

Result<void> ReadRetryPolicy(Draft& draft, const JsonView& value, std::string_view field) {
    const RetryPolicy& standard = draft.limits->retry_default;
    const auto read = ReadRetryParts(
        value, field, {.policy = draft.opt().retry.value_or(standard), .standard = &standard});
    if (!read) return std::unexpected(read.error());
    if (read->retries_max) draft.policy_retries_max = read->retries_max;
    draft.opt().retry = read->policy;
    return CheckRetries(draft);
}

Result<void> ReadTaskRate(Draft& draft, const JsonView& value, std::string_view field) {
    return Keep(ReadRate(value, field, draft.opt().rate),
                [&](RateLimit rate) { draft.opt().rate = rate; });
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
        draft.opt().strategy = built_in;
        draft.opt().strategy_name = Text();
        return {};
    }
    std::string names = Listed(NamesTo(Strategy::kResourceAware));
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

void ForgetStrategy(Draft& draft, std::string_view) {
    if (!draft.options) return;
    draft.options->strategy.reset();
    draft.options->strategy_name = Text();
}

}  // namespace takt::internal::task_field
