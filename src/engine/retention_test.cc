// When finished executions are purged, and how many at once.
#include "engine/retention.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

class RetentionTest : public ::testing::Test {
  protected:
    RetentionTest() { retention.Begin(Steady(0s)); }
    // The purge that a step at this time makes in a batch of its own; nothing if it makes none.
    std::optional<Purge> Clean(Duration at, std::size_t changes_max = 32) {
        effects = Effects{.generation = effects.generation + 1};
        const Instant now{kBegin + at, Steady(at)};
        draft.Open(effects, now, {changes_max, SIZE_MAX});
        retention.Clean(now, draft);
        draft.Close();
        if (effects.changes.empty()) return std::nullopt;
        return std::get<Purge>(effects.changes[0]);
    }

    static constexpr Time kBegin = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
    EngineConfig config{.retention = 24h, .cleanup_interval = 5min, .purge_max = 100'000};
    Retention retention{config};
    Effects effects;
    Draft draft{0, 0};
};

TEST_F(RetentionTest, AtRestItIsLookedAtEachInterval) {
    EXPECT_FALSE(Clean(1min));
    EXPECT_EQ(retention.next_at(), Steady(5min));
    const auto purge = Clean(5min);

    ASSERT_TRUE(purge);
    EXPECT_EQ(purge->finished_before, kBegin + 5min - 24h);
    EXPECT_EQ(purge->audit_before, kBegin + 5min - config.audit_retention);
    EXPECT_TRUE(effects.urgent);
    EXPECT_EQ(retention.purged_before(), purge->finished_before);
}

TEST_F(RetentionTest, WhileExecutionsFinishTheAuditIsLookedAtEachIntervalOnly) {
    std::vector<int> audited;
    for (int second = 1; second <= 700; ++second) {
        retention.CountFinished();
        const auto purge = Clean(second * 1s);
        ASSERT_TRUE(purge);
        if (purge->audit_before == Time{}) continue;
        EXPECT_EQ(purge->audit_before, kBegin + second * 1s - config.audit_retention);
        audited.push_back(second);
    }
    EXPECT_EQ(audited, (std::vector<int>{300, 600}));
}

// A purge of its own would be a commit of its own.
TEST_F(RetentionTest, WhileThingsFinishItGoesAlongOnceASecond) {
    retention.CountFinished();
    EXPECT_FALSE(Clean(500ms));
    EXPECT_TRUE(Clean(1s));
    EXPECT_FALSE(effects.urgent);

    EXPECT_FALSE(Clean(3s)) << "nothing is owed any more";
}

TEST_F(RetentionTest, MoreGoThanFinish) {
    for (int i = 0; i < 10'000; ++i) retention.CountFinished();
    const auto purge = Clean(1s);

    ASSERT_TRUE(purge);
    EXPECT_GE(purge->count_max, 20'000u);
}

TEST_F(RetentionTest, WhoIsPressedDoesNotWait) {
    for (int i = 0; i < 50'000; ++i) retention.CountFinished();
    EXPECT_EQ(retention.next_at(), Steady(1s));

    EXPECT_TRUE(Clean(1ms));
}

// A caller who is refused because the store is full would otherwise be refused for minutes.
TEST_F(RetentionTest, WhenRoomIsNeededItDoesNotWaitForItsInterval) {
    retention.Hurry();
    EXPECT_EQ(retention.next_at(), Steady(1s));
    EXPECT_FALSE(Clean(500ms)) << "no more often than once a second";

    EXPECT_TRUE(Clean(1s));
    EXPECT_TRUE(effects.urgent);
    EXPECT_FALSE(Clean(2s)) << "once for each time that room is needed";
}

TEST_F(RetentionTest, ATiredStepLeavesItToTheNext) {
    retention.CountFinished();
    EXPECT_FALSE(Clean(1s, 0));

    EXPECT_TRUE(Clean(1s + 1ms));
}

}  // namespace
}  // namespace takt::internal
