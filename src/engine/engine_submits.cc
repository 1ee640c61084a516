// Callers submit an execution, cancel it, conclude it, or run it again.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// Ids of the form that the engine gives are refused if it could come to give them within this time:
// longer than finished ones are usually kept. Those beyond are too far away to matter, and may be
// meant: a Unix time in milliseconds has the same form.
constexpr Duration kOwnIds{366LL * 86'400'000};

}  // namespace

void Engine::On(Submit& submit) {
    TAKT_CHECK(submit.task && submit.task->priority <= kPriorityMax && !submit.task->queue.empty());
    const TaskId& id = submit.task->id;
    if (id.empty()) return CreateOnce(submit);
    const ExecutionId execution(id.text());
    if (const Live* live = FindLive(execution)) return AnswerTo(submit, live->row);
    if (IsOwnToCome(id.view())) return draft_.Reply(submit.request, TakenForOwn());
    AskStore(execution, std::move(submit));
}

void Engine::On(Cancel& cancel) {
    Live* live = FindLive(cancel.execution);
    if (!live) {
        const ExecutionId id = cancel.execution;
        return AskStore(id, std::move(cancel));
    }
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = Reason::kCancelled;
    outcome->message = cancel.reason;
    if (!TAKT_MUTANT("engine.empty_cancels")) EndNow(*live, Status::kCancelled, outcome, cancel.by);
    draft_.Reply(cancel.request, Answer{.execution = live->row});
}

void Engine::On(Conclude& conclude) {
    TAKT_CHECK(IsTerminal(conclude.status) && conclude.status != Status::kSkipped);
    Live* live = FindLive(conclude.execution);
    if (!live) {
        const ExecutionId id = conclude.execution;
        return AskStore(id, std::move(conclude));
    }
    if (!CanFollow(live->row.status, conclude.status)) {
        return draft_.Reply(conclude.request,
                            Fail(ErrorCode::kConflict,
                                 "execution '" + conclude.execution.text().str() + "' is " +
                                     std::string(Name(live->row.status)) + " and cannot become " +
                                     std::string(Name(conclude.status))));
    }
    if (!TAKT_MUTANT("engine.empty_concludes")) {
        EndNow(*live, conclude.status, std::move(conclude.outcome), conclude.by);
    }
    draft_.Reply(conclude.request, Answer{.execution = live->row});
}

// Its history tells the operator's word from a worker's later report.
static void RememberConclusion(Execution& row, const OutcomePtr& outcome, Time now) {
    row.outcome = RememberAttempt(row, {.end = AttemptEnd::kCancelled,
                                        .reason = Reason::kCancelled,
                                        .message = outcome ? outcome->message.view() : "",
                                        .at = now});
}

// Ends an execution wherever it is, without its worker's word.
void Engine::EndNow(Live& live, Status status, OutcomePtr outcome, const ActPtr& by) {
    if (by) {
        const std::string why = outcome ? outcome->message.str() : "";
        draft_.Audit(by, {.target = {"execution", live.row.id.text().str()},
                          .before = FieldsDocument({{"status", Name(live.row.status)}}),
                          .after = FieldsDocument({{"status", Name(status)}, {"message", why}})});
    }
    if (IsRun(live) && live.row.status == Status::kRunning) {
        const Outcome how = outcome ? *outcome : Outcome();
        return EndRun(
            *live.flow,
            {.status = status, .reason = how.reason, .message = how.message, .data = how.data});
    }
    if (!live.slot) {
        Unqueue(live);
        return FinishExecution(live, status, std::move(outcome));
    }
    if (StopAtWorker(live, Reason::kCancelled)) AwaitStop(live);
    if (status != Status::kCancelled) RememberConclusion(live.row, outcome, now_.wall);
    Slot& slot = TakeFromHand(live);
    FinishExecution(live, status, std::move(outcome));
    FeedWorker(slot);
}

void Engine::On(Redrive& redrive) {
    if (const Live* live = FindLive(redrive.execution)) return AnswerTo(redrive, live->row);
    const ExecutionId id = redrive.execution;
    AskStore(id, std::move(redrive));
}

void Engine::On(Trigger& trigger) {
    if (trigger.execution.empty()) return RunNow(trigger);
    if (IsChildId(trigger.execution.view())) {
        return draft_.Reply(trigger.request, TakenForStep());
    }
    if (const Live* live = FindLive(trigger.execution)) return AnswerTo(trigger, live->row);
    if (IsOwnToCome(trigger.execution.view())) {
        return draft_.Reply(trigger.request, TakenForOwn());
    }
    const ExecutionId id = trigger.execution;
    AskStore(id, std::move(trigger));
}

