// Requests that schedulers make while nothing happens in their namespaces.
#include <algorithm>
#include <numeric>

#include "base/log.h"
#include "server/driven_scheduler_testing.h"

namespace takt::internal {
namespace {

// Writes the directory of an installation that has so many namespaces.
void FillDirectory(MemoryDatabase& database, int count) {
    const NodeRow node{.node = NodeId("filler")};
    ASSERT_TRUE(database.Announce(node, 60s));
    const auto term = database.Acquire({.node = node.node});
    ASSERT_TRUE(term);
    Batch batch{.term = *term, .sequence = 1};
    batch.changes.emplace_back(SettingPut{Text(kDirectoryVersionKey), Text("1")});
    for (int number = 1; number < count; ++number) {
        batch.changes.emplace_back(SettingOf({.name = "team-" + std::to_string(number),
                                              .number = static_cast<Partition>(number),
                                              .id = static_cast<std::uint64_t>(number)}));
    }
    ASSERT_TRUE(database.Commit(batch));
    ASSERT_TRUE(database.Announce(node, Duration(0)));
}

// Requests a second of three schedulers that have so many namespaces.
Asked AskedAtRest(int namespaces, Duration time) {
    const LogCapture quiet;
    DrivenRuntime runtime;
    const auto database = std::make_shared<MemoryDatabase>(
        MemoryDatabase::Options{.clock = [&] { return runtime.Now().steady; }});
    FillDirectory(*database, namespaces);
    Asked asked;
    std::deque<DrivenScheduler> schedulers;
    for (const char* name : {"a", "b", "c"}) {
        schedulers.emplace_back(runtime, database, name, asked);
    }
    const auto pass = [&](Duration left) {
        for (; left > Duration(0); left -= 100ms) {
            runtime.Pass(100ms);
            for (DrivenScheduler& scheduler : schedulers) scheduler.Poll();
        }
    };
    // All are led, and the watches of followers have looked once.
    pass(3min);
    const auto leaders = database->Leaders();
    EXPECT_EQ(std::ranges::count_if(*leaders, &LeaderRow::leads), namespaces);
    asked.clear();
    pass(time);
    return asked;
}

double PerSecond(const Asked& asked, Duration time) {
    const int sum = std::accumulate(asked.begin(), asked.end(), 0,
                                    [](int sum, const auto& entry) { return sum + entry.second; });
    return sum / std::chrono::duration<double>(time).count();
}

std::string Told(const Asked& asked) {
    std::string text;
    for (const auto& [what, times] : asked) text += what + " " + std::to_string(times) + "\n";
    return text;
}

// An installation gave every team a namespace, and most of them sleep. Whatever looks at the store for
// each of them, however rarely, is a poll of all of them together.
TEST(AtRestTest, NamespacesInWhichNothingHappensCostNothing) {
    constexpr Duration kTime = 10min;
    const Asked one = AskedAtRest(1, kTime);
    EXPECT_LT(PerSecond(one, kTime), 9) << Told(one);

    const Asked many = AskedAtRest(30, kTime);

    // For each of them: a leader purges each five minutes, a follower looks for late runs each ten.
    EXPECT_LT(PerSecond(many, kTime), PerSecond(one, kTime) + 0.2) << Told(many);
}

}  // namespace
}  // namespace takt::internal
