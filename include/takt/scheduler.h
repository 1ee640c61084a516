// Scheduler: a whole scheduler in your process, the same as `takt serve`.
//
//     takt::Scheduler scheduler({.store_url = "file:./takt-data", .listen = "127.0.0.1:8080"});
//     if (auto started = scheduler.Start(); !started) return Complain(started.error());
//     scheduler.RegisterEventCallback(takt::EventType::kTaskCompleted, [](const takt::Event& e) {
//         std::cout << e.task_id << " on " << e.worker_id << "\n";
//     });
//     scheduler.SubmitTask({.type = "report"});
//     …
//     scheduler.Stop();
//
// It listens: workers connect to it, and the REST API, the command line and other schedulers of the
// cluster reach it there. Several over one store elect a leader; calls to any of them are passed on
// to it. See SchedulerApi for what it can be asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "takt/event.h"
#include "takt/load_balancer.h"
#include "takt/scheduler_api.h"

namespace takt {

// Options that are left out are as docs/configuration.md says, which also names the key of each.
struct SchedulerOptions {
    // file:DIR, redis://…, etcd://…, mysql://… Key prefix, namespace and credentials are parts of
    // it: "etcd://127.0.0.1:2379/my-app/scheduler".
    std::string store_url = "file:./takt-data";
    std::string listen = "127.0.0.1:8080";  // HOST:PORT; port 0 takes a free one, see url().
    std::string advertise = {};             // URL at which others reach it; empty: from listen.
    std::string node_id = {};               // Empty: the host name and a random part.
    bool insecure = false;      // Listen beyond loopback although there are no access tokens.
    std::string tls_cert = {};  // PEM files; both or none.
    std::string tls_key = {};
    // Access token (role admin) for this object's own calls; needed once the store has tokens.
    std::string token = {};

    std::optional<Duration> heartbeat_interval = {};  // How often workers give a sign of life.
    std::optional<Duration> worker_ttl = {};  // Silent for longer: dead, its work given to others.
    std::optional<Duration> election_timeout = {};  // How long the lead lasts without renewal.
    std::optional<Duration> task_timeout = {};      // Of one attempt, for tasks that name none.

    std::optional<std::uint32_t> max_retry_attempts = {};  // For tasks that name none,
    std::optional<Duration> retry_backoff_base = {};       // the first delay
    std::optional<Duration> retry_backoff_max = {};        // and the longest.

    std::optional<std::size_t> task_queue_size = {};  // Per queue; submits beyond are kExhausted.
    std::optional<std::uint32_t> worker_pool_size = {};  // Calls at once to one HTTP worker.
    std::optional<Duration> retention = {};              // Finished executions are kept this long,
    std::optional<Duration> cleanup_interval = {};       // and looked for this often.

    // Until an operator says otherwise, which is remembered and goes before this.
    std::string load_balance_strategy = std::string(kStrategyLeastTasks);
    LoadBalancers load_balancers = {};  // Of your own, by name.

    bool enable_metrics = true;  // Whether /metrics is served, for Prometheus.
    // Whether spans of what it does are sent to tracing_endpoint, by OTLP over HTTP.
    bool enable_tracing = false;
    std::string tracing_endpoint = "http://127.0.0.1:4318";

    // Any other key of docs/configuration.md: {{"scheduler.losses_max", "3"}}.
    std::map<std::string, std::string> settings = {};

    // How long Start waits for a leader. After a crash the old lead has to run out first.
    Duration start_timeout{30'000};
    // Of one call to this object.
    Duration call_timeout{30'000};
    // Events that may wait for callbacks that are busy; then the oldest are dropped and counted.
    std::size_t event_queue_size = 10'000;
};

class TAKT_EXPORT Scheduler final : public SchedulerApi {
  public:
    // Does nothing yet.
    explicit Scheduler(SchedulerOptions options = {});
    // Stops.
    ~Scheduler() override;

    // Opens the store, listens, and waits until a scheduler of the cluster leads. kInvalid: options
    // that cannot work. kUnavailable: the store cannot be reached or is used by another process,
    // the port is taken, or nobody leads within start_timeout. kConflict: it runs already. After a
    // failure, and after Stop, it may be started again.
    Result<void> Start();

    // Lets requests and commits finish for some seconds, gives up the lead, waits as long for a
    // callback that is running; then nothing of it is left, except a callback that does not return.
    // Workers find another scheduler, or wait for this one. Again: nothing. From any thread, also
    // from a callback; not from a LoadBalancer.
    void Stop();

    bool running() const;
    // As of a moment ago. False while it does not run.
    bool IsLeader() const;
    // Empty before the first Start, if the options name none.
    std::string GetNodeId() const;
    // Where it listens, "http://127.0.0.1:8080"; empty before Start.
    std::string url() const;

    // Calls `callback` for each event of that type (or of every type), in their order, after what
    // it tells of was stored, on a thread that this object has for it. May be called before Start.
    // All schedulers of a cluster tell the same, of the namespace `default`: one that follows hears
    // from the leader, and tells kMissed to every callback when something may be missing, as after
    // a change of leaders. A callback that is slow holds up other callbacks, never the scheduler:
    // events wait, then the oldest are dropped (see event_queue_size, events_dropped). What it
    // throws is logged. The number is for UnregisterEventCallback, after which a call that is under
    // way may still be going on.
    std::uint64_t RegisterEventCallback(EventType type, EventCallback callback);
    std::uint64_t RegisterEventCallback(EventCallback callback);
    void UnregisterEventCallback(std::uint64_t number);
    std::uint64_t events_dropped() const;

  private:
    struct TAKT_LOCAL Impl;
    explicit Scheduler(std::shared_ptr<Impl> impl);
    std::shared_ptr<Impl> impl_;
};

}  // namespace takt
