// Windows of unique keys under clocks that are set, in one term and across several.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/failpoint.h"
#include "engine/clock_fixture.h"

namespace takt::internal {
namespace {

class ClockKeysTest : public ClockTest {
  protected:
    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        ClockTest::SetUp();
    }
};

// Steps of seconds, back and forth, as a bad source of time makes them.
TEST_F(ClockKeysTest, SmallStepsFreeNoUniqueKeyEarly) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(10s, Once({.id = "x", .unique_key = "order", .unique_for = 2min}));
    At(10s, Success("x"));
    Duration now = 10s;
    for (const Duration step : std::vector<Duration>{-30s, 30s, -50s, 50s}) {
        JumpWall(step);
        now += 1s;
        Until(now);
    }
    At(2min + 9s, Once({.id = "y", .unique_key = "order", .unique_for = 2min}));
    EXPECT_FALSE(LastReply()) << "a second before its end";
    At(2min + 10s, Once({.id = "z", .unique_key = "order", .unique_for = 2min}));
    EXPECT_TRUE(LastReply());
}

// A machine is started, and its clock is a few hours ahead until NTP is there.
TEST_F(ClockKeysTest, ALeaderThatBeginsAheadFreesNoUniqueKeyInItsFirstMinute) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .unique_key = "order", .unique_for = 1h}));
    At(0s, Success("x"));
    JumpWall(5h);
    Restart(10s);
    At(20s, Once({.id = "y", .unique_key = "order", .unique_for = 1h}));
    EXPECT_FALSE(LastReply());
    JumpWall(-5h);
    At(2min, Once({.id = "z", .unique_key = "order", .unique_for = 1h}));
    EXPECT_FALSE(LastReply());
    At(1h, Once({.id = "w", .unique_key = "order", .unique_for = 1h}));
    EXPECT_TRUE(LastReply());
}

// The same machine, whose service is started again within seconds: the first start has left records by
// the clock that is ahead.
TEST_F(ClockKeysTest, ASecondLeaderThatBeginsAheadFreesNoUniqueKeyInItsFirstMinute) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .unique_key = "order", .unique_for = 1h}));
    At(0s, Success("x"));
    JumpWall(5h);
    Restart(10s);
    Restart(20s);
    At(30s, Once({.id = "y", .unique_key = "order", .unique_for = 1h}));
    EXPECT_FALSE(LastReply());
    Restart(75s);
    At(80s, Once({.id = "z", .unique_key = "order", .unique_for = 1h}));
    EXPECT_FALSE(LastReply()) << "no term has lasted for a minute";
    JumpWall(-5h);
    At(1h - 1s, Once({.id = "v", .unique_key = "order", .unique_for = 1h}));
    EXPECT_FALSE(LastReply());
    At(1h, Once({.id = "w", .unique_key = "order", .unique_for = 1h}));
    EXPECT_TRUE(LastReply());
}

// NTP sets the clock right in time, but the machine's own one stays wrong: the next start is ahead
// again.
TEST_F(ClockKeysTest, AClockThatWasSetRightInTimeIsDoubtedAgainWhenTheNextLeaderBeginsAhead) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .unique_key = "order", .unique_for = 1h}));
    At(0s, Success("x"));
    JumpWall(5h);
    Restart(10s);
    Until(20s);
    JumpWall(-5h);
    Until(10min);
    JumpWall(5h);
    Restart(10min);
    At(10min + 30s, Once({.id = "y", .unique_key = "order", .unique_for = 1h}));
    EXPECT_FALSE(LastReply());
    JumpWall(-5h);
    Until(6h);
    EXPECT_FALSE(store.settings.contains(Text("clock.record"))) << "the serials are of the past";
}

// Nobody led for some hours: the minute of doubt passes, and leaves nothing behind.
TEST_F(ClockKeysTest, AnAbsenceIsDoubtedForAMinuteAndThenForgotten) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .unique_key = "order", .unique_for = 1h}));
    At(0s, Success("x"));
    JumpWall(5h);
    Restart(10s);
    EXPECT_TRUE(store.settings.contains(Text("clock.record")));
    At(69s, Once({.id = "y", .unique_key = "order", .unique_for = 1h}));
    EXPECT_FALSE(LastReply());
    Until(70s);
    EXPECT_FALSE(store.settings.contains(Text("clock.record")));
    At(70s, Once({.id = "z", .unique_key = "order", .unique_for = 1h}));
    EXPECT_TRUE(LastReply());
}

// The clock is set back and then right again: the window was written by each of them, and the next
// leader has the right one.
TEST_F(ClockKeysTest, AClockThatWasSetBackForAMomentFreesNoUniqueKeyUnderTheNextLeader) {
    for (const bool killed_while_back : {false, true}) {
        SCOPED_TRACE(killed_while_back);
        const std::string name = killed_while_back ? "killed" : "lived";
        const Duration begin = killed_while_back ? 24h : 0s;
        const auto order = [&](const std::string& id) {
            return Once({.id = name + id, .unique_key = name, .unique_for = 10min});
        };
        At(begin, Join({.id = "a", .capacity = 10}));
        At(begin, order("first"));
        At(begin, Success(name + "first"));
        JumpWall(-1h);
        Until(begin + 5s);
        if (killed_while_back) Restart(begin + 6s);
        Until(begin + 7s);
        JumpWall(1h);
        Until(begin + 20s);
        Restart(begin + 25s);
        At(begin + 10min - 1s, order("second"));
        EXPECT_FALSE(LastReply());
        // By how much longer it may be kept if nobody knows which clock was right: once its length.
        At(begin + 20min + 25s, order("third"));
        EXPECT_TRUE(LastReply());
    }
}

