// Decisions about due times as a table of situations. What the engine makes of them, with stores
// and workers, is misfire_history_test.cc.
#include "engine/misfire.h"

#include <gtest/gtest.h>

#include <string>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

constexpr Time kMidnight = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

// A task that is due every minute since midnight, looked at `late` after the due time of `due`.
struct MinutelyCase {
    std::string situation;
    TaskOptions options;
    int due = 1;  // In minutes since midnight.
    Duration late{0};
    std::uint32_t caught_up = 0;
    Duration tolerance = 5s;
    bool more_behind = false;

    // The decision that is expected. `missed_to` 0: it is fired.
    int missed_to = 0;
    std::uint32_t caught_up_then = 0;
};

FirePlan PlanOf(const Recurrence& recurrence) {
    return *FirePlan::Make(recurrence, kMidnight);
}

void Check(const MinutelyCase& c) {
    SCOPED_TRACE(c.situation);
    const Time due = kMidnight + std::chrono::minutes(c.due);
    const FireDecision decision = DecideFire(PlanOf({.cron = "* * * * *"}), c.options,
                                             {.due = due,
                                              .now = due + c.late,
                                              .until = due + c.late,
                                              .more_behind = c.more_behind,
                                              .tolerance = c.tolerance,
                                              .caught_up = c.caught_up});
    EXPECT_EQ(decision.caught_up, c.caught_up_then);
    ASSERT_EQ(decision.missed.has_value(), c.missed_to != 0);
    const int last = c.missed_to != 0 ? c.missed_to : c.due;
    EXPECT_EQ(decision.next_after, kMidnight + std::chrono::minutes(last));
    if (!decision.missed) return;
    EXPECT_EQ(decision.missed->first, due);
    EXPECT_EQ(decision.missed->last, kMidnight + std::chrono::minutes(c.missed_to));
    EXPECT_EQ(decision.missed->count, std::uint64_t(c.missed_to - c.due + 1));
}

TEST(DecideFireTest, FireOnceFiresTheLastOfSeveral) {
    const TaskOptions once{.misfire = Misfire::kFireOnce};
    for (const MinutelyCase& c : {
             MinutelyCase{.situation = "on time", .options = once},
             MinutelyCase{.situation = "alone and late", .options = once, .late = 59s},
             MinutelyCase{.situation = "the next one is due too",
                          .options = once,
                          .late = 60s,
                          .missed_to = 1},
             MinutelyCase{.situation = "an hour of downtime",
                          .options = once,
                          .late = 60min + 30s,
                          .missed_to = 60},
             MinutelyCase{.situation = "behind others that were fired, one is due too",
                          .options = once,
                          .late = 90s,
                          .more_behind = true,
                          .missed_to = 2},
         }) {
        Check(c);
    }
}

TEST(DecideFireTest, FireAllFiresEachUpToItsCap) {
    const TaskOptions all{.misfire = Misfire::kFireAll, .misfires_max = 2};
    for (const MinutelyCase& c : {
             MinutelyCase{.situation = "on time", .options = all},
             MinutelyCase{.situation = "the first of many",
                          .options = all,
                          .late = 10min,
                          .caught_up_then = 1},
             MinutelyCase{.situation = "the last that the cap allows",
                          .options = all,
                          .late = 10min,
                          .caught_up = 1,
                          .caught_up_then = 2},
             MinutelyCase{.situation = "beyond the cap: all but the one of this moment",
                          .options = all,
                          .late = 10min,
                          .caught_up = 2,
                          .missed_to = 10},
             MinutelyCase{.situation = "beyond the cap, and nothing is due at this moment",
                          .options = all,
                          .late = 10min + 1s,
                          .caught_up = 2,
                          .missed_to = 11},
             MinutelyCase{.situation = "late itself, though none is behind it",
                          .options = all,
                          .late = 1s,
                          .caught_up = 2,
                          .missed_to = 1},
             MinutelyCase{.situation = "on time after as many as the cap allows",
                          .options = all,
                          .caught_up = 2},
             MinutelyCase{.situation = "the last before others that were fired, with more behind",
                          .options = all,
                          .late = 59s,
                          .more_behind = true,
                          .caught_up_then = 1},
             MinutelyCase{.situation = "beyond the cap, which those behind share",
                          .options = all,
                          .late = 59s,
                          .caught_up = 2,
                          .more_behind = true,
                          .missed_to = 1,
                          .caught_up_then = 2},
         }) {
        Check(c);
    }
}

