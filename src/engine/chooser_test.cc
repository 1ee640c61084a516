// Which strategy is asked, and what of it is stored. How strategies choose is strategy_test.cc.
#include "engine/chooser.h"

#include <gtest/gtest.h>

#include <deque>

namespace takt::internal {
namespace {

// Takes the last one.
class Last : public Balancer {
  public:
    std::size_t Pick(const Execution&, std::uint64_t, std::span<const Choice> choices) override {
        return choices.size() - 1;
    }
};

class ChooserTest : public ::testing::Test {
  protected:
    ChooserTest() {
        config.balancers["last"] = [] { return std::make_unique<Last>(); };
        for (Slot& slot : slots) {
            slot.order = ++joined;
            slot.can_take = true;
        }
        lane.queue = &queue;
        crews.Place(lane, {&slots[0], &slots[1], &slots[2]});
    }
    Slot& Choose(const TaskOptions& options = {}) {
        auto task = NewTaskPtr(new Task);
        task->options = std::make_unique<TaskOptions>(options);
        Execution row;
        row.task = task;
        return chooser.Choose(row, lane);
    }

    EngineConfig config;
    Random random{SeedOf(1)};
    Chooser chooser{config, random};
    Queue queue;
    Lane lane;
    std::deque<Slot> many;
    std::array<Slot, 3> slots;
    Crews crews;
    std::uint64_t joined = 0;
};

TEST_F(ChooserTest, ATasksOwnStrategyComesFirst) {
    EXPECT_EQ(&Choose(), &slots[0]);
    EXPECT_EQ(&Choose({.strategy = Strategy::kCustom, .strategy_name = "last"}), &slots[2]);
}

TEST_F(ChooserTest, AStrategyIsRememberedByWhatIsStored) {
    const auto stored = chooser.SetStrategy(Strategy::kCustom, "last");
    ASSERT_TRUE(stored);
    EXPECT_EQ(*stored, "custom:last");
    EXPECT_EQ(&Choose(), &slots[2]);
    EXPECT_EQ(*chooser.SetStrategy(std::nullopt, {}), "") << "the configured one needs no row";
    EXPECT_EQ(&Choose(), &slots[0]);
    chooser.Restore(*stored);

    EXPECT_EQ(&Choose(), &slots[2]);
}

TEST_F(ChooserTest, AStrategyThatIsNotThereIsRefused) {
    const auto stored = chooser.SetStrategy(Strategy::kCustom, "first");

    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().field, "strategy");
    EXPECT_EQ(chooser.strategy(), Strategy::kLeastTasks);
}

// Another program wrote the row; this one has no such strategy.
TEST_F(ChooserTest, AStrategyOfAnotherProgramsIsReplacedByOneThatWorks) {
    chooser.Restore("custom:theirs");
    EXPECT_EQ(&Choose(), &slots[0]);
    chooser.Restore("no_such");

    EXPECT_EQ(chooser.strategy(), Strategy::kLeastTasks);
}

// Ten thousand workers have room: no task may cost ten thousand looks.
TEST_F(ChooserTest, OfVeryManyWorkersFewAreLookedAt) {
    for (std::uint64_t i = 0; i < 10'000; ++i) {
        Slot& slot = many.emplace_back();
        slot.order = 100 + i;
        slot.row.id = WorkerId(Text("worker-" + std::to_string(i)));
        slot.can_take = true;
        crews.Join(slot, slots[0], [](const Lane&) { return true; });
    }
    ASSERT_EQ(lane.crew().free(), 10'003u);
    for (int i = 0; i < int(Strategy::kCustom); ++i) {
        Choose({.strategy = Strategy(i)});
        EXPECT_LE(chooser.shown(), 65u) << Name(Strategy(i));
    }
    // The model is loaded there, wherever the turn is.
    const Slot* own = &Choose({.strategy = Strategy::kSticky});
    for (int i = 0; i < 1'000; ++i) Choose({.strategy = Strategy::kRoundRobin});

    EXPECT_EQ(&Choose({.strategy = Strategy::kSticky}), own);
}

TEST_F(ChooserTest, AResetForgetsWhoseTurnItIs) {
    ASSERT_TRUE(chooser.SetStrategy(Strategy::kRoundRobin, {}));
    const Slot* first = &Choose();
    EXPECT_NE(&Choose(), first);
    chooser.Reset();

    EXPECT_EQ(&Choose(), first);
}

}  // namespace
}  // namespace takt::internal
