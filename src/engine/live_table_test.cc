#include "engine/live_table.h"

#include <gtest/gtest.h>

#include <string>

namespace takt::internal {
namespace {

Execution Named(const char* id) {
    Execution row;
    row.id = ExecutionId(Text(id));
    return row;
}

// A function that was given an execution may read it to the end of the step, whatever it did with
// it.
TEST(LiveTableTest, AFinishedOneIsFoundNoMoreButCanBeReadUntilTheStepEnds) {
    LiveTable table;
    Live& live = table.Add(Named("x"));
    EXPECT_EQ(table.Find("x"), &live);
    table.Finish(live);
    EXPECT_EQ(table.Find("x"), nullptr);
    EXPECT_EQ(table.size(), 0u);
    EXPECT_TRUE(live.finished);
    EXPECT_EQ(live.row.id, ExecutionId("x"));
    table.FreeFinished();

    EXPECT_EQ(table.size(), 0u);
}

// It is submitted again in the step that ended it.
TEST(LiveTableTest, AnotherOneOfTheSameIdMayComeAtOnce) {
    LiveTable table;
    table.Finish(table.Add(Named("x")));
    Live& again = table.Add(Named("x"));
    table.FreeFinished();

    EXPECT_EQ(table.Find("x"), &again);
    EXPECT_EQ(again.row.id, ExecutionId("x"));
}

// A flood fills it: no single one of the many has to wait until all that are there were moved.
TEST(LiveTableTest, GrowsInSmallParts) {
    LiveTable table;
    constexpr std::size_t kMany = 20'000;
    for (std::size_t i = 0; i < kMany; ++i) table.Add(Named(std::to_string(i).c_str()));

    EXPECT_EQ(table.size(), kMany);
    EXPECT_LT(table.largest_part(), kMany / 50);
    EXPECT_NE(table.Find("0"), nullptr);
    EXPECT_NE(table.Find("19999"), nullptr);
    EXPECT_EQ(table.Find("20000"), nullptr);
}

}  // namespace
}  // namespace takt::internal
