// ClockTest: the fixture of tests of wall clocks that are wrong.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/recurring_fixture.h"

namespace takt::internal {

class ClockTest : public RecurringTest {
  protected:
    void SetUp() override {
        RecurringTest::SetUp();
        config.worker_lease = 24h * 365;
    }
    // The clock is wrong by `jump` from then on, for a second.
    void Glitch(Duration at, Duration jump) {
        Until(at);
        JumpWall(jump);
        Until(at + 1s);
        JumpWall(-jump);
        Until(at + 1s);
    }
    // How often each due time was fired, of those that were.
    std::map<Time, int> Fired(const std::string& task = "report") {
        std::map<Time, int> fired;
        for (const Execution* run : RunsOf(task)) {
            const bool missed = run->outcome && (run->outcome->reason == Reason::kMissed ||
                                                 run->outcome->reason == Reason::kPaused);
            if (!missed) ++fired[run->scheduled_at];
        }
        return fired;
    }
    std::vector<int> Counts() {
        std::vector<int> counts;
        for (const auto& [due, count] : Fired()) counts.push_back(count);
        return counts;
    }
};

}  // namespace takt::internal
