// Executors: all of a simulation, the web between them and the schedulers, and what goes wrong there.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/executor.h"

namespace takt::internal::sim {

class Executors {
  public:
    // Undoes a fault after a while, unless the heal has come first.
    using Later = std::function<void(Micros from, Micros to, std::function<void()> undo)>;

    // Before the cluster's schedulers start.
    Executors(Cluster& cluster, bool quiet);
    ~Executors();
    Executors(const Executors&) = delete;
    Executors& operator=(const Executors&) = delete;

    void Start();
    void Fault(const Later& later);
    void Heal();
    // Questions of operators that are not answered.
    std::size_t pending() const;

  private:
    void NetworkFault(SimExecutor& executor, const Later& later);

    Cluster& cluster_;
    const bool quiet_;
    SimWeb web_;
    ExecutorChecker checker_;
    std::vector<std::unique_ptr<SimExecutor>> executors_;
};

}  // namespace takt::internal::sim
