#include "cli/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace takt::internal::cli {
namespace {

// Somebody submits a task whose name would clear the operator's screen.
TEST(OutputTest, ControlCharactersAreNotPassedToTheTerminal) {
    EXPECT_EQ(Clean("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
    EXPECT_EQ(Clean("\xC2\x9B"
                    "31m"),
              "?31m")
        << "the one-character form of ESC [";
    // exe.fdp shown as pdf.exe, and two names that look the same.
    EXPECT_EQ(Clean("\u202Efdp.exe"), "?fdp.exe");
    EXPECT_EQ(Clean("re\u200Bport"), "re?port");
    const auto value = ParseJson(R"({"name": "x\u001by"})");
    ASSERT_TRUE(value);
    EXPECT_EQ(Member(*value, "name"), "x?y");
}

// Tasks with Chinese names stand in the same table as others.
TEST(OutputTest, ColumnsAreAlignedByWhatATerminalShows) {
    Table table({"NAME", "STATUS"});
    table.Add({"每天报告", "success"});
    table.Add({"night", "failed"});
    EXPECT_EQ(table.Text(), "NAME      STATUS\n每天报告  success\nnight     failed\n");
}

// A message of a megabyte must not fill the screen.
TEST(OutputTest, LongTextIsCutAtAWholeCharacter) {
    EXPECT_EQ(Clean("abcdef", 6), "abcdef");
    EXPECT_EQ(Clean("abcdefg", 6), "abcde…");
    EXPECT_EQ(Clean("报告报告", 5), "报告…");
}

// Executions that have not started have no times yet.
TEST(OutputTest, MissingTimesAndMembersAreShownAsNothing) {
    EXPECT_EQ(ShortTime(""), "-");
    EXPECT_EQ(ShortTime("2026-11-15T03:46:17.648Z"), "2026-11-15 03:46:17");
    EXPECT_EQ(ExactTime("2026-11-15T03:46:17.648Z"), "2026-11-15 03:46:17.648");
    EXPECT_EQ(ExactTime("2026-11-15T03:46:17.000Z"), "2026-11-15 03:46:17");
    EXPECT_EQ(ExactTime("2026-11-15T03:46:17Z"), "2026-11-15 03:46:17");
    EXPECT_EQ(ExactTime(""), "-");
    EXPECT_EQ(TimeBetween("2026-11-15T03:46:17.648Z", ""), "-");
    EXPECT_EQ(TimeBetween("2026-11-15T03:46:17.000Z", "2026-11-15T03:47:18.500Z"), "1m1s500ms");
    const auto value = ParseJson(R"({"worker_id": null, "attempt": 2, "result": {"a": 1}})");
    ASSERT_TRUE(value);
    EXPECT_EQ(Member(*value, "worker_id"), "");
    EXPECT_EQ(Member(*value, "missing"), "");
    EXPECT_EQ(Member(*value, "attempt"), "2");
    EXPECT_EQ(Member(*value, "result"), R"({"a":1})");
    EXPECT_EQ(NumberMember(*value, "attempt"), 2);
}

// A queue that was forgotten over the weekend: nobody reads 183604.2s.
TEST(OutputTest, LongTimesAreShownInTheUnitsOfPeople) {
    EXPECT_EQ(ShortDuration(0.44), "0.4s");
    EXPECT_EQ(ShortDuration(59.9), "59.9s");
    EXPECT_EQ(ShortDuration(634.4), "10m34s");
    EXPECT_EQ(ShortDuration(7'500), "2h5m");
    EXPECT_EQ(ShortDuration(183'604.2), "2d3h");
}

// Output that goes to a file or a pipe has no colours.
TEST(OutputTest, NothingIsPaintedWhenOutputIsNotATerminal) {
    setenv("NO_COLOR", "1", 1);
    EXPECT_EQ(Paint("failed", Colour::kRed), "failed");
}

}  // namespace
}  // namespace takt::internal::cli