TEST(DecideFireTest, SkipFiresOnlyWithinTheTolerance) {
    const TaskOptions skip{.misfire = Misfire::kSkip};
    for (const MinutelyCase& c : {
             MinutelyCase{.situation = "on time", .options = skip},
             MinutelyCase{.situation = "as late as it may be", .options = skip, .late = 5s},
             MinutelyCase{.situation = "on time, and no lateness is allowed",
                          .options = skip,
                          .tolerance = 0s},
             MinutelyCase{.situation = "a millisecond too late",
                          .options = skip,
                          .late = 5001ms,
                          .missed_to = 1},
             MinutelyCase{.situation = "too late", .options = skip, .late = 30s, .missed_to = 1},
             MinutelyCase{.situation = "several too late, the last one not",
                          .options = skip,
                          .late = 3min + 2s,
                          .missed_to = 3},
         }) {
        Check(c);
    }
}

TEST(DecideFireTest, AStartDeadlineHoldsForEveryPolicy) {
    for (const Misfire misfire : {Misfire::kFireOnce, Misfire::kFireAll, Misfire::kSkip}) {
        const TaskOptions options{.misfire = misfire, .start_deadline = 20s};
        Check({.situation = "within it", .options = options, .late = 19s, .tolerance = 1h});
        Check({.situation = "after it",
               .options = options,
               .late = 20s,
               .tolerance = 1h,
               .missed_to = 1});
        Check({.situation = "others are behind, all but the last after it",
               .options = options,
               .late = 5min + 10s,
               .tolerance = 1h,
               .missed_to = 5});
    }
}

// A fixed delay has no due times behind it: whatever happens, it begins anew from now.
TEST(DecideFireTest, AFixedDelayIsFiredOrMissedAndBeginsAnew) {
    const FirePlan plan = PlanOf({.every_after_end = 10s});
    const Time due = kMidnight + 1h;
    const FireSituation late{.due = due, .now = due + 1h, .until = due + 1h, .tolerance = 5s};

    const FireDecision fired = DecideFire(plan, {.misfire = Misfire::kFireOnce}, late);
    const FireDecision missed = DecideFire(plan, {.misfire = Misfire::kSkip}, late);

    EXPECT_FALSE(fired.missed);
    EXPECT_EQ(fired.next_after, due + 1h);
    ASSERT_TRUE(missed.missed);
    EXPECT_EQ(missed.missed->count, 1u);
    EXPECT_EQ(missed.missed->last, due);
    EXPECT_EQ(missed.next_after, due + 1h);
}

// A year of downtime of a task that is due each second is counted without going through it.
TEST(DecideFireTest, AYearOfSecondsIsCountedExactly) {
    const Time due = kMidnight + 1s;
    const Time now = due + 24h * 365 + 500ms;
    const FireDecision decision =
        DecideFire(PlanOf({.cron = "* * * * * *"}), {.misfire = Misfire::kFireOnce},
                   {.due = due, .now = now, .until = now});

    ASSERT_TRUE(decision.missed);
    EXPECT_FALSE(decision.missed->more);
    EXPECT_EQ(decision.missed->count, 365u * 86'400);
    EXPECT_EQ(decision.missed->last, due + 24h * 365 - 1s);
}

}  // namespace
}  // namespace takt::internal
