// Worker: runs tasks in this process. Connects to the schedulers; nothing needs to reach it.
//
//     takt::Worker worker({.servers = {"http://127.0.0.1:8080"}, .max_concurrency = 5});
//     worker.Handle("greet", [](takt::TaskContext& task) {
//         task.Log("hello " + task.payload());
//         return takt::TaskResult::Success();
//     });
//     if (auto started = worker.Start(); !started) return Complain(started.error());
//     worker.Wait();
//
// Heartbeats and everything else on the network come from a thread of its own, which handlers
// cannot block. A lost connection disturbs nothing: what runs goes on, results are kept until a
// scheduler has acknowledged them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "takt/error.h"
#include "takt/executor.h"
#include "takt/export.h"
#include "takt/time.h"

namespace takt {

struct WorkerOptions {
    // Any schedulers of one cluster; the worker follows to the leader.
    std::vector<std::string> servers = {};
    // Instead of servers: asks this store, at the start, where its schedulers are. Not for file:.
    // With neither it is http://127.0.0.1:8080.
    std::string store_url = {};
    std::string name_space = {};           // The one it serves; empty: its token's, else `default`.
    std::string id = {};                   // Empty: the host name and a random part.
    std::string name = {};                 // What people read; empty is the id.
    std::vector<std::string> types = {};   // Empty: those that it has handlers for.
    std::vector<std::string> queues = {};  // Empty: every queue.
    std::map<std::string, std::string> labels = {};
    std::string group = {};              // What a task's `executor` can name.
    std::uint32_t max_concurrency = 10;  // Its capacity: attempts at once, 1 to 100,000.
    std::uint32_t weight = 1;            // Share under weighted_round_robin, 1 to 1,000.
    std::string token = {};              // Access token with the role worker; empty is none.
    std::string ca_file = {};            // PEM, for https; empty is the system's certificates.

    Duration heartbeat_interval{0};  // 0: as the scheduler says. Never slower than that.
    Duration worker_ttl{0};      // A scheduler silent for longer is left; 0: as the scheduler says.
    Duration task_timeout{0};    // No attempt runs longer here; 0: as its task says.
    Duration idle_timeout{0};    // Stops itself after this long without work; 0 is never.
    Duration stop_grace{3'000};  // From being asked to stop to being abandoned.
    Duration drain_timeout{60'000};  // How long Drain and Stop wait for what runs.

    // Finished attempts that may wait for their acknowledgement; beyond, nothing new is begun.
    std::size_t buffer_size = 10'000;
    bool enable_compression = true;  // Of large results, by zstd.
    // Whether spans of what it runs are sent to tracing_endpoint, by OTLP over HTTP. Only for tasks
    // whose scheduler traces them.
    bool enable_tracing = false;
    std::string tracing_endpoint = "http://127.0.0.1:4318";
    // HOST:PORT of its own /healthz, /readyz and /metrics; empty is none. Port 0 takes a free one.
    std::string health_listen = {};
};

// As of a moment ago.
struct WorkerStatus {
    std::string id;
    bool attached = false;
    std::string scheduler_node_id;  // Where it is attached.
    std::string trouble;            // Why it is not attached.
    bool draining = false;
    std::uint32_t capacity = 0;   // What it is given at once: as an operator has set it, or itself.
    std::uint32_t in_hand = 0;    // Attempts, with those whose results are not acknowledged yet.
    std::uint32_t abandoned = 0;  // Handlers that did not stop and still run.
    std::uint64_t assigned = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t refused_stale = 0;  // Results that came too late; somebody else ran it.
    std::uint64_t reconnects = 0;
    std::uint16_t health_port = 0;
};

class TAKT_EXPORT Worker {
  public:
    // Does nothing yet.
    explicit Worker(WorkerOptions options = {});
    // Stops at once, as Stop after Stop.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // The handlers that it runs; before Start. A mistake (a type that has a handler already, an
    // empty function) is what Start returns.
    void Handle(std::string type, TaskFunction function);
    // One that returns before the attempt ends: thousands that wait take no thread each.
    //
    //     worker.HandleAsync("fetch", [&](takt::AsyncTask task) {
    //         http.Get(task->payload(), [task](Answer a) { task.Finish(ResultOf(a)); });
    //     });
    void HandleAsync(std::string type, AsyncTaskFunction function);
    // One of types of your own, which Codec reads and writes. `function(In, TaskContext&)` returns an
    // Out, or a Result<Out>: kInvalid there is a failure that no retry can mend, any other may be
    // repeated. A payload that cannot be read is rejected.
    //
    //     worker.Handle<Resize, Resized>("resize", [](Resize in, takt::TaskContext&) {
    //         return Resized{in.width / 2};
    //     });
    template <typename In, typename Out, typename Function>
    void Handle(std::string type, Function function) {
        Handle(std::move(type), TaskFunction([function = std::move(function)](TaskContext& task) {
                   Result<In> in = Codec<In>::Read(task.payload());
                   if (!in) return TaskResult::Rejected(in.error().message);
                   const Result<Out> out = function(std::move(*in), task);
                   if (out) return TaskResult::Success(Codec<Out>::Write(*out));
                   return out.error().code == ErrorCode::kInvalid
                              ? TaskResult::FinalFailure(out.error().message)
                              : TaskResult::Failure(out.error().message);
               }));
    }
    void AddExecutor(std::shared_ptr<Executor> executor);
    // For every type that has no handler of its own.
    void SetTaskProcessor(std::shared_ptr<TaskProcessor> processor);

    // Returns at once, the worker connects by itself, and again whenever it has to. kInvalid:
    // options that cannot work, or nothing to run tasks with. kUnavailable: health_listen is taken,
    // or the store knows no scheduler. kConflict: it was started before; make another.
    Result<void> Start();

    // Takes so many attempts at once from now on, in place of max_concurrency: 1 to 100,000, else
    // kInvalid. What runs goes on; nothing new comes until less than that does. An operator's word, if
    // there is one, goes before this. kConflict: it was not started. From any thread, also from a
    // handler.
    Result<void> SetCapacity(std::uint32_t capacity);

    // Takes nothing new, finishes what runs within drain_timeout, asks the rest to stop, then says
    // goodbye. Returns at once; from any thread, also from a handler.
    void Drain();

    // Drain, and waits for the end: at most drain_timeout and stop_grace and some seconds. Called
    // by another thread meanwhile: stops everything now. Idempotent. Not from a handler, for which
    // it would wait.
    void Stop();

    // Until everything is over: after Drain or Stop, or by idle_timeout. kConflict: a scheduler
    // turned the worker away for good (another process uses its id).
    Result<void> Wait();

    WorkerStatus status() const;

  private:
    struct TAKT_LOCAL Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace takt
