#include "base/id.h"

#include <gtest/gtest.h>

#include <limits>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

const Time kNow = std::chrono::sys_days(std::chrono::year(2026) / 11 / 15) + 2h;
constexpr Serial kPerMillisecond = 1 << 14;

// Ids of tasks, as callers choose them.
TEST(IdTest, IdsAreShortAndSafeToWriteAnywhere) {
    for (const char* text : {"a", "0", "order-17", "A.b_c~d-e", "7z"}) {
        EXPECT_TRUE(IsValidId(text)) << text;
    }
    EXPECT_TRUE(IsValidId(std::string(64, 'x')));
}

// … and what would break out of a URL, a Redis key or a path.
TEST(IdTest, OtherTextsAreNoIds) {
    for (const char* text : {"", "-a", ".", "..", "_a", "~a", "a/b", "a b", "a{b}", "a:b", "a\n",
                             "\xc3\xbc", "a%2f", "a?b", "a#b"}) {
        EXPECT_FALSE(IsValidId(text)) << text;
    }
    EXPECT_FALSE(IsValidId(std::string_view("a\0b", 3)));
    EXPECT_FALSE(IsValidId(std::string(65, 'x')));
}

TEST(IdTest, ARefusalNamesTheField) {
    const auto id = TaskId::Parse("a b", "task_id");
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(id.error().field, "task_id");
    EXPECT_EQ(TaskId::Parse("a-b", "task_id")->view(), "a-b");
}

// A list by time is a list by serial.
TEST(SerialTest, SerialsRiseWithTime) {
    SerialSource source(3, 0);
    const Serial a = source.Next(kNow);
    const Serial b = source.Next(kNow);
    const Serial c = source.Next(kNow + 1ms);
    EXPECT_LT(a, b);
    EXPECT_LT(b, c);
    EXPECT_GE(a, SerialAt(kNow));
    EXPECT_LT(b, SerialAt(kNow + 1ms));
    EXPECT_EQ(TimeOf(a), kNow);
    EXPECT_EQ(TimeOf(c), kNow + 1ms);
    EXPECT_EQ(source.last(), c);
}

// A bulk submit makes more executions in a millisecond than the counter counts.
TEST(SerialTest, ABurstRunsAheadIntoTheNextMillisecond) {
    SerialSource source(1, 0);
    Serial last = 0;
    for (Serial i = 0; i < 3 * kPerMillisecond; ++i) {
        const Serial next = source.Next(kNow);
        ASSERT_GT(next, last);
        ASSERT_EQ(next >> 14 & 0xff, 1u);
        last = next;
    }
    EXPECT_EQ(TimeOf(last), kNow + 2ms);
    EXPECT_GT(source.Next(kNow + 1ms), last);
    EXPECT_EQ(TimeOf(source.Next(kNow + 10ms)), kNow + 10ms);
}

// NTP sets the clock back, or the new leader's clock is behind the old one's.
TEST(SerialTest, ABackwardClockDoesNotMakeOldSerials) {
    SerialSource source(0, 0);
    const Serial before = source.Next(kNow);
    const Serial after = source.Next(kNow - 1h);
    EXPECT_GT(after, before);
    SerialSource successor(0, after);
    EXPECT_GT(successor.Next(kNow - 2h), after);
}

// The highest serial of a store was another partition's: its successor must not be taken for one.
// A clock that shows the year 2106 for a moment, and is right again: serials go on as before.
TEST(SerialTest, AClockBeyondTheLastSerialIsNotFollowed) {
    SerialSource source(2, 0);
    const Serial before = source.Next(kNow);
    const Serial beyond = source.Next(kNow + 24h * 365 * 80);
    EXPECT_GT(beyond, before);
    EXPECT_LT(beyond, SerialAt(kNow + 1s));
    Serial last = beyond;
    for (Serial i = 0; i < 3 * kPerMillisecond; ++i) {
        const Serial next = source.Next(kNow + 1s + 24h * 365 * 80);
        ASSERT_GT(next, last);
        last = next;
    }
    EXPECT_LT(last, SerialAt(kNow + 1s));
    EXPECT_GE(source.Next(kNow + 2s), SerialAt(kNow + 2s));
}

TEST(SerialTest, ASerialCarriesItsOwnPartition) {
    const Serial other = SerialSource(9, 0).Next(kNow);
    for (const Partition partition : {Partition{0}, Partition{9}, Partition{255}}) {
        SerialSource source(partition, other);
        const Serial next = source.Next(kNow);
        EXPECT_GT(next, other);
        EXPECT_EQ(next >> 14 & 0xff, partition);
        const Serial behind = SerialSource(partition, other).Next(kNow - 1h);
        EXPECT_GT(behind, other);
        EXPECT_EQ(behind >> 14 & 0xff, partition);
    }
}

// "created_to": "9999-12-31…" in a filter means no end.
TEST(SerialTest, MomentsOutOfRangeGiveTheNearestSerial) {
    EXPECT_EQ(SerialAt(Time{}), 0u);
    EXPECT_EQ(SerialAt(Time(-1s)), 0u);
    const Serial last = SerialAt(Time(Duration::max() / 2));
    EXPECT_GT(last, SerialAt(kNow));
    EXPECT_LE(last, Serial(std::numeric_limits<std::int64_t>::max()));
    EXPECT_EQ(SerialAt(*ParseTime("9999-12-31T23:59:59Z")), last);
}

// Generated ids sort as they were made, and may stand where chosen ones may.
TEST(SerialTest, TheTextOfASerialIsAnIdInTheSameOrder) {
    SerialSource source(255, 0);
    std::string last;
    for (int i = 0; i < 2000; ++i) {
        const std::string text = SerialText(source.Next(kNow + Duration(i / 7)));
        ASSERT_EQ(text.size(), 13u);
        ASSERT_TRUE(IsValidId(text));
        ASSERT_GT(text, last);
        last = text;
    }
    EXPECT_EQ(SerialText(0), "0000000000000");
    EXPECT_EQ(SerialText(31), "000000000000z");
    EXPECT_EQ(SerialText(std::numeric_limits<Serial>::max()), "fzzzzzzzzzzzz");
}

TEST(SerialTest, ASpellingIsReadBackAndOtherTextsAreNone) {
    for (const Serial serial :
         {Serial{0}, Serial{31}, SerialAt(kNow) + 77, std::numeric_limits<Serial>::max()}) {
        EXPECT_EQ(ParseSerial(SerialText(serial)), serial);
    }
    for (const char* text : {"", "000000000000", "00000000000000", "gzzzzzzzzzzzz", "000000000000u",
                             "000000000000Z", "order-1234567"}) {
        EXPECT_EQ(ParseSerial(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace takt::internal
