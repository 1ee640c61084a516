// The fixture of tests about the evaluation of alert rules.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "alerts/evaluator.h"

namespace takt::internal {

using namespace std::chrono_literals;

inline const Time kBegin = *ParseTime("2026-11-15T02:00:00Z");
inline constexpr Duration kLookInterval = 5s;

// Lets the clock run in steps of five seconds, as a leader looks, with one value throughout.
class Evaluation : public ::testing::Test {
  protected:
    Evaluation() { evaluator.SetRules(BuiltinRules()); }

    std::vector<Alert> Look(const AlertReadings& readings) {
        auto changed = evaluator.Step(now, readings);
        history.insert(history.end(), changed.begin(), changed.end());
        return changed;
    }
    // Until the moment, which is not looked at itself.
    void Hold(Duration time, const AlertReadings& readings) {
        for (const Time until = now + time; now < until; now += kLookInterval) Look(readings);
    }
    static AlertReadings Value(std::string_view metric, double value, Text subject = {},
                               Time occasion = {}) {
        return {{.metric = metric, .value = value, .subject = subject, .occasion = occasion}};
    }

    // One that takes over now, with what is stored of the alert.
    AlertEvaluator NextLeader(const Alert& alert) const {
        AlertEvaluator next(kLookInterval);
        next.SetRules(BuiltinRules());
        next.Restore(*DecodeAlert(alert.id, EncodeAlert(alert)), now);
        return next;
    }

    AlertEvaluator evaluator{kLookInterval};
    Time now = kBegin;
    std::vector<Alert> history;
};

}  // namespace takt::internal
