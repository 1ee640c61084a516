#include "engine/passed_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A task of each minute. A clock ran ahead by ten minutes: nine due times were missed, one fired. Then
// it came back.
class PassedOverTest : public ::testing::Test {
  protected:
    static constexpr Time kMidnight = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

    static Time At(int minute) { return kMidnight + std::chrono::minutes(minute); }
    std::optional<Time> Next(Time after) const { return NextDue(plan_, state_, after); }
    bool IsOpen(int minute) const { return FindOpen(state_, At(minute)).has_value(); }
    void Take(int minute) { TakeDue(plan_, state_, At(minute)); }
    void Pass(int first, int last, Time settled = kMidnight) {
        PassOver(plan_, state_, {At(first), At(last), true}, settled);
    }

    const FirePlan plan_ = [] {
        Recurrence recurrence;
        recurrence.cron = "* * * * *";
        return *FirePlan::Make(recurrence, kMidnight);
    }();
    FireState state_{.last_at = At(20),
                     .first_at = At(1),
                     .passed = {{.from = At(11), .to = At(19), .missed = true}}};
};

TEST_F(PassedOverTest, WhatWasPassedOverComesAndWhatWasFiredDoesNot) {
    EXPECT_EQ(Next(At(11) + 30s), At(12));
    EXPECT_EQ(Next(At(18) + 30s), At(19));
    EXPECT_EQ(Next(At(19)), At(21)) << "20 was fired";
    EXPECT_EQ(Next(At(5)), At(11)) << "6 to 10 were fired";
    EXPECT_EQ(Next(At(30)), At(31));
    EXPECT_FALSE(IsOpen(10));
    EXPECT_TRUE(IsOpen(11));
    EXPECT_TRUE(IsOpen(19));
    EXPECT_FALSE(IsOpen(20));
    EXPECT_TRUE(IsOpen(21));
}

TEST_F(PassedOverTest, WhatWasTakenDoesNotComeAgain) {
    Take(11);
    Take(12);
    EXPECT_FALSE(IsOpen(12));
    EXPECT_EQ(Next(At(11)), At(13));
    EXPECT_THAT(state_.passed, SizeIs(1));
    for (int minute = 13; minute < 20; ++minute) Take(minute);
    EXPECT_THAT(state_.passed, IsEmpty());
    EXPECT_EQ(Next(At(11)), At(21));
}

// The clock runs ahead once more, by less, fires one in the middle, and comes back.
TEST_F(PassedOverTest, AFireInTheMiddleLeavesWhatLiesBeforeAndAfterIt) {
    Take(15);
    EXPECT_EQ(Next(At(10)), At(11));
    EXPECT_EQ(Next(At(14)), At(16));
    EXPECT_EQ(Next(At(19)), At(21));
    EXPECT_EQ(FindOpen(state_, At(12))->last, At(15) - 1ms);
    EXPECT_TRUE(FindOpen(state_, At(12))->missed);
}

TEST_F(PassedOverTest, SeveralStretchesAreKeptApart) {
    Pass(21, 24);
    Take(25);
    Pass(26, 29);
    EXPECT_THAT(state_.passed, SizeIs(3));
    EXPECT_EQ(Next(At(19)), At(21));
    EXPECT_EQ(Next(At(24)), At(26));
    EXPECT_EQ(Next(At(29)), At(30));
}

// A clock that was ahead when the task was made: what is due before its first fire comes.
TEST_F(PassedOverTest, WhatIsDueBeforeTheFirstFireIsOpen) {
    EXPECT_EQ(Next(At(-10)), At(-9));
    Take(-5);
    EXPECT_EQ(state_.first_at, At(-5));
    EXPECT_EQ(Next(At(-5)), At(-4));
    EXPECT_EQ(Next(At(0)), At(11));
    Take(-4);
    EXPECT_EQ(Next(At(-5)), At(-3))
        << "it does not come twice, however often the clock is set back";
    state_.first_at = {};
    state_.passed.clear();
    EXPECT_EQ(Next(At(-10)), At(21)) << "a row of an earlier version";
}

