#include "api/task_json.h"

#include "api/json_read.h"
#include "api/step_json.h"
#include "model/fire_plan.h"

namespace takt::internal {
namespace {

constexpr std::string_view kDefaultQueue = "default";

// The first field of that kind that the caller gave.
std::string_view FirstSeen(const TaskDraft& draft, TaskField::Kind kind) {
    const auto fields = TaskFields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (!draft.seen[i].empty() && fields[i].kind == kind) return draft.seen[i];
    }
    return {};
}

bool HasSchedule(const TaskDraft& draft) {
    if (!draft.options || !draft.options->recurrence) return false;
    const Recurrence& recurrence = *draft.options->recurrence;
    return !recurrence.cron.empty() || recurrence.every > Duration(0) ||
           recurrence.every_after_end > Duration(0);
}

// The way in which a recurring task does without a field that it cannot have.
std::string_view InsteadOf(std::string_view once) {
    if (once.starts_with("unique")) return "execution_mode keeps runs of a recurring task apart";
    if (once.starts_with("trace")) return "each run of a recurring task is a trace of its own";
    return "a recurring task has start_at";
}

// A schedule is blamed under the name that the caller gave it.
Error Blame(const TaskDraft& draft, Error error) {
    const bool schedule = error.field == "cron_expression" || error.field == "interval" ||
                          error.field == "interval_after_end";
    if (schedule && !draft.schedule_field.empty()) error.field = draft.schedule_field;
    return error;
}

Result<void> CheckRecurring(const TaskDraft& draft, Time now) {
    if (const std::string_view once = FirstSeen(draft, TaskField::Kind::kOnce); !once.empty()) {
        return BadField(once, "is for one-off tasks; " + std::string(InsteadOf(once)));
    }
    const Recurrence& recurrence = *draft.options->recurrence;
    // The zone is looked for first, so that a misspelt one is not blamed on the expression.
    if (const auto zone = TimeZone::Find(recurrence.timezone); !zone) {
        return Fail(zone.error().code, zone.error().detail, "timezone");
    }
    auto plan = FirePlan::Make(recurrence, now);
    if (!plan) return std::unexpected(Blame(draft, std::move(plan.error())));
    if (now == Time{}) return {};
    auto fires = plan->CheckFires(now);
    if (!fires) return std::unexpected(Blame(draft, std::move(fires.error())));
    return {};
}

Result<void> CheckOnce(const TaskDraft& draft) {
    const std::string_view recurring = FirstSeen(draft, TaskField::Kind::kRecurring);
    if (!recurring.empty()) {
        return BadField(
            recurring,
            "is for recurring tasks; add cron_expression, interval or interval_after_end, or leave "
            "it out");
    }
    if (draft.options && draft.options->delay > Duration(0) && draft.task->run_at != Time{}) {
        return BadField("delay", "and run_at exclude each other; give one of them");
    }
    return {};
}

Result<void> CheckPairs(const TaskDraft& draft) {
    if (!draft.options) return {};
    const TaskOptions& options = *draft.options;
    if (options.unique_for > Duration(0) && options.unique_key.empty()) {
        return BadField("unique_for", "needs unique_key");
    }
    const bool limited = options.concurrency_max > 0 || options.rate.count > 0;
    if (!options.concurrency_key.empty() && !limited) {
        return BadField("concurrency_key", "needs concurrency_max or rate_limit");
    }
    return {};
}

Result<void> CheckName(const TaskDraft& draft) {
    if (draft.task->name.empty()) return BadField("name", "is missing");
    return {};
}

// Whether a field of the task itself could not be read: others need not fit then.
bool HasUnreadField(const TaskDraft& draft) {
    if (!draft.review) return false;
    for (const Error& mistake : draft.review->mistakes) {
        if (!mistake.field.starts_with("steps")) return true;
    }
    return false;
}

Result<void> CheckTogether(const TaskDraft& draft, Time now) {
    if (HasUnreadField(draft)) return {};
    if (auto named = NoteMistake(draft, CheckName(draft)); !named) return named;
    if (auto paired = NoteMistake(draft, CheckPairs(draft)); !paired) return paired;
    return NoteMistake(draft, HasSchedule(draft) ? CheckRecurring(draft, now) : CheckOnce(draft));
}

Result<void> FillDefaults(TaskDraft& draft) {
    // The default in its full name is the default: who puts back what he got changes nothing.
    if (draft.options && draft.options->recurrence &&
        draft.options->recurrence->timezone.view() == "UTC") {
        draft.options->recurrence->timezone = Text();
    }
    Task& task = *draft.task;
    if (task.type.empty()) task.type = task.name;
    if (task.queue.empty()) task.queue = draft.pool->Get(kDefaultQueue);
    if (!HasSchedule(draft) && draft.options) draft.options->recurrence.reset();
    ApplyMaxRetry(draft);
    if (auto finished = FinishWorkflow(draft); !finished) return finished;
    // A task that asks for nothing special has no options, and equals another without.
    if (draft.options && !(*draft.options == TaskOptions())) {
        task.options = std::move(draft.options);
    }
    return {};
}

}  // namespace

