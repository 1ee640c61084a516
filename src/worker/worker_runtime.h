// WorkerRuntime: a stream worker. Connects to the schedulers, runs what it is assigned, reports.
//
//     HandlerRegistry handlers;
//     handlers.AddFunction("thumbnail",
//                          [](TaskContext& context) { return TaskResult::Success(); });
//     auto worker = WorkerRuntime::Create({.servers = {"http://127.0.0.1:8080"}}, handlers);
//     if (!worker) …
//     (*worker)->Start();
//     …
//     (*worker)->Stop();
//     (*worker)->Wait();
//
// Heartbeats and everything else on the network come from a thread of its own, which handlers
// cannot block. A lost connection disturbs nothing: what runs goes on, results are kept until a
// scheduler has acknowledged them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "worker/handler.h"
#include "worker/options.h"

namespace takt::internal {

// As of a moment ago. A copy.
struct WorkerRuntimeStatus {
    std::string id;
    bool attached = false;
    std::string node_id;  // Of the scheduler that it is attached to.
    std::string trouble;  // Why it is not attached.
    bool draining = false;
    std::uint32_t capacity = 0;   // What an operator has set, else its own word.
    std::uint32_t in_hand = 0;    // Attempts, with those whose results are not acknowledged yet.
    std::uint32_t abandoned = 0;  // Handlers that did not stop and still run.
    std::uint64_t assigned = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t refused_stale = 0;  // Results that came too late; somebody else ran it.
    std::uint64_t reconnects = 0;
    Duration heartbeat_delay{0};  // There and back, of the last one.
};

class WorkerRuntime {
  public:
    // kInvalid for options that cannot work, types that have no handler, or CA files that cannot be
    // read.
    static Result<std::unique_ptr<WorkerRuntime>> Create(WorkerOptions options,
                                                         HandlerRegistry handlers);

    // Like Stop twice, then Wait.
    ~WorkerRuntime();

    // kUnavailable if the health endpoint cannot listen. Once.
    Result<void> Start();

    // From any thread. First: takes nothing new, finishes what runs within drain_timeout, asks the
    // rest to stop, says Bye. Again: stops everything now.
    void Stop();

    // From any thread. How many attempts it takes at once from now on; what runs goes on. kInvalid:
    // not 1 to 100,000.
    Result<void> SetCapacity(std::uint32_t capacity);

    // Until everything is over. kConflict: a scheduler turned the worker away for good (its Hello
    // is not valid, or another process uses its id).
    Result<void> Wait();

    // From any thread.
    WorkerRuntimeStatus status() const;
    // Where /healthz is served; 0 if nowhere.
    std::uint16_t health_port() const;

  private:
    struct State;
    explicit WorkerRuntime(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace takt::internal
