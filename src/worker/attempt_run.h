// AttemptRun: an attempt whose handler has returned, and that goes on until somebody finishes it.
#pragma once

#include <atomic>
#include <memory>

#include "worker/held.h"
#include "worker/run_tracer.h"
#include "worker/task_context.h"

namespace takt::internal {

// May outlive the worker: then what is said of it is heard by nobody. From any thread.
class AttemptRun {
  public:
    AttemptRun(HeldPtr held, std::shared_ptr<RunTracer> tracer, std::unique_ptr<Span> span);
    AttemptRun(const AttemptRun&) = delete;
    AttemptRun& operator=(const AttemptRun&) = delete;
    // One that nobody finished has failed: it would hold its place for ever.
    ~AttemptRun();

    TaskContext& context() { return context_; }
    // The first counts.
    void Finish(TaskResult result);

  private:
    const HeldPtr held_;
    const std::shared_ptr<RunTracer> tracer_;  // Null: it is not traced.
    std::unique_ptr<Span> span_;
    TaskContext context_;
    std::atomic<bool> finished_ = false;
};

}  // namespace takt::internal
