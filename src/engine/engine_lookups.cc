// Questions about an execution that is not live: it may be finished and out of memory, so the store
// is asked first. What is asked is answered here; what needs no store is engine_submits.cc.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// An execution that is to be purged within this time is not run again: the purge may be on its way.
constexpr Duration kRedriveMargin{60'000};

// Whether this attempt was the last one of the execution, and is over.
bool IsEndOf(const Execution& row, const AttemptRef& attempt) {
    if (row.attempt != attempt.attempt || row.token != attempt.token) return false;
    if (IsTerminal(row.status)) return true;
    // An execution that waits again after its worker was lost has no end of that attempt: what its
    // outcome says is of an earlier one.
    const bool failed = row.outcome && !row.outcome->past.empty() &&
                        row.outcome->past.back().attempt == attempt.attempt &&
                        row.outcome->past.back().end == AttemptEnd::kFailed;
    return IsWaiting(row.status) && failed;
}

// Whether its last attempt had its timeout, whatever became of the execution since.
bool RanOutOfTime(const Execution& row) {
    if (!row.outcome || row.outcome->past.empty()) return false;
    const PastAttempt& last = row.outcome->past.back();
    return last.attempt == row.attempt && last.reason == Reason::kTimeout;
}

// Whether what is stored is what the report says.
bool SaysTheSame(const Report& report, const Execution& row) {
    static const Outcome kNothing;
    const Outcome& said = report.outcome ? *report.outcome : kNothing;
    const Outcome& kept = row.outcome ? *row.outcome : kNothing;
    return report.success == (row.status == Status::kSuccess) && said.reason == kept.reason &&
           said.code == kept.code && said.message == kept.message && said.data == kept.data;
}

}  // namespace

// Questions about one id wait their turn while the store is being asked, so that two submits of it
// can never both find it free.
void Engine::AskStore(const ExecutionId& id, Question question) {
    auto [entry, first] = questions_.try_emplace(id.text());
    entry->second.push_back(std::move(question));
    if (!first) return;
    draft_.LookUp(id);
}

void Engine::On(LookupDone& lookup) {
    TAKT_CHECK(lookup.ids.size() == lookup.found.size());
    for (std::size_t i = 0; i < lookup.ids.size(); ++i) {
        const auto entry = questions_.find(lookup.ids[i].text());
        if (entry == questions_.end()) continue;
        std::vector<Question> questions = std::move(entry->second);
        questions_.erase(entry);
        // A change of an execution is told as an event. From then on the store's answer is old:
        // while the execution lives the engine knows better, and once it ended the store has to be
        // asked again.
        const std::size_t events = draft_.events_told();
        for (Question& question : questions) {
            const bool outdated = draft_.events_told() != events;
            std::visit(
                [&](auto& known) { outdated ? On(known) : AnswerTo(known, lookup.found[i]); },
                question);
        }
    }
}

void Engine::AnswerTo(const Submit& submit, const std::optional<Execution>& found) {
    if (!found) {
        if (!tasks_.contains(submit.task->id.text())) return CreateOnce(submit);
        return draft_.Reply(submit.request,
                            Fail(ErrorCode::kConflict,
                                 "a recurring task has the id '" + submit.task->id.text().str() +
                                     "'; choose another id, or give the task its schedule "
                                     "too to change it",
                                 "id"));
    }
    if (SameRequest(*found->task, *submit.task) && !TAKT_MUTANT("engine.refuse_repeats"))
        return draft_.Reply(submit.request, Answer{.execution = *found});
    draft_.Reply(submit.request,
                 Fail(ErrorCode::kConflict,
                      "a task with the id '" + submit.task->id.text().str() +
                          "' exists already and asks for something else; choose another id",
                      "id"));
}

void Engine::AnswerTo(Trigger& trigger, const std::optional<Execution>& found) {
    if (!found) return RunNow(trigger);
    if (found->origin == Origin::kTrigger && found->task->id == trigger.task &&
        found->payload == trigger.payload) {
        return draft_.Reply(trigger.request, Answer{.execution = *found});
    }
    draft_.Reply(trigger.request,
                 Fail(ErrorCode::kConflict,
                      "an execution with the id '" + trigger.execution.text().str() +
                          "' exists already and is no such run; choose another id",
                      "id"));
}

void Engine::AnswerTo(const Cancel& cancel, const std::optional<Execution>& found) {
    RefuseFinished(cancel.request, cancel.execution, found);
}

void Engine::AnswerTo(const Conclude& conclude, const std::optional<Execution>& found) {
    RefuseFinished(conclude.request, conclude.execution, found);
}

void Engine::RefuseFinished(RequestId request, const ExecutionId& id,
                            const std::optional<Execution>& found) {
    const std::string name = id.text().str();
    if (!found) {
        return draft_.Reply(request,
                            Fail(ErrorCode::kNotFound, "there is no execution '" + name + "'"));
    }
    draft_.Reply(request,
                 Fail(ErrorCode::kConflict, "execution '" + name + "' is finished already (" +
                                                std::string(Name(found->status)) + ")"));
}

