// Shared by the tests of cron: short ways to write times and crons.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/cron.h"

namespace takt::internal {

// A time that must be well written, such as "2026-03-29T01:00:00Z" or "…+02:00".
inline Time At(std::string_view text) {
    const Result<Time> time = ParseTime(text);
    EXPECT_TRUE(time) << text;
    return time.value_or(Time{});
}

// A cron that must be well written.
inline Cron Parsed(std::string_view expression, const CronOptions& options = {}) {
    Result<Cron> cron = Cron::Parse(expression, options);
    if (!cron) throw std::invalid_argument(std::string(expression) + ": " + cron.error().detail);
    return *cron;
}

// The fires after `after` and up to `until`, in UTC to the second: "2026-03-29T01:00:00Z".
inline std::vector<std::string> Fires(const Cron& cron, std::string_view after,
                                      std::string_view until) {
    std::vector<std::string> fires;
    // 1,000 is far more than any test lists: a cron that never stops shows up as such.
    for (auto next = cron.Next(At(after)); next && *next <= At(until) && fires.size() < 1000;
         next = cron.Next(*next)) {
        std::string text = FormatTime(*next);
        const bool whole_second = text.ends_with(".000Z");
        fires.push_back(whole_second ? text.substr(0, 19) + "Z" : text);
    }
    return fires;
}

}  // namespace takt::internal
