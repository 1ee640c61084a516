// When recurring tasks fire, and what a new leader makes of them.
#include "engine/recurring_fixture.h"

namespace takt::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

// --- Times --------------------------------------------------------------------------------------

// A report at every full minute.
TEST_F(RecurringTest, ACronTaskFiresAtItsTimes) {
    At(10s, Put({.cron = "* * * * *", .options = Parallel()}));
    Until(3min);

    EXPECT_THAT(Due(), ElementsAre(60'000, 120'000, 180'000));
    EXPECT_EQ(TaskOf("report").state.next_at, kBegin + 4min);
    EXPECT_EQ(TaskOf("report").state.last_at, kBegin + 3min);
    EXPECT_EQ(TaskOf("report").state.fires, 3u);
    EXPECT_EQ(RunsOf("report").front()->origin, Origin::kFire);
}

TEST_F(RecurringTest, AFixedRateCountsFromWhenTheTaskWasMade) {
    At(500ms, Put({.every = 2s, .options = Parallel()}));
    Until(7s);

    EXPECT_THAT(Due(), ElementsAre(2'500, 4'500, 6'500));
}

// A crawler that rests for ten seconds between two passes, however long a pass takes.
TEST_F(RecurringTest, AFixedDelayCountsFromTheEndOfTheLastRun) {
    At(0s, Join({.id = "a"}));
    At(1s, Put({.after_end = 10s}));
    At(8s, Success(RunOf("report", 0)));
    Until(17s);
    EXPECT_THAT(Due(), ElementsAre(1'000));
    Until(20s);

    EXPECT_THAT(Due(), ElementsAre(1'000, 18'000));
}

// A run that fails and is tried again has not ended.
TEST_F(RecurringTest, AFixedDelayWaitsForTheRetriesToo) {
    At(0s, Join({.id = "a"}));
    At(0s, Put({.after_end = 10s,
                .options = {.retry = RetryPolicy{.retries_max = 1, .delay = 5s, .jitter = 0}}}));
    At(1s, Failure(RunOf("report", 0)));
    Until(7s);
    At(7s, Failure(RunOf("report", 0)));
    Until(16s);
    EXPECT_THAT(Due(), SizeIs(1));
    Until(17s);

    EXPECT_THAT(Due(), ElementsAre(0, 17'000));
}

// Somebody cannot wait for the next pass of the crawler.
TEST_F(RecurringTest, AFixedDelayCountsFromTheEndOfATriggeredRunToo) {
    At(0s, Join({.id = "a"}));
    At(0s, Put({.after_end = 10s, .options = {.mode = Mode::kReplace}}));
    At(1s, Success(RunOf("report", 0)));
    At(5s, TriggerOf("report"));
    At(20s, Success(RunOf("report", 1)));
    EXPECT_THAT(Due(), ElementsAre(0, 5'000));
    Until(30s);

    EXPECT_THAT(Due(), ElementsAre(0, 5'000, 30'000));
}

TEST_F(RecurringTest, NothingFiresBeforeItsStartOrAtItsEnd) {
    At(0s, Put({.every = 1s, .start_at = 3s, .end_at = 6s, .options = Parallel()}));
    At(0s, Put({.id = "crawl", .after_end = 1s, .start_at = 4s}));
    Until(1min);

    EXPECT_THAT(Due(), ElementsAre(3'000, 4'000, 5'000));
    EXPECT_EQ(TaskOf("report").state.next_at, Time{});
    EXPECT_THAT(Due("crawl"), ElementsAre(4'000));
}

TEST_F(RecurringTest, AFireCountEndsTheTask) {
    At(0s, Put({.every = 1s, .fires_max = 2, .options = Parallel()}));
    At(5s, TriggerOf("report"));
    Until(1min);

    EXPECT_EQ(TaskOf("report").state.fires, 2u);
    EXPECT_THAT(Due(), ElementsAre(1'000, 2'000, 5'000));
}

// A thousand machines must not all call home at midnight sharp.
TEST_F(RecurringTest, JitterDelaysAFireButKeepsItsDueTime) {
    At(0s, Join({.id = "a", .capacity = 1000}));
    At(0s, Put({.every = 10s, .jitter = 4s, .options = Parallel()}));
    Until(1000s);

    std::set<Duration> delays;
    for (const Execution* run : RunsOf("report")) {
        EXPECT_EQ((run->scheduled_at - kBegin) % 10s, 0ms);
        EXPECT_THAT(run->ready_at - run->scheduled_at, AllOf(Ge(0ms), Le(4s)));
        delays.insert(run->ready_at - run->scheduled_at);
    }
    EXPECT_GT(delays.size(), 50u);
    EXPECT_GT(*delays.rbegin() - *delays.begin(), 2s);
}

// No reports on the second of January, a holiday.
TEST_F(RecurringTest, ExcludedDatesAreLeftOut) {
    At(1s,
       Put({.cron = "0 9 * * *", .excluded_dates = {Text("2026-01-02")}, .options = Parallel()}));
    // A fixed delay that would begin on it waits for the next day.
    At(1s, Put({.id = "crawl", .after_end = 1h, .excluded_dates = {Text("2026-01-01")}}));
    Until(70h);

    EXPECT_THAT(Due(), ElementsAre(Duration(9h).count(), Duration(57h).count()));
    EXPECT_THAT(Due("crawl"), ElementsAre(Duration(24h).count()));
}

TEST_F(RecurringTest, ATaskThatWouldNeverFireIsRefusedAndNotStored) {
    At(0s, Put({.cron = "0 0 30 2 *"}));
    EXPECT_FALSE(LastReply());
    At(0s, Put({.every = 1h, .end_at = 1s}));
    EXPECT_FALSE(LastReply());
    At(0s, Put({.cron = "* * * * *", .every = 1s}));
    EXPECT_FALSE(LastReply());
    At(0s, Put({.every = 1ms}));
    ASSERT_FALSE(LastReply());

    EXPECT_EQ(LastReply().error().field, "interval");
    EXPECT_THAT(store.tasks, IsEmpty());
}

// --- New leaders --------------------------------------------------------------------------------

// The leader dies before it has written the fire, or right after.
TEST_F(RecurringTest, AFireIsNeverLostNorDoubledWhereverTheLeaderDies) {
    At(0s, Put({.every = 1s, .options = {.mode = Mode::kParallel, .misfire = Misfire::kFireAll}}));
    Duration at = 0s;
    std::vector<std::int64_t> expected;
    for (int i = 1; i <= 60; ++i) {
        const Duration fire = Duration(1'000 * i);
        expected.push_back(fire.count());
        // Around each due time in turn: before it, at it unwritten, at it written, long after it.
        if (i % 4 == 0) Restart(fire - 1ms);
        if (i % 4 == 1) {
            Until(fire - 1ms);
            Gather();
            Restart(fire);
        }
        if (i % 4 == 2) Restart(fire);
        if (i % 4 == 3) Down(fire + 999ms);
        at = fire + 999ms;
        Until(at);
    }

    EXPECT_THAT(Due(), ::testing::ElementsAreArray(expected));
    EXPECT_EQ(TaskOf("report").state.fires, 60u);
}

TEST_F(RecurringTest, AFixedDelayGoesOnUnderANewLeader) {
    At(0s, Join({.id = "a"}));
    At(0s, Put({.after_end = 10s}));
    Restart(1s);
    At(2s, Join({.id = "a", .holding = {RefOf(RunOf("report", 0))}}));
    At(3s, Success(RunOf("report", 0)));
    Restart(4s);
    Until(13s);

    EXPECT_THAT(Due(), ElementsAre(0, 13'000));
}

// --- Lateness -----------------------------------------------------------------------------------

// A million tasks fire in time, all day long. Whoever looks every few seconds which of them are late
// must not look at each.
TEST_F(RecurringTest, OnlyTasksThatMayBeLateAreLookedAt) {
    const auto looked_at = [&](Duration now, std::size_t count_max = 100) {
        std::vector<std::string> ids;
        engine().ForEachAwaited(WallAt(now) - 1s, count_max, [&](const TaskView& task) {
            ids.push_back(task.row.task->id.text().str());
        });
        return ids;
    };
    At(0s, Join({.id = "a", .capacity = 100}));
    for (const std::string id : {"one", "two", "three"}) {
        At(10s, Put({.id = id, .cron = "* * * * *", .options = Parallel()}));
    }
    EXPECT_THAT(looked_at(59s), IsEmpty()) << "they are due in a second";
    Until(60s);
    At(60s, Begun(RunOf("one", 0)));
    EXPECT_THAT(looked_at(60s + 500ms), IsEmpty()) << "not for so long that it counts";
    EXPECT_THAT(looked_at(62s), ElementsAre("two", "three")) << "fired, and not begun";
    EXPECT_THAT(looked_at(62s, 1), ElementsAre("two"));
    At(62s, Success(RunOf("two", 0)));
    At(62s, Begun(RunOf("three", 0)));
    EXPECT_THAT(looked_at(65s), IsEmpty()) << "at work for as long as it takes";

    EXPECT_THAT(looked_at(125s), SizeIs(3)) << "due and not fired";
}

}  // namespace
}  // namespace takt::internal
