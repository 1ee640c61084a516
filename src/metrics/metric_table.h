// The table of all metrics: the one place that says what they are called and what they mean. The
// answer of /metrics, docs/metrics.md and the tests come from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace takt::internal {

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram };

struct MetricDescription {
    std::string_view name;
    MetricType type{};
    std::string_view labels;  // Parted by commas; empty: none.
    std::string_view help;    // One sentence.
};

std::span<const MetricDescription> MetricTable();
// REQUIRES: there is one of that name.
const MetricDescription& DescribeMetric(std::string_view name);

// docs/metrics.md.
std::string MetricsPage();

}  // namespace takt::internal
