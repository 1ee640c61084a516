// FireChecker: holds recurring tasks to their due times. Each due time has exactly one record (a
// run, a skipped one, or a range of missed ones), written together with the task's place among its
// times.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/due_plan.h"
#include "sim/world.h"
#include "store/store.h"

namespace takt::internal::sim {

class FireChecker {
  public:
    using Complain = std::function<void(const std::string&)>;

    FireChecker(World& world, Complain fail) : world_(world), fail_(std::move(fail)) {}

    void OnCommit(const Batch& batch);
    // Somebody asked to pause or resume it; whether it is done nobody knows yet.
    void OnPauseAsked(const TaskId& task) { pause_asked_[task] = world_.now(); }
    // A client was told of the task.
    void OnTold(const TaskRow& row);
    // After an undisturbed time: nothing that is due waits any more. `wall` is the right time.
    void CheckPunctual(Time wall);

    const std::map<TaskId, TaskRow>& tasks() const { return tasks_; }  // As committed.
    const TaskRow* Find(const TaskId& id) const;
    // Whether it is, or may have been since.
    bool WasPaused(const TaskRow& before) const;
    bool WasFired(const Task& task, Time due) const;
    std::size_t due_times() const { return due_times_; }

    // The store went back to where it was when this was copied; see Checker::Recall.
    void Recall(const FireChecker& later);

  private:
    // Due times from `first` to `last` that one record speaks of.
    struct Record {
        Time first{};
        Time last{};
        std::uint64_t count = 1;
        bool missed = false;
        TaskPtr task;
    };
    using Made = std::pair<TaskId, Time>;  // A task that is deleted and made again is another one.

    static Record RecordOf(const Execution& row);
    void Account(const Record& record);
    bool MayComeAgain(const TaskRow& before, Time due) const;
    void CheckRecords(const std::vector<Record>& records);
    void CheckPut(const TaskRow& before, const TaskRow& after, const std::vector<Record>& records);
    void CheckPlace(const TaskRow& row, const DuePlan& plan);
    void CheckNoneLost(const TaskRow& before, const TaskRow& after, const DuePlan& plan,
                       const std::vector<Record>& records);
    void CheckNoneJumped(const TaskRow& before, const TaskRow& after, const DuePlan& plan);
    bool WasMissed(const TaskRow& row, Time due) const;

    World& world_;
    const Complain fail_;
    std::map<TaskId, TaskRow> tasks_;
    // The first and the last due time of each record of missed ones, and those that were fired. A
    // due time is fired once, and missed once; one that a clock which came back had passed over may
    // be both.
    std::map<Made, std::map<Time, Time>> missed_;
    std::map<Made, std::set<Time>> fired_;
    // The records of missed ones that the batch under way brings, as first and last.
    std::map<Made, std::vector<std::pair<Time, Time>>> missed_in_batch_;
    std::map<TaskId, Steady> pause_asked_;
    std::size_t due_times_ = 0;
};

}  // namespace takt::internal::sim
