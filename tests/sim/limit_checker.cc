#include "sim/limit_checker.h"

#include "model/workflow.h"

#include <algorithm>
#include <sstream>

namespace takt::internal::sim {
namespace {

constexpr std::string_view kQueuePrefix = "queue/";
constexpr std::string_view kUniquePrefix = "unique/";

// Clocks are wrong by more than this, if they are.
constexpr Duration kRight{1'000};

bool Began(const RowMove& move) {
    return move.after.attempt > move.before.attempt;
}

// Whether the row came to wait although its queue may have been full by then: it is a part of a run, or
// it was at work, perhaps only within the batch, while others took its place.
bool CameBack(const RowMove& move) {
    if (!move.before.task && !move.after.parent.empty()) return true;
    if (!IsWaiting(move.after.status)) return false;
    return Began(move) || (move.before.task && !IsWaiting(move.before.status));
}

// Whether the row was at work before, or ended, and waited in between: for another attempt that began
// in the same batch, or that was cancelled in it.
bool PassedThrough(const RowMove& move) {
    if (!move.before.task || IsWaiting(move.before.status) || IsWaiting(move.after.status)) {
        return false;
    }
    const bool ended_once =
        move.after.failures > move.before.failures || move.after.losses > move.before.losses;
    return Began(move) || (ended_once && move.after.status == Status::kCancelled);
}

// The key of those that share a limit, as docs/scheduling.md says.
Text SharedKeyOf(const Task& task) {
    if (!task.opt().concurrency_key.empty()) return task.opt().concurrency_key;
    return task.recurring() ? Text("task " + task.id.text().str())
                            : Text("name " + task.name.str());
}

QueueLimits ReadLimits(const Text& value) {
    QueueLimits limits;
    std::istringstream in(value.str());
    std::int64_t per = 0;
    in >> limits.paused >> limits.working_max >> limits.rate.count >> per;
    limits.rate.per = Duration(per);
    return limits;
}

}  // namespace

void LimitChecker::OnCommit(const Batch& batch, const std::vector<RowMove>& moves, Time wall_latest,
                            const EngineConfig& config) {
    clock_latest_ = std::max(clock_latest_, wall_latest);
    for (const RowMove& move : moves) Follow(move);
    for (const Change& change : batch.changes) {
        if (const auto* setting = std::get_if<SettingPut>(&change)) NoteWindow(*setting);
    }
    for (const RowMove& move : moves) CheckUnique(move, batch.term.epoch);
    CheckModes();
    CheckConcurrency();
    CheckQueues(batch, moves, config);
}

void LimitChecker::Follow(const RowMove& move) {
    const Execution& row = move.after;
    if (!row.task->opt().unique_key.empty()) key_held_[row.task->opt().unique_key] = world_.now();
    if (IsTerminal(row.status)) {
        live_.erase(row.id);
    } else {
        live_[row.id] = {row, move.redriven};
    }
}

void LimitChecker::CheckModes() {
    struct Counts {
        std::size_t begun = 0;
        std::size_t live = 0;
        std::size_t fires = 0;
    };
    std::map<TaskId, Counts> counts;
    // Of tasks that are deleted: how many have begun, and whether all are of sequential versions.
    std::map<std::pair<TaskId, Time>, std::pair<std::size_t, bool>> deleted;
    for (const auto& [id, row] : live_) {
        const Execution& run = row.execution;
        const bool own = run.origin == Origin::kFire || run.origin == Origin::kTrigger;
        if (!own || run.payload == kForcedPayload) continue;
        const TaskRow* task = fires_.Find(run.task->id);
        // An execution that has begun keeps its turn through retries and losses. One that is run
        // again begins anew.
        const bool begun = IsWorking(run.status) || (run.attempt > 0 && !row.redriven);
        if (!task) {
            auto& [count, sequential] =
                deleted.try_emplace({run.task->id, run.task->created_at}, 0, true).first->second;
            count += begun ? 1 : 0;
            sequential = sequential && run.task->opt().mode == Mode::kSequential;
        }
        // Runs of a task that was deleted and made again go on; those of the new one wait for them.
        if (!task || task->task->created_at != run.task->created_at) continue;
        Counts& count = counts[run.task->id];
        if (begun) ++count.begun;
        // A run that is replaced may outlive the batch of its successor if that says so.
        if (!row.redriven && run.serial >= task->state.replaced_below) ++count.live;
        // A run that was fired by other times, before the task was changed, goes on.
        const bool after_end = run.task->opt().recurrence->every_after_end > Duration(0);
        if (!row.redriven && after_end && run.origin == Origin::kFire) ++count.fires;
    }
    for (const auto& [task, count] : deleted) {
        if (count.second && count.first > 1) {
            fail_("runs of the deleted sequential task " + task.first.text().str() + " overlap");
        }
    }
    for (const auto& [id, count] : counts) {
        const TaskOptions& options = fires_.Find(id)->task->opt();
        const std::string task = id.text().str();
        if (options.mode == Mode::kSequential && count.begun > 1) {
            fail_("runs of the sequential task " + task + " overlap");
        }
        if ((options.mode == Mode::kSkip || options.mode == Mode::kReplace) && count.live > 1) {
            fail_(task + " has two runs at once although its mode is " +
                  std::string(Name(options.mode)));
        }
        if (options.recurrence->every_after_end > Duration(0) && count.fires > 1) {
            fail_(task + " fired before its last run had ended");
        }
    }
}

// "unique/KEY" is "1767225600000 order-17": until when, and by whom.
void LimitChecker::NoteWindow(const SettingPut& setting) {
    if (!setting.key.view().starts_with(kUniquePrefix) || setting.value.empty()) return;
    std::istringstream in(setting.value.str());
    std::int64_t until = 0;
    std::string execution;
    in >> until >> execution;
    written_until_[ExecutionId(Text(execution))] = Time(Duration(until));
}

void LimitChecker::CheckUnique(const RowMove& move, std::uint64_t epoch) {
    const Execution& row = move.after;
    const Text& key = row.task->opt().unique_key;
    if (key.empty() || row.origin != Origin::kOnce) return;
    if (!move.before.task) {
        const auto age = std::chrono::round<Duration>(world_.now() - move.made);
        const bool right = std::chrono::abs(world_.wall() - age - row.created_at) <= kRight;
        for (const Window& window : windows_[key]) {
            // A leader whose clock was ahead may have ended it sooner. After a clock was set back it
            // lasts as long as it says, not until the time that the clock before gave.
            // The next leader goes by the time that is written, unless both clocks were right then:
            // what was wrong in between frees nothing.
            const auto written = written_until_.find(window.execution);
            const bool ends = window.epoch != epoch && !(window.right && right) &&
                              written != written_until_.end() && row.created_at >= written->second;
            if (row.created_at < window.until && clock_latest_ < window.until &&
                world_.now() < window.lasted && !ends) {
                fail_(row.id.text().str() + " was accepted within the window of " +
                      window.execution.text().str() + " with the same unique key");
            }
        }
        const Duration window = row.task->opt().unique_for;
        const Time until = window > Duration(0) ? row.created_at + window : Time{};
        windows_[key].push_back({until, move.made + window, row.id, epoch, right});
    }
    for (const auto& [id, other] : live_) {
        if (id == row.id || !live_.contains(row.id)) continue;
        if (other.execution.task->opt().unique_key == key) {
            fail_(row.id.text().str() + " and " + id.text().str() +
                  " live with the same unique key");
        }
    }
}

void LimitChecker::OnKeyRefused(const Text& key, Steady asked) {
    const bool lives = std::ranges::any_of(live_, [&](const auto& item) {
        return item.second.execution.task->opt().unique_key == key;
    });
    // How long a window lasts is known by clocks that may be wrong.
    const bool windowed = std::ranges::any_of(
        windows_[key], [](const Window& window) { return window.until != Time{}; });
    if (lives || windowed || key_held_[key] >= asked) return;
    fail_("unique key " + key.str() + " was refused although it is free");
}

void LimitChecker::OnQueueRefused(const Text& queue, Steady asked, const EngineConfig& config) {
    if (waiting_[queue] >= config.pending_max || full_[queue] >= asked) return;
    fail_("queue " + queue.str() + " refused something as full when " +
          std::to_string(waiting_[queue]) + " waited in it");
}

void LimitChecker::CheckConcurrency() {
    std::map<Text, std::uint32_t> working;
    for (const auto& [id, row] : live_) {
        const TaskOptions& options = row.execution.task->opt();
        if (options.concurrency_max == 0 || !IsWorking(row.execution.status)) continue;
        const Text key = SharedKeyOf(*row.execution.task);
        if (++working[key] > options.concurrency_max) {
            fail_("more than " + std::to_string(options.concurrency_max) + " of " + key.str() +
                  " are at work");
        }
    }
}

// In any time that the leader led, a burst of `count` and as many more as `per` goes into it: also
// after a time in which nothing could start.
void LimitChecker::CheckPace(const Execution& execution, Steady batch_began) {
    constexpr std::size_t kLookedBackAt = 64;
    const RateLimit& rate = execution.task->opt().rate;
    if (rate.count == 0) return;
    const Text key = SharedKeyOf(*execution.task);
    std::deque<Steady>& starts = starts_[{clocks_are_right ? 0 : execution.epoch, key}];
    starts.push_back(batch_began);
    if (starts.size() > kLookedBackAt) starts.pop_front();
    const std::chrono::duration<double> per = rate.per;
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::chrono::duration<double> since = world_.now() - starts[i];
        if (double(starts.size() - i) > rate.count * (1 + since / per) + 1e-3) {
            return fail_(key.str() + " started more often than its rate allows");
        }
    }
}

std::size_t LimitChecker::CountIn(const Text& queue, bool working) const {
    return std::size_t(std::ranges::count_if(live_, [&](const auto& entry) {
        const Execution& row = entry.second.execution;
        // The limits of a queue are for what workers run.
        if (row.task->workflow() && working) return false;
        return row.task->queue == queue && IsWorking(row.status) == working;
    }));
}

void LimitChecker::CheckQueues(const Batch& batch, const std::vector<RowMove>& moves,
                               const EngineConfig& config) {
    std::set<Text> told;  // Queues whose limits this batch changes: either word may have counted.
    for (const Change& change : batch.changes) {
        const auto* setting = std::get_if<SettingPut>(&change);
        if (!setting || !setting->key.view().starts_with(kQueuePrefix)) continue;
        const Text queue(setting->key.view().substr(kQueuePrefix.size()));
        told.insert(queue);
        queues_.erase(queue);
        if (!setting->value.empty()) queues_[queue] = ReadLimits(setting->value);
    }
    std::map<Text, std::size_t> begun;
    std::map<Text, std::size_t> back;  // Rows that came to wait again: nobody could refuse them.
    std::map<Text, std::size_t> made;
    std::map<Text, std::size_t>
        passed;  // Rows that waited within the batch, not before, not after.
    for (const RowMove& move : moves) {
        const Text& queue = move.after.task->queue;
        if (Began(move)) ++begun[queue];
        if (!move.before.task) ++made[queue];
        if (CameBack(move)) ++back[queue];
        if (PassedThrough(move)) ++passed[queue];
    }
    for (const auto& [queue, count] : begun) {
        const auto limits = queues_.find(queue);
        if (limits == queues_.end() || told.contains(queue)) continue;
        if (limits->second.paused) fail_("something of the paused queue " + queue.str() + " began");
        const std::uint32_t working_max = limits->second.working_max;
        if (working_max > 0 && CountIn(queue, true) > working_max) {
            fail_("more of queue " + queue.str() + " are at work than it allows");
        }
    }
    std::map<Text, std::size_t> waiting;  // Behind the batch.
    for (const RowMove& move : moves) {
        const Text& queue = move.after.task->queue;
        const auto [counted, first] = waiting.try_emplace(queue, 0);
        // The same again for each of its rows.
        if (!first) continue;
        const std::size_t waits = counted->second = CountIn(queue, false);
        // Some of the batch may have waited and gone before it was written.
        if (waiting_[queue] + made[queue] + back[queue] + passed[queue] >= config.pending_max) {
            full_[queue] = world_.now();
        }
        if (waits > std::max(config.pending_max, waiting_[queue]) + back[queue]) {
            fail_("queue " + queue.str() + " took more than it holds: " + std::to_string(waits));
        }
    }
    for (const auto& [queue, count] : waiting) waiting_[queue] = count;
}

void LimitChecker::OnAssign(const Execution& execution, const Decided& decided) {
    const Time at = decided.at;
    CheckPace(execution, decided.batch_began);
    const TaskOptions& options = execution.task->opt();
    if (options.expires_after > Duration(0)) {
        // A fire that is run again keeps its due time; its new time is when it may start, and for
        // retries when its first attempt began.
        const bool fire = execution.origin == Origin::kFire;
        Time from = execution.scheduled_at;
        if (fire && execution.failures == 0) from = execution.ready_at;
        if (fire && execution.failures > 0) {
            from += options.recurrence->jitter;
            const auto again = FirstFailureSinceRedrive(execution, from + options.expires_after);
            from = std::max(from, again.value_or(from));
        }
        if (from + options.expires_after <= at - decided.ahead) {
            fail_(execution.id.text().str() + " was started after it had expired");
        }
    }
}

}  // namespace takt::internal::sim