// Other times begin later than the one after the last fire; the clock that did so was ahead.
TEST_F(PassedOverTest, WhatANewBeginningLeavesOutIsOpen) {
    Take(30);
    EXPECT_EQ(Next(At(20)), At(21));
    EXPECT_FALSE(FindOpen(state_, At(21))->missed);
    EXPECT_EQ(Next(At(29)), At(31));
    Pass(23, 24);
    EXPECT_TRUE(FindOpen(state_, At(23))->missed) << "it is on record now";
    EXPECT_FALSE(FindOpen(state_, At(22))->missed);
    EXPECT_FALSE(FindOpen(state_, At(25))->missed);
}

TEST_F(PassedOverTest, OfTooManyTheShortestIsForgottenAndThenWhatIsLongPast) {
    for (int i = 0; i < int(kPassedOverMax) + 4; ++i) {
        Pass(21 + 3 * i, 22 + 3 * i);
        Take(23 + 3 * i);
    }
    EXPECT_THAT(state_.passed, SizeIs(kPassedOverMax));
    EXPECT_EQ(state_.passed.front().from, At(11)) << "the longest";
    Pass(1000, 1001, At(1001));
    EXPECT_THAT(state_.passed, ElementsAre(PassedOver{state_.passed.front()},
                                           PassedOver{At(1000), At(1001), true}));
}

TEST_F(PassedOverTest, WhatIsOnRecordAsMissedIsForgottenBeforeWhatIsStillToCome) {
    PassOver(plan_, state_, {At(30), At(30), false}, kMidnight);
    for (int i = 0; i < int(kPassedOverMax) + 4; ++i) {
        const int minute = 31 + i * 4;
        Pass(minute, minute + 2);
        Take(minute + 3);
    }
    EXPECT_THAT(state_.passed, SizeIs(kPassedOverMax));
    EXPECT_TRUE(IsOpen(30)) << "the shortest of all";
}

// Somebody makes up for what is long past, from the first on.
TEST_F(PassedOverTest, OfWhatIsLongPastOnlyThatIsForgottenWhichLiesBefore) {
    state_.passed = {{At(2), At(3), true}, {At(11), At(14), false}, {At(16), At(19), false}};
    Pass(11, 12, At(1000));
    EXPECT_FALSE(IsOpen(2));
    EXPECT_EQ(Next(At(12)), At(13));
    EXPECT_EQ(Next(At(14)), At(16));
}

TEST_F(PassedOverTest, ATaskMayHaveSomethingToComeBeforeItsNextDueTime) {
    auto task = NewTaskPtr(new Task);
    task->updated_at = At(0);
    const TaskRow row{.task = task, .state = state_};
    EXPECT_TRUE(MayComeBefore(row, At(-1)));
    EXPECT_TRUE(MayComeBefore(row, At(18)));
    EXPECT_FALSE(MayComeBefore(row, At(19)));
    task->updated_at = At(40);
    EXPECT_TRUE(MayComeBefore(row, At(39))) << "its times were changed by a clock that was ahead";
}

// Somebody asks for past due times that the schedule has not come to yet: each is run once.
TEST_F(PassedOverTest, DueTimesThatTheScheduleWillRunAreStillToCome) {
    auto task = NewTaskPtr(new Task);
    task->created_at = At(3);
    TaskRow row{.task = task,
                .state = {.next_at = At(40),
                          .last_at = At(30),
                          .first_at = At(5),
                          .passed = {{At(10), At(12), false}, {At(20), At(22), true}}}};
    EXPECT_TRUE(IsStillToCome(row, At(40))) << "it is being caught up with";
    EXPECT_TRUE(IsStillToCome(row, At(50)));
    EXPECT_TRUE(IsStillToCome(row, At(11))) << "a clock that was ahead passed over it";
    EXPECT_FALSE(IsStillToCome(row, At(21))) << "it is on record as missed";
    EXPECT_FALSE(IsStillToCome(row, At(15))) << "it was run";
    EXPECT_FALSE(IsStillToCome(row, At(35))) << "its times were changed since";
    EXPECT_FALSE(IsStillToCome(row, At(2))) << "the task was not there";
    row.state.paused = true;
    EXPECT_FALSE(IsStillToCome(row, At(40))) << "nothing is run in a pause";
}

}  // namespace
}  // namespace takt::internal
