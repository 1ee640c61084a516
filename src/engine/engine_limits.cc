// Executions start when something opens: a queue, a named limit, a task's turn.
//
// Limits and those who wait for them are in holds.h. A queue has limits of its own, set by
// operators; what waits for those stays in its lane.
#include <string>
#include <utility>

#include "base/json.h"
#include "engine/engine.h"
#include "engine/numbers.h"

namespace takt::internal {
namespace {

// Settings that are the queues' own: what an operator said of one, and how far it is with its rate.
constexpr std::string_view kQueuePrefix = "queue/";
constexpr std::string_view kQueuePacePrefix = "pace/queue/";

Text KeyOf(std::string_view prefix, const Text& name) {
    return Text(std::string(prefix) + name.str());
}

// As the API spells them.
AuditDocument LimitsDocument(const QueueLimits& limits) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("paused", limits.paused).Key("concurrency_max");
    limits.working_max > 0 ? json.Value(limits.working_max) : json.Null();
    json.Key("rate_limit");
    if (limits.rate.count > 0) {
        json.BeginObject().Field("count", limits.rate.count);
        json.Field("per", std::string_view(FormatDuration(limits.rate.per))).EndObject();
    } else {
        json.Null();
    }
    json.EndObject();
    return JsonDocument(std::move(text));
}

// Of those who wait under an open limit, where the most urgent is that has room; null: nowhere.
const Sheaf* NextUnder(const Hold& limit, Steady now) {
    const Sheaf* best = nullptr;
    for (const Sheaf* sheaf : limit.sheaves) {
        const Bay& bay = *sheaf->bay;
        const bool room = bay.crew->free() > 0 && bay.queue->Open(now);
        if (!sheaf->runs && !room) continue;
        if (!best || sheaf->lines.next_at() < best->lines.next_at()) best = sheaf;
    }
    return best;
}

// The bay of the queue that has the most urgent for which a worker has room; null: none.
const Bay* NextFrom(const Queue& queue) {
    const Bay* best = nullptr;
    for (const Bay* bay : queue.bays) {
        if (bay->empty() || bay->crew->free() == 0) continue;
        if (!best || bay->urgency() < best->urgency()) best = bay;
    }
    return best;
}

}  // namespace

// --- Turns and named limits ---------------------------------------------------------------------

void Engine::OpenHolds() {
    while (!draft_.Tired() && holds_.AnyDue()) {
        Hold* hold = holds_.Wake();
        if (!hold) continue;
        hold->named() ? StartUnderLimit(*hold) : StartInTurn(*hold);
    }
}

void Engine::StartInTurn(Hold& turns) {
    while (turns.waited_for() && turns.has_permit()) {
        if (draft_.Tired()) return holds_.WakeSoon(turns);
        Live& live = *holds_.NextInTurn(turns);
        MakeReady(live);
        if (!live.finished) continue;
        // Its time is over, say. With the last run the turns end, and with these a deleted task.
        const Recurring* recurring = FindRecurring(live.row.task->id.text());
        if (!recurring || recurring->turns.get() != &turns) return;
    }
}

// Gives the most urgent of those who wait under an open limit to workers that have room. Until it is
// done the limit counts as one that was opened: a worker may be given other things in between.
void Engine::StartUnderLimit(Hold& limit) {
    holds_.WakeSoon(limit);
    while (limit.open) {
        const Sheaf* best = NextUnder(limit, now_.steady);
        if (!best) break;
        if (draft_.Tired()) return holds_.WakeSoon(limit);
        Live& next = *best->lines.next()->waiting.front();
        if (best->runs) {
            if (!EndIfExpired(next) && HasLocks(next)) BeginRun(next);
        } else if (best->bay->front() != &next) {
            // An earlier step stopped short: others that the same workers serve come first.
            StartFromQueue(*best->bay->queue);
        } else if (!EndIfExpired(next) && !GiveToOthersFirst(next) && MayBegin(next)) {
            GiveInTurn(next);
        }
    }
    holds_.Rest(limit);
}

// The execution's limit, if it has just been opened and one who is more urgent waits for it, whom
// another worker has room for; else null.
Hold* Engine::OvertakenUnder(const Live& live) {
    Hold* limit = holds_.FindWoken(live);
    const Sheaf* next = limit ? NextUnder(*limit, now_.steady) : nullptr;
    return next && next->lines.next_at() < UrgencyOf(live.row, config_.ageing) ? limit : nullptr;
}

// The same of its queue.
Queue* Engine::OvertakenFrom(const Live& live) {
    Queue& queue = *live.lane->queue;
    const bool woken =
        queue.limited() && queue.armed() && queue_paces_.TimeOf(queue) <= now_.steady;
    const Bay* next = woken ? NextFrom(queue) : nullptr;
    return next && next->urgency() < UrgencyOf(live.row, config_.ageing) ? &queue : nullptr;
}

// Lets those start who are more urgent than the execution, and wait for the same. True if there were
// some: whether it may start itself is to be looked at again.
bool Engine::GiveToOthersFirst(const Live& live) {
    if (Hold* limit = OvertakenUnder(live)) {
        StartUnderLimit(*limit);
    } else if (Queue* queue = OvertakenFrom(live)) {
        StartFromQueue(*queue);
    } else {
        return false;
    }
    return true;
}

