#include "api/task_own_fields.h"

#include "api/rate_limit_json.h"
#include "api/retry_policy_json.h"
#include "api/task_field_readers.h"
#include "api/task_json.h"

namespace takt::internal::task_field {
namespace {

// Names that many tasks share are kept once.
TaskField::Read SharedName(Text Task::* place) {
    return [place](TaskDraft& draft, const JsonView& value, std::string_view name) {
        std::string scratch;
        return Keep(ReadText(value, name, kTaskNameBytesMax, scratch),
                    [&](std::string_view text) { (*draft.task).*place = draft.pool->Get(text); });
    };
}

TaskField TraceField(Head head, Text TaskOptions::* place, TaskField::Read read) {
    TaskField field = TextField(std::move(head), place, kKeyBytesMax);
    field.type = "W3C trace context";
    field.read = std::move(read);
    return field;
}

}  // namespace

TaskField NameField(Head head, Text Task::* place) {
    TaskField field = TextField(std::move(head), place, kTaskNameBytesMax);
    field.takes = R"({"type":"string","minLength":1,"maxLength":200})";
    field.read = SharedName(place);
    field.always_given = true;
    return field;
}

TaskField IdField() {
    TaskField field =
        FieldOf({"id", "Chosen by the caller, which makes creation safe to repeat, or generated."},
                schema::Id(), schema::Text(), "1 to 64 of A-Z a-z 0-9 . _ ~ -");
    field.read = ReadId;
    field.clear = Reset(&Task::id);
    field.write = [](JsonWriter& json, std::string_view name, const ShownTask& view) {
        json.Field(name, view.task.id.view());
    };
    field.always_given = true;
    return field;
}

TaskField QueueField() {
    TaskField field = NameField({"queue", "Where it waits."}, &Task::queue);
    field.takes = R"({"type":"string","default":"default"})";
    field.type = "1 to 64 of A-Z a-z 0-9 . _ ~ -";
    field.read = ReadQueue;
    return field;
}

TaskField PriorityField() {
    TaskField field = FieldOf(
        {.name = "priority", .about = "Higher first.", .flags = "p"},
        R"({"oneOf":[{"type":"integer","minimum":0,"maximum":9},{"enum":["low","normal","high","urgent"]}],"default":5})",
        schema::Integer(0, kPriorityMax), "0 to 9, or low, normal, high, urgent");
    field.input = Input::kValue;
    field.read = ReadPriority;
    field.clear = Reset(&Task::priority);
    field.write = [](JsonWriter& json, std::string_view name, const ShownTask& view) {
        json.Field(name, view.task.priority);
    };
    field.always_given = true;
    return field;
}

TaskField PayloadField() {
    TaskField field = FieldOf(
        {.name = "parameters", .about = "The input, kept letter by letter.", .also = {"payload"}},
        schema::Any(), schema::Any(), "any JSON");
    field.input = Input::kPayload;
    field.read = ReadPayload;
    field.clear = Reset(&Task::payload);
    field.write = [](JsonWriter& json, std::string_view name, const ShownTask& view) {
        json.Key(name);
        WriteJsonText(json, view.task.payload);
    };
    field.always_given = true;
    return field;
}

// In seconds, without a fraction where there is none, as it was most likely sent.
TaskField TimeoutField() {
    TaskField field = DurationField(
        {.name = "timeout_seconds",
         .about = "How long one attempt may run; the scheduler's default unless given.",
         .also = {"timeout"}},
        &Task::timeout, kShortest);
    field.gives = schema::Number();
    field.write = Shown(&Task::timeout, [](JsonWriter& json, Duration timeout) {
        if (timeout.count() % 1000 == 0) {
            json.Value(timeout.count() / 1000);
        } else {
            json.Value(static_cast<double>(timeout.count()) / 1000);
        }
    });
    return field;
}

TaskField MaxRetryField() {
    TaskField field = FieldOf({.name = "max_retry",
                               .about = "How many failed attempts are repeated.",
                               .flags = "retries"},
                              schema::Integer(0, kRetriesMax), schema::Integer(0), "0 to 10000");
    field.input = Input::kValue;
    field.read = ReadMaxRetry;
    field.clear = ForgetMaxRetry;
    field.write = Shown(&TaskOptions::retry, [](JsonWriter& json, const auto& retry) {
        json.Value(retry->retries_max);
    });
    return field;
}

TaskField RetryPolicyField() {
    TaskField field =
        FieldOf({"retry_policy",
                 "How failed attempts are repeated. In a PATCH, what is left out of it stays."},
                RetryPolicyRequestSchema(), RetryPolicySchema(),
                "`max_retries`, `delay`, `backoff_rate`, `delay_max`, `jitter`");
    field.input = Input::kJson;
    field.read = ReadRetryPolicy;
    field.clear = Reset(&TaskOptions::retry);
    field.write = Shown(&TaskOptions::retry, [](JsonWriter& json, const auto& retry) {
        WriteRetryPolicy(json, *retry);
    });
    return field;
}

TaskField StrategyField() {
    std::vector<std::string_view> names = NamesTo(Strategy::kResourceAware);
    const std::string own = R"({"type":"string","pattern":"^custom:."})";
    const std::string gives = R"({"anyOf":[)" + schema::OneOf(names) + "," + own + "]}";
    const std::string words = Listed(names) + ", custom:NAME";
    // Other schedulers' names for the same.
    for (const std::string_view also : {"least_loaded", "least_load", "weighted"}) {
        names.push_back(also);
    }
    TaskField field =
        FieldOf({.name = "load_balance_strategy",
                 .about = "How its worker is chosen; the scheduler's strategy unless given. "
                          "custom:NAME is one of the embedding program's own.",
                 .flags = "strategy"},
                R"({"anyOf":[)" + schema::OneOf(names) + "," + own + "]}", gives, words);
    field.read = ReadTaskStrategy;
    field.clear = ForgetStrategy;
    field.write = [](JsonWriter& json, std::string_view name, const ShownTask& view) {
        const TaskOptions& options = view.task.opt();
        if (!options.strategy) return;
        json.Field(name, std::string_view(StrategyText(*options.strategy, options.strategy_name)));
    };
    return field;
}

TaskField RateField() {
    TaskField field = FieldOf(
        {"rate_limit",
         "Starts: up to `count` at once, then evenly `count` in each `per`; so in any `per` "
         "at most twice `count`. In a PATCH, what is left out of it stays."},
        RateRequestSchema(), RateSchema(), "`100/1s`, or `count` and `per`");
    field.input = Input::kJson;
    field.read = ReadTaskRate;
    field.clear = Reset(&TaskOptions::rate);
    field.write = Shown(&TaskOptions::rate, WriteRate);
    return field;
}

TaskField CronField() {
    TaskField field = TextField({.name = "cron_expression",
                                 .about = "5 fields, 6 with seconds first, or @daily and friends.",
                                 .kind = Kind::kRecurring,
                                 .also = {"cron"}},
                                &Recurrence::cron, kKeyBytesMax);
    field.takes = R"({"type":"string","examples":["0 2 * * MON-FRI"]})";
    field.type = "cron expression";
    field.read = ReadCronText;
    field.clear = [](TaskDraft& draft, std::string_view name) {
        draft.schedule_field = name;
        if (Recurrence* recurrence = Present<Recurrence>(draft)) recurrence->cron = {};
    };
    return field;
}

TaskField TimeZoneField() {
    TaskField field = TextField({"timezone", "IANA name; UTC unless given.", Kind::kRecurring},
                                &Recurrence::timezone, kKeyBytesMax);
    field.takes = R"({"type":"string","examples":["Asia/Shanghai"]})";
    field.type = "name of a time zone";
    field.write = [](JsonWriter& json, std::string_view name, const ShownTask& view) {
        const Recurrence* recurrence = Present<Recurrence>(view.task);
        if (!recurrence) return;
        json.Field(name, recurrence->timezone.empty() ? "UTC" : recurrence->timezone.view());
    };
    return field;
}

TaskField ExcludedDatesField() {
    TaskField field =
        FieldOf({.name = "excluded_dates",
                 .about = "Days without fires, in the task's time zone.",
                 .kind = Kind::kRecurring,
                 .flags = "exclude"},
                R"({"type":"array","items":{"type":"string","format":"date"},"maxItems":1000})",
                R"({"type":"array","items":{"type":"string","format":"date"}})",
                "up to 1000 dates, \"2026-12-25\"");
    field.input = Input::kList;
    field.read = ReadExcludedDates;
    field.clear = Reset(&Recurrence::excluded_dates);
    field.write =
        Shown(&Recurrence::excluded_dates, [](JsonWriter& json, const std::vector<Text>& dates) {
            json.BeginArray();
            for (const Text& date : dates) json.Value(date.view());
            json.EndArray();
        });
    return field;
}

TaskField EnabledField() {
    TaskField field =
        FieldOf({"enabled", "False: paused, no fires.", Kind::kRecurring},
                R"({"type":"boolean","default":true})", schema::Bool(), "true or false");
    field.input = Input::kTruth;
    field.read = [](TaskDraft& draft, const JsonView& value, std::string_view name) {
        return Keep(ReadBool(value, name), [&](bool truth) { draft.enabled = truth; });
    };
    field.clear = [](TaskDraft& draft, std::string_view) { draft.enabled = true; };
    field.write = [](JsonWriter& json, std::string_view name, const ShownTask& view) {
        if (view.state) json.Field(name, !view.state->paused);
    };
    return field;
}

TaskField TraceParentField() {
    return TraceField(
        {"traceparent",
         "W3C trace context of whoever submits it; the header of the request unless given.",
         Kind::kOnce},
        &TaskOptions::trace, ReadTraceParent);
}

TaskField TraceStateField() {
    return TraceField(
        {"tracestate", "What goes with traceparent, handed on as it is.", Kind::kOnce},
        &TaskOptions::trace_state, ReadTraceState);
}

}  // namespace takt::internal::task_field
