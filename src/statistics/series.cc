#include "statistics/series.h"

#include <array>
#include <utility>

#include "statistics/point_text.h"

namespace takt::internal {
namespace {

constexpr std::size_t kNumbers = 11;  // Of one point.

using PointNumbers = std::array<PointNumber, kNumbers>;

PointNumbers NumbersOf(const SeriesPoint& point) {
    const auto whole = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    return {point.at.time_since_epoch().count(),
            whole(point.submitted),
            whole(point.completed),
            whole(point.failed),
            whole(point.retries),
            whole(point.running),
            whole(point.pending),
            InHundredths(point.wait_p50),
            InHundredths(point.wait_p99),
            InHundredths(point.run_p50),
            InHundredths(point.run_p99)};
}

SeriesPoint PointOf(const PointNumbers& numbers) {
    const auto whole = [&](std::size_t at) {
        return static_cast<std::uint64_t>(numbers[at].value_or(0));
    };
    return {.at = Time(Duration(numbers[0].value_or(0))),
            .submitted = whole(1),
            .completed = whole(2),
            .failed = whole(3),
            .retries = whole(4),
            .running = whole(5),
            .pending = whole(6),
            .wait_p50 = OfHundredths(numbers[7]),
            .wait_p99 = OfHundredths(numbers[8]),
            .run_p50 = OfHundredths(numbers[9]),
            .run_p99 = OfHundredths(numbers[10])};
}

std::optional<PointNumbers> ReadNumbers(std::string_view line) {
    PointNumbers numbers;
    for (PointNumber& number : numbers) {
        if (!TakeNumber(line, number)) return std::nullopt;
    }
    return numbers;
}

}  // namespace

std::string EncodePoints(const std::vector<SeriesPoint>& points) {
    std::string text;
    for (const SeriesPoint& point : points) {
        for (const PointNumber& number : NumbersOf(point)) AppendNumber(text, number);
        text.back() = '\n';
    }
    return text;
}

std::vector<SeriesPoint> DecodePoints(std::string_view text) {
    std::vector<SeriesPoint> points;
    while (!text.empty()) {
        if (const auto numbers = ReadNumbers(TakeUntil(text, '\n')))
            points.push_back(PointOf(*numbers));
    }
    return points;
}

void Series::Prepend(const std::vector<SeriesPoint>& points) {
    for (auto point = points.rbegin(); point != points.rend(); ++point) {
        if (points_.size() >= kPointsMax) return;
        if (points_.empty() || point->at < points_.front().at) points_.push_front(*point);
    }
}

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
