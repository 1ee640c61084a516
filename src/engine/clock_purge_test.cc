// Purges while leaders whose clocks differ by minutes lead one after the other.
#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/failpoint.h"
#include "engine/clock_fixture.h"

namespace takt::internal {
namespace {

constexpr std::string_view kSettled = "clock.settled";

class ClockPurgeTest : public ClockTest {
  protected:
    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        ClockTest::SetUp();
        config.retention = 2min;
        config.cleanup_interval = 2s;
    }
    // A leader whose clock is off by this takes over, for so long; something ends in its first second.
    void Lead(Duration ahead, Duration lasts = 20s) {
        JumpWall(ahead - ahead_);
        ahead_ = ahead;
        Restart(at_);
        const std::string id = "x" + std::to_string(ended_.size());
        At(at_ + 1s, Join({.id = "a", .instance = id}));
        At(at_ + 1s, Once({.id = id}));
        At(at_ + 1s, Success(id));
        NoteEnd(id);
        at_ += lasts;
        Until(at_);
    }
    void NoteEnd(const std::string& id) { ended_.emplace_back(id, store.purges.size()); }
    // The latest time that a purge went by.
    Time PurgedBefore() const {
        Time before{};
        for (const Purge& purge : store.purges) before = std::max(before, purge.finished_before);
        return before;
    }
    // The executions that a purge after their end has met.
    std::vector<std::string> Purged() {
        std::vector<std::string> purged;
        for (const auto& [id, purges] : ended_) {
            const bool gone = std::any_of(
                store.purges.begin() + purges, store.purges.end(),
                [&](const Purge& purge) { return Row(id).finished_at < purge.finished_before; });
            if (gone) purged.push_back(id);
        }
        return purged;
    }
    bool IsTold() const { return store.settings.contains(Text(kSettled)); }

    Duration at_{10s};
    Duration ahead_{0};
    std::vector<std::pair<std::string, std::ptrdiff_t>> ended_;  // And the purges before that.
};

struct Sequence {
    std::string name;
    std::vector<Duration> ahead;

    friend void PrintTo(const Sequence& sequence, std::ostream* out) { *out << sequence.name; }
};

class ClockPurgeSequenceTest : public ClockPurgeTest,
                               public ::testing::WithParamInterface<Sequence> {};

// A rolling restart over three machines whose clocks are minutes apart: what ended a moment ago would
// be gone, and its id would run again.
TEST_P(ClockPurgeSequenceTest, PurgesNothingThatEndedJustNow) {
    for (const Duration ahead : GetParam().ahead) Lead(ahead);

    ASSERT_FALSE(store.purges.empty());
    EXPECT_THAT(Purged(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, ClockPurgeSequenceTest,
    ::testing::Values(Sequence{"AheadTrueAhead", {7min, 0min, 7min}},
                      Sequence{"AheadBehindAhead", {7min, -6min, 7min}},
                      Sequence{"TrueBehindTrue", {0min, -6min, 0min}},
                      Sequence{"TrueAheadAhead", {0min, 7min, 7min}},
                      Sequence{"AheadTrueAheadAhead", {7min, 0min, 7min, 7min}},
                      Sequence{"BehindTrueAheadTrueAhead", {-6min, 0min, 7min, 0min, 7min}}),
    [](const auto& sequence) { return sequence.param.name; });

// The clock of a leader is set back, and the leader dies before anybody has set it right.
TEST_F(ClockPurgeTest, AfterAClockThatWasSetBackTheNextLeaderPurgesNothingThatEndedJustNow) {
    Lead(0min);
    JumpWall(-6min);
    At(at_ + 1s, Once({.id = "y"}));
    At(at_ + 1s, Success("y"));
    NoteEnd("y");
    JumpWall(6min);
    at_ += 10s;
    Lead(0min);

    EXPECT_THAT(Purged(), ::testing::IsEmpty());
}

TEST_F(ClockPurgeTest, WhatEndedIsPurgedInItsTimeAlsoByLeadersThatLeadForMinutes) {
    Lead(7min);
    Lead(0min);
    for (int i = 0; i < 3; ++i) Lead(7min, 5min);

    EXPECT_THAT(Purged(), ::testing::Contains("x1"));
    EXPECT_LE(PurgedBefore(), kBegin + at_ - config.retention);
    EXPECT_GE(PurgedBefore(), kBegin + at_ - config.retention - 4min) << "a minute for each leader";
}

// The clock of one leader was a year behind: that would hold up all purges for a year.
TEST_F(ClockPurgeTest, AClockThatWasFarBehindHoldsNothingUpForLongerThanAnHour) {
    Lead(0min);
    Lead(-24h * 365);
    EXPECT_TRUE(IsTold());
    Lead(0min, 59min);
    EXPECT_LE(PurgedBefore(), kBegin);
    Lead(0min, 61min);

    EXPECT_GT(PurgedBefore(), kBegin + at_ - config.retention - 10s);
    EXPECT_FALSE(IsTold());
}

// The clock of one leader was a year ahead, and the serials stay there.
TEST_F(ClockPurgeTest, AClockThatWasFarAheadHoldsNothingUp) {
    Lead(24h * 365);
    Lead(0min, 10min);

    EXPECT_GT(PurgedBefore(), kBegin + at_ - config.retention - 10s);
    EXPECT_TRUE(IsTold());
}

TEST_F(ClockPurgeTest, WhatIsToldIsForgottenWhenTheSerialsAreOfThePast) {
    Lead(7min);
    EXPECT_FALSE(IsTold()) << "a new store";
    Lead(0min, 5min);
    EXPECT_TRUE(IsTold());
    Lead(0min, 2min);

    EXPECT_FALSE(IsTold());
}

}  // namespace
}  // namespace takt::internal
