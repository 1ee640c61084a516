// Meters: numbers for Prometheus, for the API's own metrics and for alert rules.
//
// Counts what the node commits and releases, so only what is committed counts. Counters are of this
// process; gauges are read from the engine when somebody asks. metric_table.h says what there is.
//
// The node's thread takes one lock per batch and allocates only for label values it has not seen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alerts/metric.h"
#include "base/time.h"
#include "engine/engine.h"
#include "metrics/metrics_view.h"
#include "node/node.h"
#include "node/sink.h"

namespace takt::internal {

struct MetersConfig {
    bool enabled = true;            // Whether /metrics is served.
    std::string space = "default";  // The namespace that its series are labelled with.
    Duration interval{10'000};      // Over which the throughput is measured.
    Duration clear_within{60'000};  // See takt_queue_workers_wanted.
};

// Numbers of other parts of the program; gathered on the node's thread.
struct MeterExtras {
    struct AlertCount {
        std::string state;
        std::string severity;
        std::uint64_t count = 0;
    };
    struct ChannelCount {
        std::string channel;
        std::uint64_t told = 0;
        std::uint64_t failed = 0;
    };
    std::vector<AlertCount> alerts;
    std::vector<ChannelCount> channels;
    std::size_t event_watchers = 0;
    std::uint64_t store_bytes = 0;      // 0: not told.
    std::uint64_t store_bytes_max = 0;  // 0: not told, or there is no bound.
};

class SpanExporter;

class Meters final : public Sink {
  public:
    explicit Meters(MetersConfig config);
    Meters() : Meters(MetersConfig{}) {}
    ~Meters() override;

    // Sink. On the node's thread.
    void OnCommit(const Committed& committed) override;
    void Release(const Effects& effects) override;
    void OnRole(Role role) override;

    // On the node's thread: counts what only the engine counts.
    void Sample(const Engine& engine, Steady now);
    // On the node's thread: what alert rules may watch, but for the lateness of runs.
    void Read(const Engine& engine, Instant now, AlertReadings& readings);
    // Shows how many spans went out and how many were dropped. Before the first Text; the exporter
    // must outlive the meters.
    void WatchSpans(const SpanExporter& exporter);

    // From any thread.
    void CountRequest(int status);
    double throughput() const;  // Executions completed per second.
    // Executions of a queue that ended per second, but for skipped ones. Nothing if there are too
    // many queues to tell.
    std::optional<double> throughput(const internal::Text& queue) const;
    bool enabled() const { return config_.enabled; }
    const std::string& space() const { return config_.space; }
    Duration clear_within() const { return config_.clear_within; }

  private:
    friend std::string MetersText(const std::vector<struct MeterReading>& readings);
    struct State;
    const MetersConfig config_;
    std::unique_ptr<State> state_;
};

// One namespace, read on its node's thread.
struct MeterReading {
    Meters* meters = nullptr;
    MetricsView view;
    NodeStatus status;
    MeterExtras extras;
};
// The Prometheus text format. What happens in a namespace is told if this node leads it.
// REQUIRES: at least one; numbers of the process are taken from the first.
std::string MetersText(const std::vector<MeterReading>& readings);

}  // namespace takt::internal
