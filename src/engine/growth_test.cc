// Which inputs a full store refuses.
#include "engine/growth.h"

#include "base/failpoint.h"
#include "engine/recurring_fixture.h"

namespace takt::internal {
namespace {

class GrowthTest : public RecurringTest {
  protected:
    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        RecurringTest::SetUp();
    }
    bool DoesGrow(const Input& input) { return Grows(input, engine()); }
    SwapSettings Swap(std::string_view guard, std::string_view value) {
        return {.guard = Text(guard), .puts = {{Text("k"), Text(value)}}};
    }
};

TEST_F(GrowthTest, NewWorkGrows) {
    EXPECT_TRUE(DoesGrow(Once({.id = "x"})));
    EXPECT_TRUE(DoesGrow(TriggerOf("report")));
    EXPECT_TRUE(DoesGrow(RedriveOf("x")));
    EXPECT_TRUE(DoesGrow(Put({.id = "report", .every = 1h})));
}

// An operator pauses a task by its definition, an executor brings its own again.
TEST_F(GrowthTest, ATaskThatBecomesNoLargerDoesNotGrow) {
    At(0s, Put({.id = "report", .every = 1h, .payload = "four"}));

    EXPECT_FALSE(DoesGrow(Put({.id = "report", .every = 2h, .payload = "five"})));
    EXPECT_FALSE(DoesGrow(Put({.id = "report", .every = 1h})));
    EXPECT_TRUE(DoesGrow(Put({.id = "report", .every = 1h, .payload = "fives"})));
    EXPECT_TRUE(
        DoesGrow(Put({.id = "report",
                      .every = 1h,
                      .options = {.metadata = {{Text("a note"), Text("as long as one likes")}}}})));
    EXPECT_TRUE(DoesGrow(Put({.id = "other", .every = 1h})));
}

TEST_F(GrowthTest, WhatMakesRoomDoesNotGrow) {
    EXPECT_FALSE(DoesGrow(CancelOf("x")));
    EXPECT_FALSE(DoesGrow(Drop("report")));
    EXPECT_FALSE(DoesGrow(Pause("report")));
    EXPECT_FALSE(DoesGrow(Limit("default", {.paused = true})));
    EXPECT_FALSE(DoesGrow(Swap("namespaces.version", "a shorter retention")));
    EXPECT_FALSE(DoesGrow(Swap("owners.version", ""))) << "an owner lets go";
    EXPECT_TRUE(DoesGrow(Swap("owners.version", "an owner")));
}

}  // namespace
}  // namespace takt::internal
