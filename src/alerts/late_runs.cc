#include "alerts/late_runs.h"

#include <algorithm>
#include <set>

namespace takt::internal {
namespace {

double Seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

AlertReading ReadingOf(const Task& task, Time due, Duration late, std::string_view what) {
    return {.metric = kLatenessMetric,
            .value = Seconds(late),
            .subject = task.id.text(),
            .subject_name = task.name,
            .occasion = due,
            .note = Text("the run of task '" + task.name.str() + "' due at " + FormatTime(due) +
                         " " + std::string(what))};
}

}  // namespace

void LateRuns::Note(const Execution& row) {
    if (row.origin == Origin::kOnce) return;
    const Text& task = row.task->id.text();
    if (row.origin == Origin::kTrigger) {
        // A person who runs by hand what did not happen, or happened late, has looked after it. One
        // that goes on since before the due time makes up for nothing.
        const auto made_up = row.started_at == Time{} ? slips_.end() : slips_.find(task);
        if (made_up != slips_.end() && made_up->second.due < row.scheduled_at) {
            slips_.erase(made_up);
        }
        return;
    }
    if (row.status == Status::kSkipped) {
        const bool missed = row.outcome && row.outcome->reason == Reason::kMissed;
        if (missed && slips_.size() < kSlipsMax) slips_[task] = {row.scheduled_at, Duration(0)};
        return;
    }
    // Later attempts begin when their retry is due; only the first one tells.
    if (row.started_at == Time{} || row.attempt != 1) return;
    const Duration late = row.started_at - row.ready_at;
    const auto found = slips_.find(task);
    // An older run that ends now says nothing about the newer one that was missed.
    if (found != slips_.end() && found->second.due > row.scheduled_at) return;
    if (late >= kLateMin && slips_.size() < kSlipsMax) {
        slips_[task] = {row.scheduled_at, late};
    } else if (found != slips_.end() && found->second.due != row.scheduled_at) {
        slips_.erase(found);
    }
}

void LateRuns::Adopt(const Text& task, Time due, Duration late) {
    if (slips_.size() < kSlipsMax) slips_.try_emplace(task, Slip{due, late});
}

void LateRuns::Read(const Engine& engine, Time now, AlertReadings& readings) {
    // A task with nothing under way, due or slipped is not late: there may be a million of them.
    std::set<Text, std::less<>> judged;
    const auto judge = [&](const TaskView& task) {
        if (judged.insert(task.row.task->id.text()).second) Judge(task, now, readings);
    };
    const auto first = static_cast<std::ptrdiff_t>(readings.size());
    std::erase_if(slips_, [&](const auto& item) {
        const auto task = engine.FindTask(TaskId(item.first));
        if (!task || task->row.state.paused) return true;
        judge(*task);
        return false;
    });
    engine.ForEachAwaited(now - kLateMin, kLateMax, judge);
    std::sort(readings.begin() + first, readings.end(),
              [](const AlertReading& a, const AlertReading& b) { return a.subject < b.subject; });
}

void LateRuns::Judge(const TaskView& task, Time now, AlertReadings& readings) const {
    const TaskRow& row = task.row;
    const FireState& state = row.state;
    if (state.paused) return;
    AlertReading worst;
    const auto consider = [&](Time due, Duration late, std::string_view what) {
        if (late < kLateMin || Seconds(late) <= worst.value) return;
        worst = ReadingOf(*row.task, due, late, what);
    };
    if (state.next_at != Time{} && state.next_at < now) {
        consider(state.next_at, now - state.next_at, "was not fired");
    }
    for (const Execution* run : task.runs) {
        if (run->origin != Origin::kFire || run->attempt > 1 || run->started_at != Time{}) continue;
        consider(run->scheduled_at, now - run->ready_at, "has not begun");
    }
    if (const auto slip = slips_.find(row.task->id.text()); slip != slips_.end()) {
        const auto& [due, late] = slip->second;
        if (late > Duration(0)) {
            consider(due, late, "began " + FormatDuration(late) + " late");
            worst.settled = worst.occasion == due;
        } else {
            consider(due, now - due, "did not happen");
        }
    }
    if (worst.value > 0) readings.push_back(std::move(worst));
}

void LateRuns::ReadRows(const std::vector<TaskRow>& rows, Time now, Duration grace,
                        AlertReadings& readings) {
    for (const TaskRow& row : rows) {
        const FireState& state = row.state;
        if (state.paused || state.next_at == Time{} || state.next_at + grace >= now) continue;
        readings.push_back(
            ReadingOf(*row.task, state.next_at, now - state.next_at - grace, "was not fired"));
    }
}

}  // namespace takt::internal