// --- Queues -------------------------------------------------------------------------------------

// Gives what waits in a queue that is open to workers that have room.
void Engine::StartFromQueue(Queue& queue) {
    queue_paces_.Set(queue, now_.steady, queue.number);
    queue.Reopen();
    while (queue.Open(now_.steady)) {
        const Bay* best = NextFrom(queue);
        if (!best) break;
        if (draft_.Tired()) return queue_paces_.Set(queue, now_.steady, queue.number);
        Live& next = *best->front();
        if (EndIfExpired(next) || GiveToOthersFirst(next) || !MayBegin(next)) continue;
        GiveInTurn(next);
    }
    queue_paces_.Remove(queue);
    if (queue.pace.limited() && !queue.pace.Ready(now_.steady)) {
        queue_paces_.Set(queue, queue.pace.ReadyAt(), queue.number);
    }
}

// One of the queue's is given to a worker.
void Engine::SpendPaceOf(Queue& queue) {
    if (!queue.pace.limited()) return;
    queue.pace.Ready(now_.steady);
    queue.pace.Spend();
    draft_.Set({KeyOf(kQueuePacePrefix, queue.name), WritePace(queue.pace.Store(now_.wall))});
    // Others may have to wait for the pace, whoever took this one: a timer wakes them.
    if (!queue.pace.Ready(now_.steady)) {
        kept_doubtful_ = true;
        queue_paces_.Set(queue, queue.pace.ReadyAt(), queue.number);
    }
}

void Engine::On(SetQueue& set) {
    Queue& queue = lanes_.QueueOf(set.queue);
    QueueLimits& limits = queue.limits;
    AuditChange change{.target = {"queue", set.queue.str()}};
    if (set.by) change.before = LimitsDocument(limits);
    limits.paused = set.paused.value_or(limits.paused);
    limits.working_max = set.working_max.value_or(limits.working_max);
    limits.rate = set.rate.value_or(limits.rate);
    if (set.by) change.after = LimitsDocument(limits);
    draft_.Audit(set.by, std::move(change));
    const bool was_paced = queue.pace.limited();
    queue.pace.Set(limits.rate, now_.steady);
    const bool plain = !limits.paused && limits.working_max == 0 && limits.rate.count == 0;
    const std::string value =
        std::to_string(int(limits.paused)) + " " + std::to_string(limits.working_max) + " " +
        std::to_string(limits.rate.count) + " " + std::to_string(limits.rate.per.count());
    draft_.Set({KeyOf(kQueuePrefix, set.queue), plain ? Text() : Text(value)});
    if (was_paced && !queue.pace.limited()) {
        draft_.Set({KeyOf(kQueuePacePrefix, set.queue), Text()});
    }
    draft_.Emit(Event{.type = EventType::kQueueChanged, .detail = set.queue});
    draft_.Reply(set.request, Answer{});
    kept_doubtful_ = true;
    StartFromQueue(queue);
}

// False if the setting is none of a limit's.
bool Engine::RestoreLimit(std::string_view key, std::string_view value) {
    if (key.starts_with(kQueuePrefix)) {
        RestoreQueue(Text(key.substr(kQueuePrefix.size())), value);
    } else if (key.starts_with(kQueuePacePrefix)) {
        const auto pace = ReadPace(value);
        if (pace) queue_paces_stored_[Text(key.substr(kQueuePacePrefix.size()))] = *pace;
    } else if (key.starts_with(Holds::kPrefix)) {
        const auto pace = ReadPace(value);
        if (pace) holds_.RestorePace(key.substr(Holds::kPrefix.size()), *pace);
    } else if (key.starts_with(Holds::kWordPrefix)) {
        holds_.RestoreWord(key.substr(Holds::kWordPrefix.size()), value);
    } else {
        return false;
    }
    return true;
}

void Engine::RestoreQueue(const Text& name, std::string_view value) {
    std::array<std::int64_t, 4> numbers{};
    if (!ReadNumbers(value, numbers)) return;
    Queue& queue = lanes_.QueueOf(name);
    queue.limits = {.paused = numbers[0] != 0,
                    .working_max = std::uint32_t(numbers[1]),
                    .rate = {.count = std::uint32_t(numbers[2]), .per = Duration(numbers[3])}};
}

// All that is stored is there, and the time is known.
void Engine::BeginLimits() {
    holds_.Begin(now_);
    for (const Live* live : restored_) holds_.RestoreNamer(live->row);
    for (const auto& [id, recurring] : tasks_) holds_.RestoreNamer(*recurring->row.task);
    holds_.EndNamers();
    for (const auto& [name, queue] : lanes_.queues()) {
        const auto stored = queue_paces_stored_.find(name);
        if (stored != queue_paces_stored_.end()) queue->pace.Restore(stored->second, now_);
        queue->pace.Set(queue->limits.rate, now_.steady);
    }
    queue_paces_stored_.clear();
}

}  // namespace takt::internal