// The leader dies while its clock is behind, and the next one has a right one.
TEST_F(ClockKeysTest, ALeaderThatDiesWhileItsClockIsSetBackFreesNoUniqueKey) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .unique_key = "order", .unique_for = 10min}));
    At(0s, Success("x"));
    JumpWall(-1h);
    At(5s, Beat("a"));
    At(6s, Once({.id = "while", .unique_key = "other", .unique_for = 10min}));
    At(6s, Success("while"));
    JumpWall(1h);
    Restart(7s);
    At(9min, Once({.id = "y", .unique_key = "order", .unique_for = 10min}));
    EXPECT_FALSE(LastReply());
    At(9min, Once({.id = "z", .unique_key = "other", .unique_for = 10min}));
    EXPECT_FALSE(LastReply()) << "the clock before may have been the right one";
    At(10min, Once({.id = "w", .unique_key = "order", .unique_for = 10min}));
    EXPECT_TRUE(LastReply());
}

// A leader begins with a clock that is behind the last record, and dies before it is set right.
TEST_F(ClockKeysTest, ALeaderThatBeginsBehindFreesNoUniqueKeyUnderTheNextOne) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "first"}));
    JumpWall(-1h);
    Restart(1s);
    At(2s, Join({.id = "a", .capacity = 10}));
    At(2s, Once({.id = "x", .unique_key = "order", .unique_for = 10min}));
    At(2s, Success("x"));
    JumpWall(1h);
    Restart(3s);
    At(9min, Once({.id = "y", .unique_key = "order", .unique_for = 10min}));
    EXPECT_FALSE(LastReply());
    At(11min, Once({.id = "z", .unique_key = "order", .unique_for = 10min}));
    EXPECT_TRUE(LastReply());
}

// A machine is started an hour late, and its clock is set right. What is given before it is believed
// is read by a leader whose clock was right all the time.
TEST_F(ClockKeysTest, AClockThatIsSetRightFreesNoUniqueKeyUnderTheNextLeader) {
    JumpWall(-1h);
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .unique_key = "before", .unique_for = 10min}));
    At(0s, Success("x"));
    JumpWall(1h);
    Until(1s);
    At(2s, Once({.id = "y", .unique_key = "after", .unique_for = 10min}));
    At(2s, Success("y"));
    Restart(3s);
    At(9min, Once({.id = "x2", .unique_key = "before", .unique_for = 10min}));
    EXPECT_FALSE(LastReply());
    At(9min, Once({.id = "y2", .unique_key = "after", .unique_for = 10min}));
    EXPECT_FALSE(LastReply());
    At(11min, Once({.id = "x3", .unique_key = "before", .unique_for = 10min}));
    EXPECT_TRUE(LastReply());
}

// A clock that was wrongly ahead for a moment leaves nothing behind.
TEST_F(ClockKeysTest, AClockThatWasAheadForAMomentKeepsNoUniqueKeyUnderTheNextLeader) {
    At(0s, Join({.id = "a", .capacity = 10}));
    At(0s, Once({.id = "x", .unique_key = "order", .unique_for = 10min}));
    At(0s, Success("x"));
    JumpWall(24h);
    At(1s, Beat("a"));
    JumpWall(-24h);
    At(2s, Beat("a"));
    Restart(5min);
    At(10min - 1s, Once({.id = "y", .unique_key = "order", .unique_for = 10min}));
    EXPECT_FALSE(LastReply());
    At(10min, Once({.id = "z", .unique_key = "order", .unique_for = 10min}));
    EXPECT_TRUE(LastReply());
}

// More keys than one step may write of.
TEST_F(ClockKeysTest, AClockThatIsSetRightKeepsAllUniqueKeys) {
    config.changes_per_step = 4;
    Restart(0s);
    JumpWall(-1h);
    At(0s, Join({.id = "a", .capacity = 100}));
    const auto id = [](int number, const char* suffix) { return std::to_string(number) + suffix; };
    for (int i = 0; i < 20; ++i) {
        At(1s, Once({.id = id(i, "x"), .unique_key = id(i, "k"), .unique_for = 10min}));
        At(1s, Success(id(i, "x")));
    }
    JumpWall(1h);
    At(2s, Beat("a"));
    Until(2s + 1ms);
    Restart(3s);
    for (int i = 0; i < 20; ++i) {
        At(9min, Once({.id = id(i, "y"), .unique_key = id(i, "k"), .unique_for = 10min}));
        EXPECT_FALSE(LastReply()) << i;
    }
}

}  // namespace
}  // namespace takt::internal
