#include "engine/holds.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/failpoint.h"
#include "engine/crew.h"
#include "engine/run.h"

namespace takt::internal {
namespace {

// How recent the word of an execution's task is: in the order of acceptance, not by a clock that
// may be set back. A run's task was accepted before the run was made.
Serial WordOf(const Execution& row) {
    if (row.origin == Origin::kOnce) return row.serial;
    return std::min(SerialAt(row.task->updated_at), row.serial);
}

Text SettingKeyOf(const Hold& limit) {
    return Text(std::string(Holds::kPrefix) + limit.key.str());
}

}  // namespace

Text LimitKeyOf(const Task& task) {
    const Text& key = task.opt().concurrency_key;
    if (!key.empty()) return Text("key/" + key.str());
    return task.recurring() ? Text("task/" + task.id.text().str())
                            : Text("name/" + task.name.str());
}

// --- Restoring ----------------------------------------------------------------------------------

void Holds::RestorePace(std::string_view key, const StoredPace& pace) {
    restored_.insert_or_assign(Text(key), pace);
}

void Holds::Begin(Instant now) {
    now_ = now;
    for (const auto& [key, pace] : restored_) {
        Hold& limit = Make(key);
        limit.pace.Restore(pace, now);
        limit.stored = true;
        SetWake(limit);
    }
    restored_.clear();
}

Hold& Holds::Make(const Text& key) {
    auto& limit = limits_[key];
    TAKT_CHECK(!limit);
    limit = std::make_unique<Hold>();
    limit->key = key;
    limit->order = ++made_;
    return *limit;
}

// --- The word on a limit ------------------------------------------------------------------------

// A limit that is raised is raised for those who wait, too.
void Holds::Apply(Hold& limit, const Task& task, Serial said) {
    if (said < limit.said) return;
    const TaskOptions& options = task.opt();
    limit.said = said;
    if (limit.permits_max == options.concurrency_max && limit.pace.limit() == options.rate) return;
    limit.permits_max = options.concurrency_max;
    limit.pace.Set(options.rate, now_.steady);
    if (limit.stored) StorePace(limit);
    SetWake(limit);
}

// Nobody without a limit has a word on a key that others may share.
void Holds::ApplyLimits(const Task& task) {
    if (!IsLimited(task) && !task.opt().concurrency_key.empty()) return;
    const auto found = limits_.find(LimitKeyOf(task));
    if (found != limits_.end()) Apply(*found->second, task, draft_.last_serial());
}

void Holds::RestoreLimits(const Task& task) {
    if (!IsLimited(task) && !task.opt().concurrency_key.empty()) return;
    const auto found = limits_.find(LimitKeyOf(task));
    if (found == limits_.end()) return;
    Apply(*found->second, task, std::min(SerialAt(task.updated_at), draft_.last_serial()));
}

// --- Turns --------------------------------------------------------------------------------------

bool Holds::TakeTurn(Live& live, Hold& turns) {
    if (live.has_turn || live.forced || TAKT_MUTANT("engine.ignore_turns")) return true;
    if (turns.line.empty() && turns.has_permit()) {
        TakeTurnAgain(live, turns);
        return true;
    }
    turns.line.PushBack(live);
    live.waits = Waits::kTurn;
    return false;
}

void Holds::TakeTurnAgain(Live& live, Hold& turns) {
    ++turns.taken;
    live.has_turn = true;
}

void Holds::LeaveLine(Live& live, Hold& turns) {
    turns.line.Remove(live);
    live.waits = Waits::kNothing;
}

Live* Holds::NextInTurn(Hold& turns) {
    if (turns.line.empty() || !turns.has_permit()) return nullptr;
    Live& live = *turns.line.front();
    LeaveLine(live, turns);
    TakeTurnAgain(live, turns);
    return &live;
}

void Holds::ReturnTurn(Hold& turns) {
    TAKT_CHECK(turns.taken > 0);
    --turns.taken;
    if (!turns.line.empty()) WakeSoon(turns);
}

void Holds::SetTurnsAtOnce(Hold& turns, std::uint32_t permits_max) {
    turns.permits_max = permits_max;
    if (!turns.line.empty()) WakeSoon(turns);
}

// --- Named limits -------------------------------------------------------------------------------

const Hold* Holds::FindLimit(const Task& task) const {
    const auto found = limits_.find(LimitKeyOf(task));
    return found == limits_.end() ? nullptr : found->second.get();
}

Hold& Holds::EnsureLimit(const Live& live) {
    const Task& task = *live.row.task;
    const Text key = LimitKeyOf(task);
    const auto found = limits_.find(key);
    Hold& limit = found != limits_.end() ? *found->second : Make(key);
    Apply(limit, task, WordOf(live.row));
    return limit;
}

Hold* Holds::FindWoken(const Live& live) {
    if (!IsLimited(*live.row.task) || !AnyDue()) return nullptr;
    Hold& limit = EnsureLimit(live);
    const bool woken = limit.open && limit.armed() && wakes_.TimeOf(limit) <= now_.steady;
    return woken ? &limit : nullptr;
}

void Holds::Add(Live& live, Hold& limit, bool back) {
    const std::uint8_t priority = live.row.task->priority;
    auto& line = limit.lines[{live.lane->number, priority}];
    if (!line) {
        line = std::make_unique<Line>();
        line->lane = live.lane;
        line->limit = &limit;
        line->priority = priority;
        PutIn(live.lane->lines, *line);
    }
    back ? line->waiting.PutBack(live) : line->waiting.PushBack(live);
    live.waits = Waits::kLimit;
    if (!line->sheaf) {
        live.lane->bay->Add(*line);
    } else if (line->waiting.front() == &live) {
        line->Rank();
    }
    if (!limit.open) SetWake(limit);
}

void Holds::Remove(Live& live) {
    Hold& limit = *limits_.find(LimitKeyOf(*live.row.task))->second;
    const auto at = limit.lines.find({live.lane->number, live.row.task->priority});
    Line& line = *at->second;
    const bool first = line.waiting.front() == &live;
    line.waiting.Remove(live);
    live.waits = Waits::kNothing;
    if (line.waiting.empty()) {
        line.lane->bay->Remove(line);
        TakeOut(line.lane->lines, line);
        limit.lines.erase(at);
        SetWake(limit);
    } else if (first) {
        line.Rank();
    }
}

// Draws the firsts of its lines back from their lanes when the limit is reached, and lets them
// stand in again when it is not.
void Holds::Refresh(Hold& limit) {
    const bool open = limit.has_permit() && limit.pace.Ready(now_.steady);
    if (open == limit.open) return;
    limit.open = open;
    for (Sheaf* sheaf : limit.sheaves) {
        sheaf->open = open;
        sheaf->Rank();
    }
    // Their workers may have room already.
    if (open && limit.waited_for()) WakeSoon(limit);
}

// Sets the time at which something is to be done, if time alone brings it.
void Holds::SetWake(Hold& limit) {
    Refresh(limit);
    if (limit.waited_for()) {
        // Open, it is woken already, or has been.
        if (limit.open) return;
        if (limit.has_permit()) return wakes_.Set(limit, limit.pace.ReadyAt(), limit.order);
        wakes_.Remove(limit);
    } else if (limit.taken > 0) {
        wakes_.Remove(limit);
    } else {
        const bool at_rest = limit.pace.Full(now_.steady);
        wakes_.Set(limit, at_rest ? now_.steady : limit.pace.FullAt(), limit.order);
    }
}

void Holds::GivePermit(Hold& limit, Live& live) {
    ++limit.taken;
    live.has_permit = true;
    if (IsRun(live)) limit.runs.push_back(&live);
}

void Holds::TakePermitAgain(Live& live) {
    Hold* limit = LimitOf(live);
    if (!limit) return;
    GivePermit(*limit, live);
    SetWake(*limit);
}

void Holds::TakePermit(Live& live) {
    Hold* limit = LimitOf(live);
    if (!limit) return;
    GivePermit(*limit, live);
    if (limit->pace.limited() && !TAKT_MUTANT("engine.forget_pace")) {
        limit->pace.Ready(now_.steady);
        limit->pace.Spend();
        StorePace(*limit);
    }
    SetWake(*limit);
}

void Holds::ReturnPermit(Live& live) {
    if (!live.has_permit) return;
    LeavePermit(live);
    ReturnPermit(LimitKeyOf(*live.row.task));
}

void Holds::LeavePermit(Live& live) {
    live.has_permit = false;
    if (IsRun(live)) std::erase(limits_.find(LimitKeyOf(*live.row.task))->second->runs, &live);
}

void Holds::ReturnPermit(const Text& key) {
    Hold& limit = *limits_.find(key)->second;
    TAKT_CHECK(limit.taken > 0);
    --limit.taken;
    SetWake(limit);
}

void Holds::TakePermitAgain(const Text& key) {
    const auto found = limits_.find(key);
    Hold& limit = found != limits_.end() ? *found->second : Make(key);
    ++limit.taken;
    SetWake(limit);
}

void Holds::StorePace(Hold& limit) {
    limit.stored = limit.pace.limited();
    Text value = limit.stored ? WritePace(limit.pace.Store(now_.wall)) : Text();
    draft_.Set({SettingKeyOf(limit), std::move(value)});
}

Hold* Holds::Wake() {
    Hold& hold = *wakes_.next();
    wakes_.Remove(hold);
    if (!hold.named()) return &hold;
    if (hold.taken == 0 && !hold.waited_for() && hold.pace.Full(now_.steady)) {
        Erase(hold);
        return nullptr;
    }
    SetWake(hold);
    return &hold;
}

void Holds::Erase(Hold& limit) {
    // A full bucket is what a leader begins with that finds none.
    if (limit.stored) draft_.SetLater({SettingKeyOf(limit), Text()});
    limits_.erase(limits_.find(limit.key));
}

}  // namespace takt::internal
