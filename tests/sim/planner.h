// SimPlanner: what users do with recurring tasks and queues. It makes, changes, pauses, triggers
// and deletes tasks, and pauses and limits queues.
#pragma once

#include <string>
#include <vector>

#include "sim/client.h"

namespace takt::internal::sim {

class SimPlanner {
  public:
    SimPlanner(Cluster& cluster, SimClient& client) : cluster_(cluster), client_(client) {}

    // Without faults nothing is made that may end otherwise than by success.
    void MakeTask(bool quiet);
    // Does one thing or another with a task or a queue.
    void DoSomething();

    // --- The end: asks until it is done ---
    void OpenQueues();
    void PauseAll();

    // Questions that still wait for an answer they need.
    std::size_t pending() const { return pending_; }

  private:
    TaskOptions AnyOptions(bool quiet);
    Recurrence AnyRecurrence(bool quiet);
    NewTaskPtr MakeOne(const TaskId& id, const TaskOptions& options);
    TaskId AnyTask();
    void Create(const TaskId& id, const TaskOptions& options);
    void Change(const TaskId& id);
    void Pause(const TaskId& id, bool paused, bool insist);
    void Trigger(const TaskId& id, bool force);
    void Delete(const TaskId& id);
    void LimitQueue(const std::string& queue, const QueueLimits& limits, bool insist);
    // Asks; with `insist` again and again until it was answered with a word on the matter.
    void Ask(std::function<Input()> make, bool insist, std::function<void(const Answer&)> done);

    Cluster& cluster_;
    SimClient& client_;
    std::vector<TaskId> made_;
    std::size_t pending_ = 0;
};

}  // namespace takt::internal::sim
