#include "engine/holds.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "base/failpoint.h"
#include "engine/crew.h"
#include "engine/numbers.h"
#include "engine/run.h"

namespace takt::internal {
namespace {

// How recent the word of an execution's task is: in the order of acceptance, not by a clock that
// may be set back. A run's task was accepted before the run was made, and a step's workflow before it.
Serial WordOf(const Execution& row) {
    if (row.origin == Origin::kOnce) return row.serial;
    return std::min(SerialAt(row.task->updated_at), row.serial);
}

NamedLimit NamedBy(const Task& task) {
    const TaskOptions& options = task.opt();
    return {options.concurrency_max, options.rate.count, options.rate.per};
}

NamedLimit InForce(const Hold& limit) {
    const RateLimit& rate = limit.pace.limit();
    return {limit.permits_max, rate.count, rate.per};
}

// A recurring task names a key that others may share. A limit of its own is its runs' alone.
bool IsNamer(const Task& task) {
    return task.recurring() && IsLimited(task) && !task.opt().concurrency_key.empty();
}

Text SettingKeyOf(std::string_view prefix, const Hold& limit) {
    return Text(std::string(prefix) + limit.key.str());
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
    restored_[Text(key)].pace = pace;
}

// "4 20 5000 123": so many at once, so many starts in so long, and how recent that word is.
void Holds::RestoreWord(std::string_view key, std::string_view value) {
    std::array<std::int64_t, 4> numbers{};
    if (!ReadNumbers(value, numbers)) return;
    Restored& had = restored_[Text(key)];
    had.word = {std::uint32_t(numbers[0]), std::uint32_t(numbers[1]), Duration(numbers[2])};
    had.said = static_cast<Serial>(numbers[3]);
}

void Holds::Begin(Instant now) {
    now_ = now;
    for (const auto& [key, had] : restored_) {
        Hold& limit = Ensure(key);
        limit.stored = had.pace.has_value();
        if (had.pace) limit.pace.Restore(*had.pace, now);
        if (had.word) Apply(limit, *had.word, had.said);
        limit.word = had.word;
    }
    restored_.clear();
}

void Holds::RestoreNamer(const Execution& row) {
    if (IsLimited(*row.task)) Restore(*row.task, WordOf(row));
}

void Holds::RestoreNamer(const Task& recurring) {
    if (!IsNamer(recurring)) return;
    Restore(recurring, std::min(SerialAt(recurring.updated_at), draft_.last_serial()));
}

// A stored word is the one that counts, whatever became of whoever had it.
void Holds::Restore(const Task& task, Serial said) {
    Hold& limit = Ensure(LimitKeyOf(task));
    ++limit.namers[NamedBy(task)];
    if (!limit.word) Apply(limit, NamedBy(task), said);
}

void Holds::EndNamers() {
    for (auto& [key, limit] : limits_) {
        ReviewWord(*limit);
        SetWake(*limit);
    }
}

Hold& Holds::Ensure(const Text& key) {
    auto& limit = limits_[key];
    if (limit) return *limit;
    limit = std::make_unique<Hold>();
    limit->key = key;
    limit->order = ++made_;
    return *limit;
}

// --- The word on a limit ------------------------------------------------------------------------

void Holds::AddNamer(const Execution& row) {
    if (!IsLimited(*row.task)) return;
    Hold& limit = Ensure(LimitKeyOf(*row.task));
    // Its task, if that names the key itself, had its word when it was accepted: its row is as young
    // as its last pause.
    const bool silent = IsNamer(*row.task) && !limit.namers.empty();
    Join(limit, *row.task, silent ? std::nullopt : std::optional(WordOf(row)));
}

void Holds::RemoveNamer(const Execution& row) {
    if (IsLimited(*row.task)) Leave(*row.task);
}

// Nobody without a limit has a word on a key that others may share.
void Holds::ChangeNamer(const Task* before, const Task* after) {
    if (before && IsNamer(*before)) Leave(*before);
    if (!after) return;
    const Text key = LimitKeyOf(*after);
    if (IsNamer(*after)) return Join(Ensure(key), *after, draft_.last_serial());
    const auto found = limits_.find(key);
    if (found == limits_.end() || !after->opt().concurrency_key.empty()) return;
    Apply(*found->second, NamedBy(*after), draft_.last_serial());
    ReviewWord(*found->second);
}

void Holds::Join(Hold& limit, const Task& task, std::optional<Serial> said) {
    ++limit.namers[NamedBy(task)];
    if (said) Apply(limit, NamedBy(task), *said);
    ReviewWord(limit);
}

void Holds::Leave(const Task& task) {
    Hold& limit = Find(task);
    const auto namer = limit.namers.find(NamedBy(task));
    TAKT_CHECK(namer != limit.namers.end());
    if (--namer->second == 0) limit.namers.erase(namer);
    ReviewWord(limit);
    if (!limit.namers.empty()) return;
    limit.said = 0;
    SetWake(limit);
}

// A limit that is raised is raised for those who wait, too.
void Holds::Apply(Hold& limit, const NamedLimit& named, Serial said) {
    if (said < limit.said) return;
    limit.said = said;
    if (InForce(limit) == named) return;
    const auto [permits_max, count, per] = named;
    limit.permits_max = permits_max;
    limit.pace.Set({.count = count, .per = per}, now_.steady);
    if (limit.stored) StorePace(limit);
    SetWake(limit);
}

// Stores the limit in force where those who name it would tell the next leader another one, or several.
void Holds::ReviewWord(Hold& limit) {
    const NamedLimit in_force = InForce(limit);
    const bool agreed = limit.namers.empty() ||
                        (limit.namers.size() == 1 && limit.namers.begin()->first == in_force);
    if (agreed && !limit.word) return;
    if (!agreed && limit.word == in_force) return;
    const Text key = SettingKeyOf(kWordPrefix, limit);
    limit.word = agreed ? std::nullopt : std::optional(in_force);
    if (agreed) return draft_.SetLater({key, Text()});
    const auto [permits_max, count, per] = in_force;
    if (TAKT_MUTANT("engine.forget_last_limit")) return;
    draft_.Set({key, Text(std::to_string(permits_max) + " " + std::to_string(count) + " " +
                          std::to_string(per.count()) + " " + std::to_string(limit.said))});
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

Hold& Holds::Find(const Task& task) {
    const auto found = limits_.find(LimitKeyOf(task));
    TAKT_CHECK(found != limits_.end());
    return *found->second;
}

Hold* Holds::FindWoken(const Live& live) {
    if (!IsLimited(*live.row.task) || !AnyDue()) return nullptr;
    Hold& limit = Find(*live.row.task);
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
    Hold& limit = Find(*live.row.task);
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
    } else if (limit.taken > 0 || !limit.namers.empty()) {
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
    if (IsRun(live)) std::erase(Find(*live.row.task).runs, &live);
}

void Holds::ReturnPermit(const Text& key) {
    Hold& limit = *limits_.find(key)->second;
    TAKT_CHECK(limit.taken > 0);
    --limit.taken;
    SetWake(limit);
}

void Holds::TakePermitAgain(const Text& key) {
    Hold& limit = Ensure(key);
    ++limit.taken;
    SetWake(limit);
}

void Holds::StorePace(Hold& limit) {
    limit.stored = limit.pace.limited();
    Text value = limit.stored ? WritePace(limit.pace.Store(now_.wall)) : Text();
    draft_.Set({SettingKeyOf(kPrefix, limit), std::move(value)});
}

Hold* Holds::Wake() {
    Hold& hold = *wakes_.next();
    wakes_.Remove(hold);
    if (!hold.named()) return &hold;
    if (hold.taken == 0 && hold.namers.empty() && hold.pace.Full(now_.steady)) {
        Erase(hold);
        return nullptr;
    }
    SetWake(hold);
    return &hold;
}

void Holds::Erase(Hold& limit) {
    // A full bucket is what a leader begins with that finds none.
    if (limit.stored) draft_.SetLater({SettingKeyOf(kPrefix, limit), Text()});
    limits_.erase(limits_.find(limit.key));
}

}  // namespace takt::internal
