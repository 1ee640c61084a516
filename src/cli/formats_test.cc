#include "cli/formats.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

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

TEST(YamlLines, TheLastLineNeedsNoEnd) {
    YamlLines lines;
    EXPECT_EQ(lines.Convert("{\"a\":1}\n{\"b\":2}"), "a: 1\n");
    EXPECT_EQ(lines.End(), "---\nb: 2\n");
    EXPECT_EQ(lines.End(), "");
}

// A file as standard output, as a command has it.
class YamlFile : public ::testing::Test {
  protected:
    void Open(const char* path) {
        stdout = std::fopen(path, "w+");
        ASSERT_TRUE(stdout);
    }
    void TearDown() override {
        if (stdout && stdout != before_) std::fclose(stdout);
        stdout = before_;
    }

    std::FILE* const before_ = stdout;
    bool json_ = false;
};

TEST_F(YamlFile, WhatIsLeftIsWrittenAtTheEnd) {
    const std::string path = ::testing::TempDir() + "takt_formats_test.yaml";
    Open(path.c_str());
    UseFormat("yaml", json_);
    std::fputs("{\"a\":1}", stdout);
    const auto ended = EndYaml();
    ASSERT_TRUE(ended) << ended.error().detail;
    EXPECT_TRUE(*ended);
    std::rewind(stdout);
    char text[16] = {};
    EXPECT_EQ(std::string(text, std::fread(text, 1, sizeof text, stdout)), "a: 1\n");
    EXPECT_FALSE(EndYaml().value()) << "it has ended";
    std::remove(path.c_str());
}

TEST_F(YamlFile, ADiskThatIsFullIsSaid) {
    Open("/dev/full");
    UseFormat("yaml", json_);
    std::fputs("{\"a\":1}\n", stdout);
    const auto ended = EndYaml();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().detail, "the output could not be written: No space left on device");
}

}  // namespace
}  // namespace takt::internal::cli
