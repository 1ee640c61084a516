#include "sim/fire_checker.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

namespace takt::internal::sim {
namespace {

// Clocks are wrong by two hours at most.
constexpr Duration kLookedBack{4 * 3'600'000};

// Whether the task's place says that the due time was fired or missed and is over.
bool IsAccounted(const FireState& state, Time due) {
    return due <= state.last_at && due >= state.first_at &&
           std::ranges::none_of(state.passed, [&](const PassedOver& passed) {
               return passed.from <= due && due <= passed.to;
           });
}

// Whether it says that there is a record of the due time, though it may come again.
bool SaysRecorded(const FireState& state, Time due) {
    return IsAccounted(state, due) ||
           std::ranges::any_of(state.passed, [&](const PassedOver& passed) {
               return passed.missed && passed.from <= due && due <= passed.to;
           });
}

// A pause and a resume may fall into one batch, so that no row ever shows them. An answer takes
// less than this, or the question is lost.
constexpr Micros kPauseUnderWay = 20s;

// After the heal a due time is accounted for within this.
constexpr Duration kPunctual{2'000};

std::string Describe(const TaskId& task, Time due) {
    return "due time " + FormatTime(due) + " of " + task.text().str();
}

}  // namespace

// The sentence that a user reads in the record: "12 due times up to 2026-01-01T00:00:07.000Z passed
// while …".
FireChecker::Record FireChecker::RecordOf(const Execution& row) {
    Record record{.first = row.scheduled_at, .last = row.scheduled_at, .task = row.task};
    const Reason reason = row.outcome ? row.outcome->reason : Reason::kNone;
    record.missed = reason == Reason::kMissed || reason == Reason::kPaused;
    if (row.status != Status::kSkipped || !record.missed) return record;
    const std::string_view message = row.outcome->message;
    constexpr std::string_view kUpTo = " due times up to ";
    const std::size_t at = message.find(kUpTo);
    if (at == std::string_view::npos) return record;
    const std::size_t digits = message.find_first_of("0123456789");
    std::from_chars(message.data() + digits, message.data() + at, record.count);
    const std::size_t begin = at + kUpTo.size();
    if (const auto last = ParseTime(message.substr(begin, message.find(' ', begin) - begin))) {
        record.last = *last;
    }
    return record;
}

const TaskRow* FireChecker::Find(const TaskId& id) const {
    const auto found = tasks_.find(id);
    return found == tasks_.end() ? nullptr : &found->second;
}

// One record for each due time, never two.
void FireChecker::Account(const Record& record) {
    due_times_ += record.count;
    const Task& task = *record.task;
    // A fixed delay has no times of its own: they follow from the ends of runs.
    if (task.opt().recurrence->every_after_end > Duration(0)) return;
    const Made made{task.id, task.created_at};
    std::map<Time, Time>& missed = missed_[made];
    std::set<Time>& fired = fired_[made];
    const auto after = missed.lower_bound(record.first);
    const bool meets_next = after != missed.end() && after->first <= record.last;
    const bool meets_last = after != missed.begin() && std::prev(after)->second >= record.first;
    const auto ran = fired.lower_bound(record.first);
    const bool ran_before = ran != fired.end() && *ran <= record.last;
    const TaskRow* before = Find(task.id);
    // Both may happen before the store has either.
    const auto in_batch = missed_in_batch_.find(made);
    const bool missed_now =
        in_batch != missed_in_batch_.end() &&
        std::ranges::any_of(in_batch->second, [&](const std::pair<Time, Time>& range) {
            return record.first >= range.first && record.first <= range.second;
        });
    const bool again =
        !record.missed && (missed_now || (before && MayComeAgain(*before, record.first)));
    if (ran_before || ((meets_next || meets_last) && !again)) {
        fail_(Describe(task.id, record.first) + " was accounted for twice");
    }
    if (record.missed) {
        missed[record.first] = record.last;
        missed_in_batch_[made].emplace_back(record.first, record.last);
    } else {
        fired.insert(record.first);
    }
}

// A clock that ran ahead passed over it and came back. It may still be on record as missed.
bool FireChecker::MayComeAgain(const TaskRow& before, Time due) const {
    const auto fired = fired_.find({before.task->id, before.task->created_at});
    return due <= before.state.last_at && !IsAccounted(before.state, due) &&
           (fired == fired_.end() || !fired->second.contains(due));
}

void FireChecker::OnCommit(const Batch& batch) {
    std::map<TaskId, std::vector<Record>> records;
    std::set<TaskId> written;
    missed_in_batch_.clear();
    for (const Change& change : batch.changes) {
        const auto* execution = std::get_if<ExecutionChange>(&change);
        if (!execution || execution->before != Place::kNone) continue;
        if (execution->row.origin != Origin::kFire) continue;
        const Record record = RecordOf(execution->row);
        Account(record);
        records[record.task->id].push_back(record);
    }
    for (const Change& change : batch.changes) {
        if (const auto* put = std::get_if<TaskPut>(&change)) {
            const TaskId& id = put->row.task->id;
            written.insert(id);
            const auto found = tasks_.find(id);
            if (found != tasks_.end() &&
                found->second.task->created_at == put->row.task->created_at) {
                CheckPut(found->second, put->row, records[id]);
            }
            tasks_[id] = put->row;
        } else if (const auto* deletion = std::get_if<TaskDelete>(&change)) {
            written.insert(deletion->id);
            // By a clock that was set back one of the same id may be made in the same moment.
            if (const auto gone = tasks_.extract(deletion->id)) {
                fired_.erase({deletion->id, gone.mapped().task->created_at});
            }
        }
    }
    for (const auto& [id, of_task] : records) {
        if (!written.contains(id)) {
            fail_(Describe(id, of_task.front().first) +
                  " was fired and the task's place among its times was not written with it");
        }
    }
}

bool FireChecker::WasPaused(const TaskRow& before) const {
    const auto asked = pause_asked_.find(before.task->id);
    return before.state.paused ||
           (asked != pause_asked_.end() && world_.now() - asked->second < kPauseUnderWay);
}

// Each is of a due time by the times that the task had when it was made.
void FireChecker::CheckRecords(const std::vector<Record>& records) {
    for (const Record& record : records) {
        const Task& task = *record.task;
        const auto plan = DuePlan::Make(*task.opt().recurrence, task.created_at);
        if (!plan || plan->after_end()) continue;
        if (!plan->IsDue(record.first)) {
            return fail_(Describe(task.id, record.first) + " is none");
        }
        const std::uint64_t count =
            plan->Count(record.first - Duration(1), record.last, record.count);
        // Beyond that it says only that there are more.
        constexpr std::uint64_t kCountedMax = 10'000;
        if (count == 0 || (record.missed && record.count < kCountedMax && count != record.count)) {
            fail_(Describe(task.id, record.first) + ": its record counts wrong");
        }
    }
}

// The records of a batch must be exactly the due times that the task's place moved over.
void FireChecker::CheckPut(const TaskRow& before, const TaskRow& after,
                           const std::vector<Record>& records) {
    CheckRecords(records);
    const Recurrence& recurrence = *after.task->opt().recurrence;
    if (!(*before.task->opt().recurrence == recurrence)) return;
    // Of several changes in one batch, one may have given it other times, and the next the old ones.
    if (after.task->version > before.task->version + 1) return;
    if (recurrence.every_after_end > Duration(0) || before.state.next_at == Time{}) return;
    const TaskId& id = after.task->id;
    if (!before.state.paused && after.state.paused && !after.task->opt().catch_up_after_pause &&
        after.state.next_at != Time{} && after.state.next_at <= after.state.paused_at) {
        fail_(Describe(id, after.state.next_at) + " was overdue at the pause and has no record");
    }
    const auto plan = DuePlan::Make(recurrence, after.task->created_at);
    if (!plan) return fail_("the stored task " + after.task->id.text().str() + " has no times");
    if (recurrence.fires_max != 0 && after.state.fires > recurrence.fires_max) {
        fail_(id.text().str() + " fired more often than it may");
    }
    CheckPlace(after, *plan);
    CheckNoneLost(before, after, *plan, records);
}

// A due time that was fired is accounted for, so that it never comes again; what comes next is not.
void FireChecker::CheckPlace(const TaskRow& row, const DuePlan& plan) {
    const TaskId& id = row.task->id;
    const FireState& state = row.state;
    for (const Time due : fired_[{id, row.task->created_at}]) {
        // A fire by times that the task had before is none of its due times now.
        if (IsAccounted(state, due) || !plan.IsDue(due)) continue;
        return fail_(Describe(id, due) + " comes again");
    }
    if (state.next_at == Time{}) {
        const std::uint64_t fires_max = row.task->opt().recurrence->fires_max;
        const bool over = fires_max != 0 && state.fires >= fires_max;
        // Nobody was to run what was due before it was made, by a clock that was behind.
        const auto due = plan.Next(std::max(state.last_at, row.task->created_at));
        if (due && !over) fail_(Describe(id, *due) + " will never come");
    } else if (!plan.IsDue(state.next_at)) {
        fail_(Describe(id, state.next_at) + " is no next one");
    } else if (IsAccounted(state, state.next_at)) {
        fail_(Describe(id, state.next_at) + " comes again");
    }
}

// Each due time that the task's place moved over has its record.
void FireChecker::CheckNoneLost(const TaskRow& before, const TaskRow& after, const DuePlan& plan,
                                const std::vector<Record>& records) {
    const TaskId& id = after.task->id;
    if (after.state.last_at < before.state.last_at) {
        fail_(Describe(id, before.state.last_at) + " is forgotten again");
    }
    CheckNoneJumped(before, after, plan);
    const Time last = before.state.last_at;
    // A task that has come to its end has its place behind all due times.
    const Time next = after.state.next_at == Time{} ? Time::max() : after.state.next_at;
    Time from = std::min(before.state.next_at, next);
    Time until = std::max(before.state.next_at, after.state.next_at);
    for (const Record& record : records) {
        from = std::min(from, record.first);
        until = std::max(until, record.last);
    }
    const Time made = before.task->created_at;
    from = std::max(from, made - kLookedBack);
    auto due = plan.Next(from - Duration(1));
    for (; due && *due <= after.state.last_at; due = plan.Next(*due)) {
        if (*due > until && *due < last) due = plan.Next(last - Duration(1));
        if (!due) break;
        if (!SaysRecorded(after.state, *due) || SaysRecorded(before.state, *due)) continue;
        // A clock that was behind is right again: nobody was to run what was due before it was made.
        if (*due <= made && next > made) continue;
        const bool recorded = std::ranges::any_of(records, [&](const Record& record) {
            return record.first <= *due && *due <= record.last;
        });
        // A stretch that is forgotten since there are too many is on record.
        if (!recorded && !WasMissed(after, *due)) return fail_(Describe(id, *due) + " was lost");
    }
}

// A time between the old place and the new one was fired or missed: an engine that plans from now on
// when it begins would forget all that was due while nobody led.
void FireChecker::CheckNoneJumped(const TaskRow& before, const TaskRow& after,
                                  const DuePlan& plan) {
    if (before.task->version != after.task->version || WasPaused(before)) return;
    const Time from = std::max(before.state.next_at, after.task->created_at + Duration(1));
    auto due = plan.Next(from - Duration(1));
    for (; due && *due < after.state.next_at; due = plan.Next(*due)) {
        if (!IsAccounted(after.state, *due) && !WasMissed(after, *due)) {
            return fail_(Describe(after.task->id, *due) + " was jumped over");
        }
    }
}

bool FireChecker::WasFired(const Task& task, Time due) const {
    const auto fired = fired_.find({task.id, task.created_at});
    return fired != fired_.end() && fired->second.contains(due);
}

bool FireChecker::WasMissed(const TaskRow& row, Time due) const {
    const auto missed = missed_.find({row.task->id, row.task->created_at});
    if (missed == missed_.end()) return false;
    const auto after = missed->second.upper_bound(due);
    return after != missed->second.begin() && std::prev(after)->second >= due;
}

void FireChecker::OnTold(const TaskRow& row) {
    const TaskRow* stored = Find(row.task->id);
    // Somebody may have deleted it since.
    if (stored && stored->task->created_at == row.task->created_at &&
        stored->task->version < row.task->version) {
        fail_("version " + std::to_string(row.task->version) + " of " + row.task->id.text().str() +
              " was confirmed before it was committed");
    }
}

void FireChecker::CheckPunctual(Time wall) {
    for (const auto& [id, row] : tasks_) {
        const Time next = row.state.next_at;
        if (row.state.replaced_below != 0) {
            fail_("runs of " + id.text().str() + " that were replaced were never ended");
        }
        if (row.state.paused || next == Time{}) continue;
        if (next <= wall - kPunctual) fail_(Describe(id, next) + " was never fired");
        // No clock that was wrong before keeps it from the next due time that nobody has fired.
        const Recurrence& recurrence = *row.task->opt().recurrence;
        const auto plan = DuePlan::Make(recurrence, row.task->created_at);
        if (!plan || recurrence.every_after_end > Duration(0)) continue;
        auto due = plan->Next(wall);
        while (due && *due < next && IsAccounted(row.state, *due)) due = plan->Next(*due);
        if (due && *due < next)
            fail_(Describe(id, *due) + " is passed over for " + FormatTime(next));
    }
}

}  // namespace takt::internal::sim
