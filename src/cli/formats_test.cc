#include "cli/formats.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace takt::internal::cli {
namespace {

TEST(OutputRedirect, TakesWhatIsPrintedAndGivesStandardOutputBack) {
    testing::internal::CaptureStdout();
    std::string text;
    const auto keep = [&](std::string_view piece) {
        text += piece;
        return true;
    };
    {
        OutputRedirect redirect(keep, true);
        std::printf("inside");
        std::puts("");
        std::fprintf(stderr, "a hint");
    }
    EXPECT_EQ(text, "inside\na hint");
    std::printf("outside");
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "outside");
}

// A command that follows something ends when nobody reads it any more.
TEST(OutputRedirect, WhoPrintsIsToldThatNobodyReads) {
    OutputRedirect redirect([](std::string_view) { return false; });
    EXPECT_TRUE(std::fputs("lost\n", stdout) == EOF || std::fflush(stdout) == EOF);
}

TEST(YamlLines, EachLineIsADocumentAsSoonAsItEnds) {
    YamlLines lines;
    EXPECT_EQ(lines.Convert(R"({"a": )"), "");
    EXPECT_EQ(lines.Convert("1}\n\n{\"b\""), "a: 1\n");
    EXPECT_EQ(lines.Convert(":\"x\"}\nin words\n"), "---\nb: x\n---\nin words\n");
}

}  // namespace
}  // namespace takt::internal::cli
