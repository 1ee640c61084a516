// Lifecycles: the changes of executions on their way, for benchmarks of stores.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "model/change.h"

namespace takt::internal {

// Executions on their way, in the order in which their changes come: each third change finishes the
// oldest, and inserts keep `backlog` rows waiting.
class Lifecycles {
  public:
    Change Next() {
        switch (step_++ % 3) {
            case 0: {
                waiting_.push_back(Make());
                return ExecutionChange{Place::kNone, Place::kLive, waiting_.back()};
            }
            case 1: {
                Execution row = std::move(waiting_.front());
                waiting_.pop_front();
                row.status = Status::kScheduled;
                row.attempt = 1;
                row.epoch = 1;
                row.token.fill(7);
                row.worker = worker_;
                running_.push_back(row);
                return ExecutionChange{Place::kLive, Place::kLive, std::move(row)};
            }
            default: {
                Execution row = std::move(running_.front());
                running_.pop_front();
                row.status = Status::kSuccess;
                row.started_at = row.created_at + Duration(3);
                row.finished_at = row.created_at + Duration(8);
                row.outcome = outcome_;
                return ExecutionChange{Place::kLive, Place::kHistory, std::move(row)};
            }
        }
    }

    // Rows that are inserted ahead of the others, so that no two changes of one batch are of one
    // row.
    std::vector<Change> Ahead(std::size_t count) {
        std::vector<Change> changes;
        for (std::size_t i = 0; i < count; ++i) {
            waiting_.push_back(Make());
            changes.push_back(ExecutionChange{Place::kNone, Place::kLive, waiting_.back()});
        }
        return changes;
    }
    // The same for rows that run.
    std::vector<Change> StartAhead(std::size_t count) {
        std::vector<Change> changes;
        for (std::size_t i = 0; i < count; ++i) {
            step_ = 1;
            changes.push_back(Next());
        }
        step_ = 0;
        return changes;
    }

    Serial last_serial() const { return serials_.last(); }

  private:
    Execution Make() {
        const Time now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
        Execution row;
        row.serial = serials_.Next(now);
        row.id = ExecutionId(Text(SerialText(row.serial)));
        boost::intrusive_ptr<Task> task(new Task);
        task->id = TaskId(row.id.text());
        task->name = name_;
        task->type = type_;
        task->queue = queue_;
        task->payload = payload_;
        task->created_at = task->updated_at = now;
        row.task = task;
        row.created_at = row.scheduled_at = row.ready_at = now;
        return row;
    }

    SerialSource serials_{0, 0};
    std::size_t step_ = 0;
    std::deque<Execution> waiting_, running_;
    const Text name_ = "send mail", type_ = "mail", queue_ = "default";
    const Text payload_{std::string(150, 'x')};
    const WorkerId worker_{"worker-1"};
    const OutcomePtr outcome_{new Outcome};
};

}  // namespace takt::internal
