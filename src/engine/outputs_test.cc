// Progress and the quota of the log, without an engine around it.
#include "engine/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OutputsTest : public ::testing::Test {
  protected:
    OutputsTest() {
        draft.Open(effects, {}, {32, SIZE_MAX});
        row.id = ExecutionId("x");
        row.serial = 7;
        row.attempt = 1;
    }
    std::vector<std::string> Lines() const {
        std::vector<std::string> lines;
        for (const LogChunk& chunk : effects.logs) lines.push_back(chunk.lines.str());
        return lines;
    }

    Execution row;
    Effects effects;
    Draft draft{0, 0};
    Outputs outputs{10};
};

TEST_F(OutputsTest, ProgressEndsWithTheAttempt) {
    EXPECT_FALSE(outputs.FindProgress(row));
    outputs.SetProgress(row, {.fraction = 3, .message = "far"}, {});
    ASSERT_TRUE(outputs.FindProgress(row));
    EXPECT_EQ(outputs.FindProgress(row)->fraction, 1);
    outputs.SetProgress(row, {.fraction = std::numeric_limits<double>::quiet_NaN()}, {});
    EXPECT_EQ(outputs.FindProgress(row)->fraction, 0);
    outputs.EndAttempt(row);

    EXPECT_FALSE(outputs.FindProgress(row));
}

TEST_F(OutputsTest, WhatIsBeyondTheQuotaIsDroppedInWholeLinesAndSaid) {
    outputs.AppendLines(row, "12345\n", draft);
    outputs.AppendLines(row, "1\n12345\n", draft);
    outputs.AppendLines(row, "1\n", draft);
    outputs.EndExecution(row, draft);

    EXPECT_THAT(Lines(), ElementsAre("12345\n", "1\n", HasSubstr("the log is full"),
                                     "(dropped: 2 lines, 8 bytes)\n"));
    EXPECT_FALSE(effects.urgent) << "worth keeping, not worth waiting for";
}

// An operator who reads that a log is full wants to raise the right one of two bounds.
TEST_F(OutputsTest, TheBoundThatWasMetIsNamed) {
    EngineConfig config;
    config.log_bytes_max = 5;
    outputs.SetBound(config);
    outputs.AppendLines(row, "12345\n", draft);
    config.quotas.log_bytes = 5;
    outputs.SetBound(config);
    row.serial = 8;
    outputs.AppendLines(row, "12345\n", draft);
    config.quotas.log_bytes = 9;
    outputs.SetBound(config);
    row.serial = 9;
    outputs.AppendLines(row, "12345\n", draft);
    const std::string end = " is 5 bytes; what follows is dropped)\n";
    EXPECT_THAT(Lines(), ElementsAre("(the log is full: scheduler.log_bytes_max" + end,
                                     "(the log is full: the namespace's quota log_bytes" + end,
                                     "(the log is full: scheduler.log_bytes_max" + end));
}

// An operator lowers the quota while something writes.
TEST_F(OutputsTest, ABoundThatIsLoweredBelowWhatIsKeptKeepsNoMore) {
    outputs.AppendLines(row, "12345\n", draft);
    EngineConfig config;
    config.log_bytes_max = 4;
    outputs.SetBound(config);
    outputs.AppendLines(row, "1\n", draft);
    EXPECT_THAT(Lines(), ElementsAre("12345\n", HasSubstr("the log is full")));
}

TEST_F(OutputsTest, ALogThatFitsSaysNothingOfItself) {
    outputs.AppendLines(row, "12345\n", draft);
    outputs.AppendLines(row, "", draft);
    outputs.EndExecution(row, draft);

    EXPECT_THAT(Lines(), ElementsAre("12345\n"));
}

}  // namespace
}  // namespace takt::internal
