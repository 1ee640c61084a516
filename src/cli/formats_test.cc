#include "cli/formats.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace takt::internal::cli {
namespace {

TEST(OutputCapture, TakesWhatIsPrintedAndGivesStandardOutputBack) {
    testing::internal::CaptureStdout();
    {
        OutputCapture capture;
        std::printf("inside");
        EXPECT_EQ(capture.Take(), "inside");
    }
    std::printf("outside");
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "outside");
}

}  // namespace
}  // namespace takt::internal::cli
