// SortedReadings: what was read at one moment, by metric and subject.
//
// There may be thousands of tasks, queues and workers, and hundreds of rules: one with a subject
// looks at that one alone.
#pragma once

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "alerts/metric.h"
#include "alerts/rule.h"

namespace takt::internal {

class SortedReadings {
  public:
    // In whatever order they were read.
    SortedReadings(AlertReadings readings)  // NOLINT: implicit on purpose.
        : readings_(std::move(readings)) {
        for (const AlertReading& reading : readings_) order_.push_back(&reading);
        const auto key = [](const AlertReading* one) {
            return std::tuple(one->metric, one->subject.view(), one);
        };
        std::ranges::sort(order_, {}, key);
    }
    SortedReadings(const SortedReadings&) = delete;

    // The readings that the rule watches, by subject.
    std::span<const AlertReading* const> Of(const AlertRule& rule) const {
        const auto of_metric =
            std::ranges::equal_range(order_, rule.metric, {}, &AlertReading::metric);
        if (rule.subject.empty()) return of_metric;
        return std::ranges::equal_range(
            of_metric, std::string_view(rule.subject), {},
            [](const AlertReading* one) { return one->subject.view(); });
    }

  private:
    const AlertReadings readings_;
    std::vector<const AlertReading*> order_;
};

}  // namespace takt::internal