void ApplyMaxRetry(TaskDraft& draft) {
    if (!draft.retries_max) return;
    RetryPolicy policy = draft.opt().retry.value_or(draft.limits->retry_default);
    policy.retries_max = *draft.retries_max;
    draft.opt().retry = policy;
}

Result<TaskRequest> ReadTask(const JsonView& object, const TaskLimits& limits, TextPool& pool,
                             const ReadTaskOptions& options) {
    if (object.kind() != JsonView::Kind::kObject) {
        return Fail(ErrorCode::kInvalid, "a task must be a JSON object");
    }
    TaskDraft draft{.task = NewTaskPtr(options.base ? new Task(*options.base) : new Task),
                    .limits = &limits,
                    .pool = &pool,
                    .review = options.review};
    if (draft.task->options) {
        draft.options = std::make_unique<TaskOptions>(*draft.task->options);
        draft.task->options.reset();
    }
    JsonView::Members members(object);
    while (members.Next()) {
        auto read = NoteMistake(
            draft, ReadTaskField(draft, members.key(), members.value(), options.accept_read_only));
        if (!read) return std::unexpected(std::move(read.error()));
    }
    if (options.base && options.base->recurring() && !HasSchedule(draft)) {
        return BadField(draft.schedule_field, "cannot be taken away; delete the task instead");
    }
    if (auto fits = CheckTogether(draft, options.now); !fits) {
        return std::unexpected(std::move(fits.error()));
    }
    if (auto filled = FillDefaults(draft); !filled) {
        return std::unexpected(std::move(filled.error()));
    }
    if (options.review && !options.review->mistakes.empty()) {
        return std::unexpected(options.review->mistakes.front());
    }
    return TaskRequest{std::move(draft.task), draft.enabled};
}

Result<Recurrence> ReadRecurrence(const JsonView& object, const TaskLimits& limits, TextPool& pool,
                                  const OtherField& other) {
    TaskDraft draft{.task = NewTaskPtr(new Task), .limits = &limits, .pool = &pool};
    JsonView::Members members(object);
    while (members.Next()) {
        const auto known = other(members.key(), members.value());
        if (!known) return std::unexpected(known.error());
        if (*known) continue;
        const auto number = FindTaskField(members.key());
        const auto kind = number ? TaskFields()[*number].kind : TaskField::Kind::kRecurring;
        if (kind == TaskField::Kind::kOnce) {
            return BadField(members.key(), "is for one-off tasks, which fire once; leave it out");
        }
        if (kind != TaskField::Kind::kRecurring) continue;
        auto read = ReadTaskField(draft, members.key(), members.value(), false);
        if (!read) return std::unexpected(std::move(read.error()));
    }
    return draft.recur();
}

}  // namespace takt::internal
