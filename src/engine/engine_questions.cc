// What callers ask about one execution: submit, cancel, conclude, run again. An id that is not live
// may be finished and out of memory; then the store is asked first.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// What is to be purged within this time is not run again: the purge may be on its way.
constexpr Duration kRedriveMargin{60'000};

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
    Ask(execution, std::move(submit));
}

void Engine::On(Cancel& cancel) {
    Live* live = FindLive(cancel.execution);
    if (!live) {
        const ExecutionId id = cancel.execution;
        return Ask(id, std::move(cancel));
    }
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = Reason::kCancelled;
    outcome->message = cancel.reason;
    EndNow(*live, Status::kCancelled, outcome);
    draft_.Reply(cancel.request, Answer{.execution = live->row});
}

void Engine::On(Conclude& conclude) {
    TAKT_CHECK(IsTerminal(conclude.status) && conclude.status != Status::kSkipped);
    Live* live = FindLive(conclude.execution);
    if (!live) {
        const ExecutionId id = conclude.execution;
        return Ask(id, std::move(conclude));
    }
    if (!CanFollow(live->row.status, conclude.status)) {
        return draft_.Reply(conclude.request,
                            Fail(ErrorCode::kConflict,
                                 "execution '" + conclude.execution.text().str() + "' is " +
                                     std::string(Name(live->row.status)) + " and cannot become " +
                                     std::string(Name(conclude.status))));
    }
    EndNow(*live, conclude.status, std::move(conclude.outcome));
    draft_.Reply(conclude.request, Answer{.execution = live->row});
}

// Ends an execution wherever it is, without its worker's word.
void Engine::EndNow(Live& live, Status status, OutcomePtr outcome) {
    if (!live.slot) {
        Unqueue(live);
        return Finish(live, status, std::move(outcome));
    }
    Stop(live, Reason::kCancelled);
    Slot& slot = LetGo(live);
    Finish(live, status, std::move(outcome));
    Feed(slot);
}

void Engine::On(Redrive& redrive) {
    if (const Live* live = FindLive(redrive.execution)) return AnswerTo(redrive, live->row);
    const ExecutionId id = redrive.execution;
    Ask(id, std::move(redrive));
}

// Whatever asks about an id while the store is being asked waits its turn, so that two submits of
// one id can never both find it free.
void Engine::Ask(const ExecutionId& id, Question question) {
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
        // What changes an execution is told as an event. From then on the store's answer is old:
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
    if (SameRequest(*found->task, *submit.task))
        return draft_.Reply(submit.request, Answer{.execution = *found});
    draft_.Reply(submit.request,
                 Fail(ErrorCode::kConflict,
                      "a task with the id '" + submit.task->id.text().str() +
                          "' exists already and asks for something else; choose another id",
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

// What is run again keeps its history, the attempt with which it ended included.
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
    Live& live = Insert(std::move(row), Place::kHistory);
    const auto task = tasks_.find(live.row.task->id.text());
    if (live.row.origin != Origin::kOnce && task != tasks_.end()) Link(live, *task->second);
    claims_.Hold(live.row, draft_);
    Write(live, Place::kLive, true);
    Emit(EventType::kTaskSubmitted, live, "run again by an operator");
    Wait(live);
    draft_.Reply(redrive.request, Answer{.execution = live.row});
}

void Engine::CreateOnce(const Submit& submit) {
    Task& task = *submit.task;
    if (!MayClaim(task, ExecutionId(task.id.text()), submit.request)) return;
    const Queue& queue = lanes_.QueueOf(task.queue);
    if (queue.waiting >= config_.pending_max) {
        return draft_.Reply(submit.request, Fail(ErrorCode::kExhausted,
                                                 "queue '" + task.queue.str() +
                                                     "' is full: " + std::to_string(queue.waiting) +
                                                     " executions wait in it; try again later",
                                                 "queue"));
    }
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
    Live& live = Insert(std::move(row), Place::kNone);
    claims_.Hold(live.row, draft_);
    Write(live, Place::kLive, true);
    ++counters_.submitted;
    Emit(EventType::kTaskSubmitted, live);
    Wait(live);
    draft_.Reply(submit.request, Answer{.execution = live.row, .created = true});
}

// Whether the task's unique key, if it has one, is free for this execution. Replies if not.
bool Engine::MayClaim(const Task& task, const ExecutionId& self, RequestId request) {
    const Claim* claim = claims_.HolderAgainst(self, task, now_.wall);
    if (!claim) return true;
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

std::unexpected<Error> Engine::TakenForOwn() {
    return Fail(ErrorCode::kInvalid,
                "ids of 13 characters like this one are given by the scheduler itself; "
                "choose another, or leave it out",
                "id");
}

}  // namespace takt::internal
