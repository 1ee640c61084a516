// FailedRuns: how many runs of each recurring task failed for good of late.
//
// Counts what the store commits, so a leader knows of its own term only. On the node's thread.
#pragma once

#include <deque>
#include <map>

#include "alerts/metric.h"
#include "model/change.h"

namespace takt::internal {

class FailedRuns {
  public:
    // Failures that are remembered; the oldest go first. Whoever has so many knows it by then.
    static constexpr std::size_t kFailuresMax = 20'000;

    void Note(const ExecutionChange& change);
    void Clear();

    // Appends a reading for every task that has one within kAlertWindow.
    void Read(Time now, AlertReadings& readings);

  private:
    struct Failure {
        Time at{};
        TaskPtr task;
    };
    struct Count {
        TaskPtr task;
        std::size_t failures = 0;
    };
    void ForgetFirst();

    std::deque<Failure> failures_;               // As they came.
    std::map<Text, Count, std::less<>> counts_;  // By task.
};

}  // namespace takt::internal
