#include "engine/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace takt::internal {
namespace {

struct TestTimer : Timer {
    Time at{};
    std::uint64_t order = 0;
};

// Somebody asks what comes next while timers come, move and go: the answer must be what taking them
// out one by one would give, and must not disturb the heap.
TEST(TimerHeap, TheFirstOnesAreThoseThatWouldBeTakenFirst) {
    Random random(SeedOf(7));
    std::vector<TestTimer> timers(500);
    TimerHeap<TestTimer, Time> heap;
    for (std::uint64_t i = 0; i < timers.size(); ++i) timers[i].order = i;
    for (int round = 0; round < 20; ++round) {
        for (int change = 0; change < 100; ++change) {
            TestTimer& timer = timers[random.Below(timers.size())];
            if (random.Below(4) == 0) {
                heap.Remove(timer);
                continue;
            }
            // Few times for many timers, so that their order counts too.
            timer.at = Time(Duration(std::int64_t(random.Below(50))));
            heap.Set(timer, timer.at, timer.order);
        }
        std::vector<const TestTimer*> expected;
        for (const TestTimer& timer : timers) {
            if (timer.armed()) expected.push_back(&timer);
        }
        std::ranges::sort(expected, [](const TestTimer* a, const TestTimer* b) {
            return std::pair(a->at, a->order) < std::pair(b->at, b->order);
        });
        EXPECT_EQ(heap.First(timers.size()), expected);
        expected.resize(std::min<std::size_t>(expected.size(), 10));
        EXPECT_EQ(heap.First(10), expected);
        EXPECT_TRUE(heap.First(0).empty());
    }
}

}  // namespace
}  // namespace takt::internal
