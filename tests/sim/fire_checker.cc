#include "sim/fire_checker.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

namespace takt::internal::sim {
namespace {

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
    const bool missed_now = in_batch != missed_in_batch_.end() &&
                            record.first >= in_batch->second.first &&
                            record.first <= in_batch->second.second;
    const bool again =
        !record.missed && (missed_now || (before && MayComeAgain(*before, record.first)));
    if (ran_before || ((meets_next || meets_last) && !again)) {
        fail_(Describe(task.id, record.first) + " was accounted for twice");
    }
    if (record.missed) {
        missed[record.first] = record.last;
        missed_in_batch_[made] = {record.first, record.last};
    } else {
        fired.insert(record.first);
    }
}

// A clock that ran ahead passed over it and came back.
bool FireChecker::MayComeAgain(const TaskRow& before, Time due) const {
    const FireState& state = before.state;
    const auto fired = fired_.find({before.task->id, before.task->created_at});
    // Without a range there is none; a task that has fired its last time has no next one either.
    return state.passed_to != Time{} && due <= state.last_at && due >= state.passed_from &&
           due <= state.passed_to && (fired == fired_.end() || !fired->second.contains(due));
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
            tasks_.erase(deletion->id);
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

// The records of a batch must be exactly the due times that the task's place moved over.
void FireChecker::CheckPut(const TaskRow& before, const TaskRow& after,
                           std::vector<Record> records) {
    const Recurrence& recurrence = *after.task->opt().recurrence;
    if (!(*before.task->opt().recurrence == recurrence)) return;
    if (recurrence.every_after_end > Duration(0) || before.state.next_at == Time{}) return;
    const TaskId& id = after.task->id;
    if (!before.state.paused && after.state.paused && !after.task->opt().catch_up_after_pause &&
        after.state.next_at != Time{} && after.state.next_at <= after.state.paused_at) {
        fail_(Describe(id, after.state.next_at) + " was overdue at the pause and has no record");
    }
    const auto plan = FirePlan::Make(recurrence, after.task->created_at);
    if (!plan) return fail_("the stored task " + after.task->id.text().str() + " has no times");
    if (recurrence.fires_max != 0 && after.state.fires > recurrence.fires_max) {
        fail_(id.text().str() + " fired more often than it may");
    }
    // A due time that is passed over comes again only if it was not fired, and then needs no second
    // record; Account sees to those. The times that follow keep their order all the same.
    const bool coming_again = MayComeAgain(after, after.state.next_at);
    if (coming_again || before.state.next_at <= before.state.last_at) {
        return CheckBeyond(before, after, *plan, std::move(records));
    }
    // The due times that were passed over, before or in this batch, come out of their order.
    const std::vector<Record> all = records;
    std::erase_if(records, [&](const Record& record) {
        if (record.missed) return false;
        const FireState& state = before.state;
        return (record.first >= state.passed_from && record.first <= state.passed_to) ||
               std::ranges::any_of(all, [&](const Record& other) {
                   return other.missed && record.first >= other.first && record.first <= other.last;
               });
    });
    std::ranges::sort(records, {}, &Record::first);
    std::optional<Time> due = before.state.next_at;
    const auto check_reaches = [&](Time next) {
        if (due && *due < next) fail_(Describe(id, *due) + " was lost");
    };
    for (const Record& record : records) {
        check_reaches(record.first);
        if (due != record.first) return fail_(Describe(id, record.first) + " is none");
        const auto counted =
            DueBetween(*plan, record.first - Duration(1), record.last, record.count);
        if (!counted || (record.missed && !counted->more && counted->count != record.count)) {
            fail_(Describe(id, record.first) + ": its record counts wrong");
        }
        due = plan->Next(record.last);
    }
    if (after.state.next_at != Time{} && after.state.next_at < before.state.next_at) {
        // A clock was set back: then the task was paused or resumed, or it turned out that the clock
        // was ahead when the task was made.
        const bool made_ahead = after.state.next_at < after.task->created_at;
        if (after.state.next_at <= before.state.last_at || !(made_ahead || WasPaused(before))) {
            fail_(Describe(id, after.state.next_at) + " comes again");
        }
    } else if (after.state.next_at != Time{}) {
        check_reaches(after.state.next_at);
        if (due != after.state.next_at)
            fail_(Describe(id, after.state.next_at) + " is no next one");
    } else if (due && (recurrence.fires_max == 0 || after.state.fires < recurrence.fires_max)) {
        fail_(Describe(id, *due) + " will never come");
    }
}

// While due times that were passed over come again: all that lie beyond the last one that was
// accounted for have their record, each once and none left out, up to the new last one.
void FireChecker::CheckBeyond(const TaskRow& before, const TaskRow& after, const FirePlan& plan,
                              std::vector<Record> records) {
    const TaskId& id = after.task->id;
    if (after.state.last_at < before.state.last_at) {
        fail_(Describe(id, before.state.last_at) + " is forgotten again");
    }
    if (before.state.last_at == Time{}) return;
    // A clock that ran ahead and came back within one batch: what it recorded as missed may be fired
    // by the same batch.
    const std::vector<Record> all = records;
    std::erase_if(records, [&](const Record& record) {
        return record.first <= before.state.last_at ||
               (!record.missed && std::ranges::any_of(all, [&](const Record& other) {
                   return other.missed && record.first >= other.first && record.first <= other.last;
               }));
    });
    std::ranges::sort(records, {}, &Record::first);
    std::optional<Time> due = plan.Next(before.state.last_at);
    for (const Record& record : records) {
        if (due != record.first) {
            return fail_(Describe(id, record.first) + " is not the one after " +
                         FormatTime(before.state.last_at) + ", or others were lost");
        }
        due = plan.Next(record.last);
    }
    if (due && *due <= after.state.last_at) fail_(Describe(id, *due) + " was lost");
    if (after.state.next_at > after.state.last_at && due != after.state.next_at) {
        fail_(Describe(id, after.state.next_at) + " is no next one");
    }
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
        if (row.state.paused || next == Time{} || next > wall - kPunctual) continue;
        fail_(Describe(id, next) + " was never fired");
    }
}

}  // namespace takt::internal::sim
