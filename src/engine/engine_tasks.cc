// Recurring tasks: made, changed, paused, triggered, deleted. When they fire is engine_fires.cc.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "engine/engine.h"
#include "engine/passed_over.h"
#include "model/task_circle.h"
#include "model/workflow.h"

namespace takt::internal {
namespace {

std::unexpected<Error> WrongVersion(const TaskId& id, std::uint32_t version) {
    return Fail(ErrorCode::kConflict,
                "task '" + id.text().str() + "' has been changed; its version is now " +
                    std::to_string(version) + ". Read it again, then decide again",
                "version");
}

// An executor brings its tasks each time it starts; unchanged they are nobody's change.
bool IsTold(const PutTask& put, const TaskRow& before) {
    return !put.if_own || !SameRequest(*before.task, *put.task) ||
           put.paused.value_or(before.state.paused) != before.state.paused;
}

// The change that closes a circle is refused; those that were stored before this was checked end at the
// depth that runs may have.
template <typename Tasks>
Result<void> CheckNoCircle(const Tasks& tasks, const Task& task) {
    if (!task.workflow() || task.id.empty()) return {};
    return CheckCircle(task.id.text().str(), [&](const std::string& id) {
        if (id == task.id.view()) return NamingStepsOf(task);
        const auto found = tasks.find(Text(id));
        return found == tasks.end() ? std::vector<NamingStep>()
                                    : NamingStepsOf(*found->second->row.task);
    });
}

}  // namespace

Recurring& Engine::Adopt(TaskRow row) {
    auto& recurring = tasks_[row.task->id.text()];
    const bool is_new = !recurring;
    if (is_new) {
        // Runs of a task of this id that was deleted go on, and this one's wait for them.
        const auto deleted = deleted_.find(row.task->id.text());
        if (deleted != deleted_.end()) {
            recurring = std::move(deleted->second);
            recurring->deleted = false;
            deleted_.erase(deleted);
        } else {
            recurring = std::make_unique<Recurring>();
            recurring->order = ++tasks_made_;
        }
    }
    recurring->row = std::move(row);
    if (recurring->turns) holds_.SetTurnsAtOnce(*recurring->turns, recurring->TurnsAtOnce());
    if (is_new) TakeTurnsAgain(*recurring);
    return *recurring;
}

void Engine::RestoreTask(TaskRow task) {
    Adopt(std::move(task));
}

// A one-off task may have had the id and be finished and out of memory.
void Engine::On(PutTask& put) {
    TAKT_CHECK(put.task && put.task->recurring());
    const Text id = put.task->id.text();
    if (id.empty() || tasks_.contains(id)) return MakeOrChange(put);
    const ExecutionId execution(id);
    if (const Live* live = FindLive(execution)) return AnswerTo(put, live->row);
    AskStore(execution, std::move(put));
}

void Engine::AnswerTo(const PutTask& put, const std::optional<Execution>& found) {
    // Runs of recurring tasks have ids of their own, which name no task.
    if (!found || found->origin != Origin::kOnce) return MakeOrChange(put);
    draft_.Reply(put.request, Fail(ErrorCode::kConflict,
                                   "a one-off task has the id '" + put.task->id.text().str() +
                                       "'; choose another id",
                                   "id"));
}

void Engine::MakeOrChange(const PutTask& put) {
    Task& task = *put.task;
    const auto found = task.id.empty() ? tasks_.end() : tasks_.find(task.id.text());
    const bool exists = found != tasks_.end();
    if (exists && put.create_only) {
        const TaskRow& row = found->second->row;
        if (SameRequest(*row.task, task)) {
            if (put.paused) PauseFor(put.by, *found->second, *put.paused);
            return draft_.Reply(put.request, Answer{.task = row});
        }
        return draft_.Reply(put.request, Fail(ErrorCode::kConflict,
                                              "a task with the id '" + task.id.text().str() +
                                                  "' exists already and asks for something else",
                                              "id"));
    }
    if (put.if_own && exists && found->second->row.task->opt().target != task.opt().target) {
        return draft_.Reply(
            put.request,
            Fail(ErrorCode::kConflict,
                 "the task '" + task.id.text().str() + "' is not this executor's", "id"));
    }
    if (put.if_version != 0 && (!exists || found->second->row.task->version != put.if_version)) {
        return draft_.Reply(
            put.request,
            exists ? WrongVersion(task.id, found->second->row.task->version) : NoSuchTask(task.id));
    }
    if (!exists && IsOwnToCome(task.id.view())) return draft_.Reply(put.request, TakenForOwn());
    if (!exists && IsChildId(task.id.view())) return draft_.Reply(put.request, TakenForStep());
    if (auto apart = CheckNoCircle(tasks_, task); !apart)
        return draft_.Reply(put.request, std::unexpected(apart.error()));
    if (std::string why = locks_.WhyNever(task); !why.empty())
        return draft_.Reply(put.request, Fail(ErrorCode::kInvalid, std::move(why), "locks"));
    task.updated_at = now_.wall;
    task.created_at = exists ? found->second->row.task->created_at : now_.wall;
    task.version = exists ? found->second->row.task->version + 1 : 1;
    // Times that are the same keep their place, so that what was missed is still made up for. They
    // were good once, and may be over: that is no reason to refuse another change.
    const bool same_times =
        exists && found->second->row.task->opt().recurrence == task.opt().recurrence;
    if (!same_times) {
        const auto plan = FirePlan::Make(*task.opt().recurrence, task.created_at);
        if (!plan) return draft_.Reply(put.request, std::unexpected(plan.error()));
        const auto fires = plan->CheckFires(now_.wall);
        if (!fires) return draft_.Reply(put.request, std::unexpected(fires.error()));
    }
    while (task.id.empty()) {
        Text id = FreshId().second;
        if (!tasks_.contains(id)) task.id = TaskId(std::move(id));
    }
    const bool told = put.by && (!exists || IsTold(put, found->second->row));
    AuditDocument before;
    if (told && exists) before = TaskDocument(found->second->row);
    if (exists && !same_times) MissOverdue(*found->second);
    holds_.ChangeNamer(exists ? found->second->row.task.get() : nullptr, &task);
    TaskRow row{.task = put.task, .state = exists ? found->second->row.state : FireState{}};
    Recurring& recurring = Adopt(std::move(row));
    if (!same_times) {
        // Nothing is overdue by times that are new.
        if (put.paused) Mark(recurring.row.state, *put.paused);
        PlanFromNow(recurring);
    } else if (put.paused) {
        SetPaused(recurring, *put.paused);
    }
    Write(recurring);
    EmitChange(*recurring.row.task, exists ? "changed" : "made");
    if (told) {
        draft_.Audit(put.by, {{"task", task.id.text().str()}, before, TaskDocument(recurring.row)});
    }
    draft_.Reply(put.request, Answer{.task = recurring.row, .created = !exists});
}

void Engine::On(DeleteTask& remove) {
    const auto found = tasks_.find(remove.task.text());
    if (found == tasks_.end()) return draft_.Reply(remove.request, NoSuchTask(remove.task));
    Recurring& recurring = *found->second;
    if (remove.if_version != 0 && recurring.row.task->version != remove.if_version) {
        return draft_.Reply(remove.request, WrongVersion(remove.task, recurring.row.task->version));
    }
    // Before the task: if the leader dies in between, it is still there to be deleted again.
    if (remove.runs == RunsOfDeleted::kCancel && !CancelWaitingRuns(recurring)) {
        return deletes_.push_back(std::move(remove));
    }
    if (remove.by) {
        draft_.Audit(remove.by, {.target = {"task", remove.task.text().str()},
                                 .before = TaskDocument(recurring.row)});
    }
    draft_.Reply(remove.request, Answer{.task = recurring.row});
    holds_.ChangeNamer(recurring.row.task.get(), nullptr);
    fires_.Remove(recurring);
    awaited_.NotePlanned(recurring);
    draft_.MakeUrgent();
    draft_.Put(recurring.mark, TaskDelete{remove.task});
    recurring.deleted = true;
    const bool used = !recurring.runs.empty() || recurring.stopping > 0;
    if (used) deleted_[found->first] = std::move(found->second);
    tasks_.erase(found);
    draft_.Emit(Event{.type = EventType::kTaskDeleted, .task = remove.task});
}

// Goes on with what one step could not do.
void Engine::ContinueDeleting() {
    for (std::size_t turns = deletes_.size(); turns > 0 && !draft_.Tired(); --turns) {
        DeleteTask remove = std::move(deletes_.front());
        deletes_.pop_front();
        On(remove);
    }
}

void Engine::EmitChange(const Task& task, std::string_view what) {
    draft_.Emit(Event{.type = EventType::kTaskChanged, .task = task.id, .detail = Text(what)});
}

void Engine::On(PauseTask& pause) {
    const auto found = tasks_.find(pause.task.text());
    if (found == tasks_.end()) return draft_.Reply(pause.request, NoSuchTask(pause.task));
    const std::uint32_t version = found->second->row.task->version;
    if (pause.if_version != 0 && version != pause.if_version) {
        return draft_.Reply(pause.request, WrongVersion(pause.task, version));
    }
    PauseFor(pause.by, *found->second, pause.paused);
    EmitChange(*found->second->row.task, pause.paused ? "paused" : "resumed");
    draft_.Reply(pause.request, Answer{.task = found->second->row});
}

void Engine::Mark(FireState& state, bool paused) {
    if (state.paused == paused) return;
    state.paused = paused;
    state.paused_at = paused ? now_.wall : Time{};
}

// A new version although its text stays: who read it before and writes it back, enabled, would undo
// the pause without a word.
void Engine::Stamp(Recurring& recurring) {
    auto task = NewTaskPtr(new Task(*recurring.row.task));
    task->updated_at = now_.wall;
    ++task->version;
    recurring.row.task = std::move(task);
}

void Engine::SetPaused(Recurring& recurring, bool paused) {
    if (recurring.row.state.paused == paused) return;
    // Times that were overdue before the pause and that became due in it are made up for only if
    // the task asks for it; else they are on record.
    const bool catch_up = recurring.row.task->opt().catch_up_after_pause;
    if (!catch_up) MissOverdue(recurring);
    Mark(recurring.row.state, paused);
    if (!catch_up) {
        // A row of an earlier version has no book of due times that could decide.
        recurring.row.state.first_at == Time{} ? PlanFromNow(recurring)
                                               : PlanFrom(recurring, now_.wall);
    } else if (!paused && recurring.row.state.next_at > now_.wall) {
        // A clock that was ahead may have planned it; the change that would tell need not be the last.
        const bool own = recurring.row.task->opt().recurrence->every_after_end == Duration(0);
        if (own || MayComeBefore(recurring.row, now_.wall)) PlanFrom(recurring, now_.wall);
    }
    Arm(recurring);
    Write(recurring);
}

// An operator pauses or resumes it, in a change of its own.
void Engine::PauseFor(const ActPtr& by, Recurring& recurring, bool paused) {
    if (recurring.row.state.paused == paused) return;
    AuditChange change{.target = {"task", recurring.row.task->id.text().str()}};
    if (by) change.before = TaskDocument(recurring.row);
    Stamp(recurring);
    SetPaused(recurring, paused);
    if (by) change.after = TaskDocument(recurring.row);
    draft_.Audit(by, std::move(change));
}

void Engine::RunNow(Trigger& trigger) {
    const auto found = tasks_.find(trigger.task.text());
    if (found == tasks_.end()) return draft_.Reply(trigger.request, NoSuchTask(trigger.task));
    const QuotaMeter::Wish wish{.payload_bytes = trigger.payload.size(), .submitted = false};
    if (!MayWait(wish, trigger.request)) return;
    Execution row = Fire(*found->second, {.due = now_.wall,
                                          .origin = Origin::kTrigger,
                                          .execution = std::move(trigger.execution),
                                          .payload = std::move(trigger.payload),
                                          .force = trigger.force});
    if (found->second->row.task->opt().recurrence->every_after_end > Duration(0)) {
        // The delay counts from the end of the last run, this one included.
        PlanFrom(*found->second, now_.wall);
        Write(*found->second);
    }
    if (trigger.by) {
        draft_.Audit(trigger.by, {.target = {"task", trigger.task.text().str()},
                                  .after = FieldsDocument({{"execution_id", row.id.view()}})});
    }
    draft_.Reply(trigger.request, Answer{.execution = std::move(row), .created = true});
}

}  // namespace takt::internal
