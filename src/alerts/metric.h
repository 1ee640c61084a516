// The numbers that an alert rule may watch.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"

namespace takt::internal {

// The kind of thing that a metric has one value of.
enum class AlertSubject : std::uint8_t { kAll, kTask, kWorker, kQueue };

struct AlertMetric {
    std::string_view name;
    std::string_view unit;
    std::string_view help;
    // If not kAll, a rule raises one alert for each task, worker or queue, and one of which there
    // is no value is well.
    AlertSubject subject = AlertSubject::kAll;
    // How much of the past it sums up; 0: it is as of now. A leader whose term is younger than this
    // knows only a part of it.
    Duration window{0};
};

// Of rates and quantiles.
constexpr Duration kAlertWindow = std::chrono::minutes(5);

constexpr std::string_view kLatenessMetric = "run_lateness_seconds";
constexpr std::string_view kFailedRunsMetric = "task_failed_runs";
constexpr std::string_view kStoreUsedMetric = "store_used_ratio";

std::span<const AlertMetric> AlertMetrics();
// Null if there is none of that name.
const AlertMetric* FindAlertMetric(std::string_view name);

// One value at one moment. A metric that cannot be told (a rate of nothing) has no reading.
struct AlertReading {
    std::string_view metric;  // The name, as in AlertMetrics.
    double value = 0;
    Text subject = {};       // Whom it is about; empty for AlertSubject::kAll.
    Text subject_name = {};  // As people call it; empty: as its id.
    Time occasion =
        {};          // What makes two alerts of one subject the same: a due time. 0: when it began.
    Text note = {};  // A sentence that says more than the numbers; may be empty.
    bool settled = false;  // The value is final: the run it is about has begun.
    Duration window{0};    // As AlertMetric's, where that one depends on the configuration.
};
using AlertReadings = std::vector<AlertReading>;

}  // namespace takt::internal