// Whether the namespace may have one more execution that somebody asks for; if not, says so.
bool Engine::MayWait(QuotaMeter::Wish wish, RequestId request) {
    wish.waiting = count(Status::kPending) + count(Status::kRetrying);
    wish.now = now_.steady;
    const auto admitted = quotas_.Admit(wish);
    if (!admitted) draft_.Reply(request, std::unexpected(admitted.error()));
    return admitted.has_value();
}

void Engine::CreateOnce(const Submit& submit) {
    Task& task = *submit.task;
    if (IsChildId(task.id.view())) return draft_.Reply(submit.request, TakenForStep());
    if (!MayClaim(task, ExecutionId(task.id.text()), submit.request)) return;
    if (std::string why = locks_.WhyNever(task); !why.empty()) {
        return draft_.Reply(submit.request, Fail(ErrorCode::kInvalid, std::move(why), "locks"));
    }
    const Queue& queue = lanes_.QueueOf(task.queue);
    if (queue.waiting >= config_.pending_max && !TAKT_MUTANT("engine.overfull_queues")) {
        return draft_.Reply(submit.request, Fail(ErrorCode::kExhausted,
                                                 "queue '" + task.queue.str() +
                                                     "' is full: " + std::to_string(queue.waiting) +
                                                     " executions wait in it; try again later",
                                                 "queue"));
    }
    if (!MayWait({.payload_bytes = task.payload.size()}, submit.request)) return;
    Execution row;
    if (task.id.empty()) {
        auto [serial, id] = FreshId();
        row.serial = serial;
        task.id = TaskId(std::move(id));
    } else {
        row.serial = draft_.NextSerial();
    }
    task.created_at = task.updated_at = now_.wall;
    row.id = ExecutionId(task.id.text());
    row.created_at = now_.wall;
    row.scheduled_at = task.run_at != Time{} ? task.run_at : now_.wall + task.opt().delay;
    row.ready_at = row.scheduled_at;
    row.task = submit.task;
    Live& live = InsertExecution(std::move(row), Place::kNone);
    claims_.Hold(live.row, clock_.trusted(), draft_);
    Write(live, Place::kLive, true);
    ++counters_.submitted;
    Emit(EventType::kTaskSubmitted, live);
    AwaitTime(live);
    if (submit.by) {
        AuditChange change = submit.by->change;
        change.after = FieldsDocument({{"execution_id", live.row.id.view()}});
        draft_.Audit(submit.by, std::move(change));
    }
    draft_.Reply(submit.request, Answer{.execution = live.row, .created = true});
}

// Whether the task's unique key, if it has one, is free for this execution. Replies if not.
bool Engine::MayClaim(const Task& task, const ExecutionId& self, RequestId request) {
    const Claim* claim = claims_.HolderAgainst(self, task, clock_.undoubted());
    if (!claim) return true;
    // Its caller named no unique key.
    if (claim->live && task.workflow() && task.workflow()->steps().front().backfill) {
        draft_.Reply(request, Fail(ErrorCode::kConflict, "a backfill of this task is under way: " +
                                                             claim->execution.text().str()));
        return false;
    }
    draft_.Reply(request,
                 Fail(ErrorCode::kConflict,
                      "execution '" + claim->execution.text().str() + "' holds the unique key '" +
                          task.opt().unique_key.str() + "' until " +
                          (claim->live ? std::string("it is finished") : FormatTime(claim->until)),
                      "unique_key"));
    return false;
}

// A serial and the id spelled from it. Callers may have chosen ids of the same form long ago: those
// that live are passed over, each once.
std::pair<Serial, Text> Engine::FreshId() {
    for (;;) {
        const Serial serial = draft_.NextSerial();
        Text id(SerialText(serial));
        if (!live_.Find(id.view())) return {serial, std::move(id)};
    }
}

// Whether the engine itself may come to give this id.
bool Engine::IsOwnToCome(std::string_view id) const {
    const std::optional<Serial> serial = ParseSerial(id);
    return serial && *serial > draft_.last_serial() && *serial < SerialAt(now_.wall + kOwnIds);
}

std::unexpected<Error> TakenForStep() {
    return Fail(ErrorCode::kInvalid,
                "ids that end with ~ and numbers are given to the steps of workflows; choose "
                "another, or leave it out",
                "id");
}

std::unexpected<Error> TakenForOwn() {
    return Fail(ErrorCode::kInvalid,
                "ids of 13 characters like this one are given by the scheduler itself; "
                "choose another, or leave it out",
                "id");
}

}  // namespace takt::internal
