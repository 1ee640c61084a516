// Meters: numbers for Prometheus and for the API's own metrics.
//
// Counts what the node releases, so only what is committed counts. Counters are of this process;
// gauges are read from the engine when somebody asks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"
#include "engine/engine.h"
#include "node/node.h"
#include "node/sink.h"

namespace takt::internal {

// What GET /api/v1/metrics shows.
struct MetricsView {
    std::uint64_t tasks_total = 0;  // Live ones and those that finished under this leader.
    std::uint64_t tasks_pending = 0;
    std::uint64_t tasks_scheduled = 0;
    std::uint64_t tasks_running = 0;
    std::uint64_t tasks_retrying = 0;
    std::uint64_t tasks_completed = 0;
    std::uint64_t tasks_failed = 0;
    std::uint64_t tasks_cancelled = 0;
    std::uint64_t workers_online = 0;
    std::uint64_t workers_offline = 0;
    double worker_utilization = 0;  // Of the capacity of the workers that are online, 0 to 1.
};
// On the node's thread. All zeros without an engine.
MetricsView ViewOf(const Engine* engine);

class Meters final : public Sink {
  public:
    Meters();
    ~Meters() override;

    // Sink. On the node's thread.
    void Release(const Effects& effects) override;
    void OnRole(Role role) override;

    // From any thread.
    void CountRequest(int status);
    double throughput() const;  // Executions completed per second, over the last minute.
    // The Prometheus text format, with the gauges as given.
    std::string Text(const MetricsView& view, const NodeStatus& status);

  private:
    struct Families;
    std::unique_ptr<Families> families_;
};

}  // namespace takt::internal
