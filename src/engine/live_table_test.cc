#include "engine/live_table.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace takt::internal
