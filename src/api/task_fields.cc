// The table of a task's fields.
#include "api/step_json.h"
#include "api/task_field_readers.h"
#include "api/task_json.h"
#include "api/task_own_fields.h"

namespace takt::internal::task_field {
namespace {

// Metadata and labels travel with every dispatch: a few, and short.
constexpr PairLimits kMetadataLimits = {64, 128, 4096};
constexpr PairLimits kLabelLimits = {32, 64, 256};
constexpr Duration kIntervalMin{100};  // As FirePlan has it.

// Set by the scheduler, and shown of recurring tasks: of one-off tasks their execution tells more.
template <typename WriteValue>
TaskField StateField(std::string_view name, std::string_view about, std::string gives,
                     WriteValue write) {
    TaskField field = FieldOf({name, about, Kind::kReadOnly}, "", std::move(gives), "");
    field.write = [write](JsonWriter& json, std::string_view key, const ShownTask& view) {
        if (!view.state) return;
        json.Key(key);
        write(json, view);
    };
    return field;
}

void AddCommon(std::vector<TaskField>& to) {
    to.push_back(IdField());
    to.push_back(NameField({"name", "What people call it."}, &Task::name));
    to.push_back(
        NameField({"type", "What workers know it by; the name unless given."}, &Task::type));
    to.back().always_given = false;  // A task with steps has none.
    to.push_back(QueueField());
    to.push_back(PriorityField());
    to.push_back(PayloadField());
    to.push_back(TimeoutField());
    to.push_back(MaxRetryField());
    to.push_back(RetryPolicyField());
    to.push_back(StrategyField());
    to.push_back(PairsField({"metadata", "Passed on to the worker."}, &TaskOptions::metadata,
                            kMetadataLimits));
    to.push_back(PairsField(
        {.name = "labels", .about = "A worker must carry all of them.", .flags = "label"},
        &TaskOptions::labels, kLabelLimits));
    to.push_back(
        TextField({"executor", "The only executor service or worker group that may run it."},
                  &TaskOptions::target, kKeyBytesMax));
    to.push_back(
        DurationField({"expires_after", "Dropped if not started this long after its time."},
                      &TaskOptions::expires_after, kShortest));
    to.push_back(TextField(
        {"concurrency_key", "Executions that share the key share concurrency_max and rate_limit."},
        &TaskOptions::concurrency_key, kKeyBytesMax));
    to.push_back(CountField({"concurrency_max", "At most so many executions at once."},
                            &TaskOptions::concurrency_max, {1, kCountMax}));
    to.push_back(RateField());
    to.push_back(LocksField());
}

void AddOnce(std::vector<TaskField>& to) {
    to.push_back(TimeField(
        {.name = "run_at", .about = "Not before this time.", .kind = Kind::kOnce, .flags = "at"},
        &Task::run_at));
    to.push_back(
        DurationField({"delay", "Not before this long after it was accepted.", Kind::kOnce},
                      &TaskOptions::delay, Duration(0)));
    to.push_back(TextField(
        {"unique_key", "While an execution with this key lives, no second one.", Kind::kOnce},
        &TaskOptions::unique_key, kKeyBytesMax));
    to.push_back(DurationField({"unique_for", "How long unique_key holds.", Kind::kOnce},
                               &TaskOptions::unique_for, kShortest));
    to.push_back(TraceParentField());
    to.push_back(TraceStateField());
}

void AddSchedule(std::vector<TaskField>& to) {
    constexpr Kind kKind = Kind::kRecurring;
    to.push_back(CronField());
    to.push_back(IntervalField({.name = "interval",
                                .about = "Fixed rate: from fire to fire.",
                                .kind = kKind,
                                .also = {"every"}},
                               &Recurrence::every, kIntervalMin));
    to.push_back(IntervalField({.name = "interval_after_end",
                                .about = "Fixed delay: from the end of a run to the next fire.",
                                .kind = kKind,
                                .also = {"every_after_end"}},
                               &Recurrence::every_after_end, kIntervalMin));
    to.push_back(TimeZoneField());
    to.push_back(
        ChoiceField({"dst", "Local times that daylight saving time skips or repeats.", kKind},
                    &Recurrence::dst, ParseDst, Dst::kTwice));
    to.push_back(TimeField({"start_at", "No fire before.", kKind}, &Recurrence::start_at));
    to.push_back(TimeField({"end_at", "No fire at or after.", kKind}, &Recurrence::end_at));
    to.push_back(CountField({"fires_max", "No more fires than this.", kKind},
                            &Recurrence::fires_max, {1, UINT32_MAX}));
    to.push_back(DurationField({"jitter", "Each fire is delayed by up to this.", kKind},
                               &Recurrence::jitter, Duration(0)));
    to.push_back(ExcludedDatesField());
}

void AddFiring(std::vector<TaskField>& to) {
    constexpr Kind kKind = Kind::kRecurring;
    to.push_back(ChoiceField(
        {"execution_mode", "What a fire does while the previous run is still going.", kKind},
        &TaskOptions::mode, ParseMode, Mode::kReplace));
    to.push_back(ChoiceField(
        {"misfire_policy", "What becomes of fires whose time passed while nobody could fire them.",
         kKind},
        &TaskOptions::misfire, ParseMisfire, Misfire::kSkip));
    to.push_back(CountField({"misfires_max", "For fire_all: more are recorded as missed.", kKind},
                            &TaskOptions::misfires_max, {1, 10'000}, true));
    to.push_back(CountField({"backlog_max", "For sequential: fires beyond are skipped.", kKind},
                            &TaskOptions::backlog_max, {0, 100'000}, true));
    to.push_back(DurationField({"start_deadline", "A fire later than this is missed.", kKind},
                               &TaskOptions::start_deadline, kShortest));
    to.push_back(TruthField(
        {"catch_up_after_pause", "Whether fires that a pause held back are made up for.", kKind},
        &TaskOptions::catch_up_after_pause));
    to.push_back(EnabledField());
}

void AddState(std::vector<TaskField>& to) {
    TaskField version = FieldOf({"version", "Rises with each change; the ETag.", Kind::kReadOnly},
                                "", schema::Integer(), "");
    version.write = [](JsonWriter& json, std::string_view name, const ShownTask& view) {
        json.Field(name, view.task.version);
    };
    version.always_given = true;
    to.push_back(std::move(version));
    to.push_back(StateField("created_at", "When it was made.", schema::Time(),
                            [](auto& json, auto& view) { json.Value(view.task.created_at); }));
    to.push_back(StateField("updated_at", "When it was changed last.", schema::Time(),
                            [](auto& json, auto& view) { json.Value(view.task.updated_at); }));
    to.push_back(StateField("next_fire_at", "null: none is to come, or it is paused.",
                            schema::OrNull(schema::Time()), [](auto& json, auto& view) {
                                json.Value(view.state->paused ? Time{} : view.state->next_at);
                            }));
    to.push_back(StateField("last_fire_at", "null: it has not fired yet.",
                            schema::OrNull(schema::Time()),
                            [](auto& json, auto& view) { json.Value(view.state->last_at); }));
    to.push_back(StateField("fires", "Fires made so far.", schema::Integer(0),
                            [](auto& json, auto& view) { json.Value(view.state->fires); }));
    to.push_back(StateField("missed", "Due times that the misfire policy or a pause dropped.",
                            schema::Integer(0),
                            [](auto& json, auto& view) { json.Value(view.state->missed); }));
}

}  // namespace

std::string Listed(const std::vector<std::string_view>& names) {
    std::string text;
    for (const std::string_view name : names) {
        if (!text.empty()) text += ", ";
        text += name;
    }
    return text;
}

}  // namespace takt::internal::task_field

namespace takt::internal {

std::span<const TaskField> TaskFields() {
    static const std::vector<TaskField> fields = [] {
        std::vector<TaskField> made;
        task_field::AddCommon(made);
        task_field::AddFlow(made);
        task_field::AddOnce(made);
        task_field::AddSchedule(made);
        task_field::AddFiring(made);
        task_field::AddState(made);
        return made;
    }();
    return fields;
}

std::string StrategyText(Strategy strategy, std::string_view own_name) {
    if (strategy != Strategy::kCustom) return std::string(Name(strategy));
    return std::string(kOwnStrategyPrefix) + std::string(own_name);
}

}  // namespace takt::internal