// An execution that is run again keeps its history, its last attempt included.
static void RememberLast(Execution& row) {
    const Outcome* outcome = row.outcome.get();
    const bool known =
        outcome && !outcome->past.empty() && outcome->past.back().attempt == row.attempt;
    if (row.attempt == 0 || known) return;
    row.outcome = RememberAttempt(
        row,
        {.end = row.status == Status::kCancelled ? AttemptEnd::kCancelled : AttemptEnd::kFailed,
         .reason = outcome ? outcome->reason : Reason::kNone,
         .message = outcome ? outcome->message.view() : "",
         .at = row.finished_at});
}

void Engine::AnswerTo(const Redrive& redrive, const std::optional<Execution>& found) {
    const std::string id = redrive.execution.text().str();
    if (!found) {
        return draft_.Reply(redrive.request,
                            Fail(ErrorCode::kNotFound, "there is no execution '" + id + "'"));
    }
    if (!CanFollow(found->status, Status::kPending) || !IsTerminal(found->status)) {
        return draft_.Reply(redrive.request,
                            Fail(ErrorCode::kConflict,
                                 "execution '" + id + "' is " + std::string(Name(found->status)) +
                                     "; only failed and cancelled ones can be run again"));
    }
    if (!found->parent.empty()) return draft_.Reply(redrive.request, BelongsToRun(*found));
    const Duration margin = std::min(kRedriveMargin, config_.retention / 2);
    if (found->finished_at <
        std::max(now_.wall - config_.retention, retention_.purged_before()) + margin) {
        return draft_.Reply(
            redrive.request,
            Fail(ErrorCode::kConflict, "execution '" + id +
                                           "' is about to be deleted, its retention ends; "
                                           "submit its task again"));
    }
    if (found->origin == Origin::kOnce &&
        !MayClaim(*found->task, redrive.execution, redrive.request)) {
        return;
    }
    const QuotaMeter::Wish wish{.payload_bytes = QuotaMeter::BytesOf(*found), .submitted = false};
    if (!MayWait(wish, redrive.request)) return;
    if (found->task->workflow()) return RetryRun(redrive, *found);
    Execution row = *found;
    RememberLast(row);
    row.status = Status::kPending;
    row.failures = row.losses = 0;
    // It has not begun: a sequential task's other runs need not wait for it.
    row.worker = {};
    row.ready_at = now_.wall;
    // Its time is now, so that what expired does not expire again at once. That of a fire is part
    // of what it is and stays.
    if (row.origin != Origin::kFire) row.scheduled_at = now_.wall;
    row.finished_at = {};
    Live& live = InsertExecution(std::move(row), Place::kHistory);
    if (IsOwned(live.row)) Link(live, OwnerOf(live.row.task));
    claims_.Hold(live.row, clock_.trusted(), draft_);
    Write(live, Place::kLive, true);
    TellRedriven(redrive, live, found->status);
    AwaitTime(live);
    draft_.Reply(redrive.request, Answer{.execution = live.row});
}

void Engine::TellRedriven(const Redrive& redrive, const Live& live, Status before) {
    if (redrive.by) {
        draft_.Audit(redrive.by, {.target = {"execution", live.row.id.text().str()},
                                  .before = FieldsDocument({{"status", Name(before)}}),
                                  .after = FieldsDocument({{"status", Name(live.row.status)}})});
    }
    Emit(EventType::kTaskSubmitted, live, "run again by an operator");
}

// --- Attempts that are over ---------------------------------------------------------------------

// A report of an attempt that is not the current one: late, or sent again because its verdict was
// lost on the way. The row tells them apart.
void Engine::JudgeRepeated(Report& report) {
    const ExecutionId id = report.attempt.execution;
    if (const Live* live = FindLive(id)) return AnswerTo(report, live->row);
    AskStore(id, std::move(report));
}

void Engine::AnswerTo(const Report& report, const std::optional<Execution>& found) {
    const bool accepted = found && IsEndOf(*found, report.attempt) && !WasEndedByOthers(*found) &&
                          SaysTheSame(report, *found);
    if (!accepted) ++counters_.stale;
    draft_.Send(Verdict{report.session, report.attempt, accepted});
}

// A worker that comes back brings an attempt along that is over. If it ended by its word, it only
// waits for the verdict, which its report will get; else it is told to stop.
void Engine::On(Claimed& claimed) {
    const ExecutionId id = claimed.attempt.execution;
    if (const Live* live = FindLive(id)) return AnswerTo(claimed, live->row);
    AskStore(id, std::move(claimed));
}

void Engine::AnswerTo(const Claimed& claimed, const std::optional<Execution>& found) {
    const bool over = found && IsEndOf(*found, claimed.attempt);
    const Reason reason = over && found->outcome ? found->outcome->reason : Reason::kNone;
    const bool concluded =
        over && WasEndedByOthers(*found) && !TAKT_MUTANT("engine.conclusions_are_reports");
    const bool timed_out = over && RanOutOfTime(*found);
    const bool by_its_word = over && !concluded && !timed_out &&
                             (found->status == Status::kSuccess ||
                              reason == Reason::kHandlerFailed || reason == Reason::kRejected);
    if (by_its_word) return;
    Reason why = timed_out ? Reason::kTimeout : Reason::kWorkerLost;
    if (reason == Reason::kCancelled || reason == Reason::kTimeout) why = reason;
    if (concluded) why = Reason::kCancelled;
    draft_.Send(StopAttempt{claimed.session, claimed.attempt, why});
}

}  // namespace takt::internal
