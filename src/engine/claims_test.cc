// Holders of unique keys, without an engine around them.
#include "engine/claims.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

class ClaimsTest : public ::testing::Test {
  protected:
    ClaimsTest() { draft.Open(effects, {}, {32, SIZE_MAX}); }
    static Execution Keyed(const char* id, Duration window = Duration(0)) {
        auto task = NewTaskPtr(new Task);
        task->options =
            std::make_unique<TaskOptions>(TaskOptions{.unique_key = "order", .unique_for = window});
        Execution row;
        row.id = ExecutionId(Text(id));
        row.task = task;
        row.created_at = kNow;
        return row;
    }
    bool Free(const char* id, Time at = kNow) const {
        return !claims.HolderAgainst(ExecutionId(Text(id)), *Keyed(id).task, at);
    }
    // The batch's word on the setting; nothing if it says nothing.
    std::optional<Text> Stored() const {
        std::optional<Text> value;
        for (const Change& change : effects.changes) {
            const auto& setting = std::get<SettingPut>(change);
            if (setting.key == "unique/order") value = setting.value;
        }
        return value;
    }

    static constexpr Time kNow{Duration(1'767'225'600'000)};
    Claims claims;
    Effects effects;
    Draft draft{0, 0};
};

TEST_F(ClaimsTest, AKeyIsHeldWhileItsExecutionLives) {
    claims.Hold(Keyed("x"), kNow, draft);
    EXPECT_FALSE(Free("y"));
    EXPECT_FALSE(Free("x")) << "not even for another row of its own id";
    claims.Release(Keyed("x"));

    EXPECT_TRUE(Free("y"));
    EXPECT_EQ(claims.size(), 0u);
    EXPECT_FALSE(Stored()) << "the live row says it all";
}

TEST_F(ClaimsTest, AWindowOutlivesTheExecutionAndTheLeader) {
    claims.Hold(Keyed("x", 1h), kNow, draft);
    claims.Release(Keyed("x", 1h));
    EXPECT_FALSE(Free("y", kNow + 59min));
    EXPECT_TRUE(Free("x", kNow + 59min)) << "what is run again may have its own key";
    EXPECT_TRUE(Free("y", kNow + 1h));

    Claims next;
    ASSERT_TRUE(Stored());
    next.Restore("order", *Stored());
    const Claim* claim = next.HolderAgainst(ExecutionId("y"), *Keyed("y").task, kNow + 59min);
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->execution, ExecutionId("x"));
    EXPECT_EQ(claim->until, kNow + 1h);
}

TEST_F(ClaimsTest, AWindowThatIsOverIsForgottenInTheStoreToo) {
    claims.Hold(Keyed("x", 1h), kNow, draft);
    claims.Release(Keyed("x", 1h));
    claims.ForgetEnded(kNow + 59min, draft);
    EXPECT_EQ(claims.size(), 1u);
    claims.ForgetEnded(kNow + 1h, draft);

    EXPECT_EQ(claims.size(), 0u);
    EXPECT_EQ(Stored(), Text());
}

// The execution takes longer than its window.
TEST_F(ClaimsTest, AWindowThatEndsFirstIsForgottenWithTheExecution) {
    claims.Hold(Keyed("x", 1h), kNow, draft);
    claims.ForgetEnded(kNow + 2h, draft);
    EXPECT_FALSE(Free("y", kNow + 2h));
    claims.Release(Keyed("x", 1h));
    EXPECT_TRUE(Free("y", kNow + 2h));
    claims.ForgetEnded(kNow + 2h, draft);

    EXPECT_EQ(claims.size(), 0u);
}

// Nobody has cleaned up after the window yet when the next one comes, which has none.
TEST_F(ClaimsTest, AClaimWithoutAWindowLeavesNothingStoredOfTheOneBefore) {
    claims.Restore("order", std::to_string((kNow - 1h).time_since_epoch().count()) + " w");
    claims.Hold(Keyed("x"), kNow, draft);
    EXPECT_EQ(Stored(), Text());
    claims.Release(Keyed("x"));

    EXPECT_EQ(claims.size(), 0u);
}

// The same for a new leader, which finds both: the setting and the live row.
TEST_F(ClaimsTest, AStoredClaimThatALiveRowOutlivedIsForgotten) {
    claims.Restore("order", std::to_string((kNow - 1h).time_since_epoch().count()) + " w");
    claims.Restore(Keyed("x"));
    claims.ForgetEnded(kNow, draft);
    EXPECT_EQ(Stored(), Text());

    EXPECT_FALSE(Free("y"));
}

TEST_F(ClaimsTest, WhatCannotBeReadIsNoClaim) {
    for (const char* value : {"", "17", "x order-17", "17x order-17"}) {
        claims.Restore("order", value);
        EXPECT_EQ(claims.size(), 0u) << value;
    }
}

// A leader whose clock was a month ahead gave a window of an hour, and died. By the right clock it
// would keep the key for a month.
TEST_F(ClaimsTest, AWindowOfAClockThatWasAheadLastsAsLongAsItSaysAfterTheNextTermBegan) {
    claims.Hold(Keyed("x", 1h), kNow + 24h * 30, draft);
    const std::optional<Text> stored = Stored();
    ASSERT_TRUE(stored);
    Claims next;
    next.Restore("order", *stored);
    next.Begin(kNow, 0s, 0s);
    claims = std::move(next);
    EXPECT_FALSE(Free("y", kNow + 1h - 1ms));
    EXPECT_TRUE(Free("y", kNow + 1h));
    claims.ForgetEnded(kNow + 1h, draft);
    EXPECT_EQ(claims.size(), 0u);
}

TEST_F(ClaimsTest, AWindowThatIsNotYetOverIsNotMadeLonger) {
    claims.Restore("order", "1767225660000 x 3600000");  // A minute is left of an hour.
    claims.Begin(kNow, 0s, 0s);
    EXPECT_FALSE(Free("y", kNow + 1min - 1ms));
    EXPECT_TRUE(Free("y", kNow + 1min));
}

// A build before the first version wrote no length: it is kept until the time that is written.
TEST_F(ClaimsTest, AWindowWithoutALengthEndsAsWritten) {
    claims.Restore("order", "1769817600000 x");
    claims.Begin(kNow, 0s, 0s);
    EXPECT_FALSE(Free("y", kNow + 24h * 30 - 1ms));
    EXPECT_TRUE(Free("y", kNow + 24h * 30));
}

}  // namespace
}  // namespace takt::internal
