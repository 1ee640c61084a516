#include "statistics/series.h"

#include <utility>

namespace takt::internal {

void Series::EndStep(Time now, const Depth& depth) {
    SeriesPoint point = std::exchange(now_, {});
    point.at = now;
    point.running = depth.running;
    point.pending = depth.pending;
    point.wait_p50 = wait_.Quantile(0.5);
    point.wait_p99 = wait_.Quantile(0.99);
    point.run_p50 = run_.Quantile(0.5);
    point.run_p99 = run_.Quantile(0.99);
    wait_ = {};
    run_ = {};
    points_.push_back(point);
    if (points_.size() > kPointsMax) points_.pop_front();
}

std::vector<SeriesPoint> Series::Since(Time from) const {
    std::vector<SeriesPoint> points;
    for (const SeriesPoint& point : points_) {
        if (point.at >= from) points.push_back(point);
    }
    return points;
}

void Series::Clear() {
    now_ = {};
    wait_ = {};
    run_ = {};
    points_.clear();
}

}  // namespace takt::internal
