#include "store/embedded/options.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

TEST(EmbeddedOptionsTest, AUrlNamesADirectoryAndHowToUseIt) {
    EXPECT_EQ(ParseEmbeddedUrl("file:./takt-data")->directory, "./takt-data");
    EXPECT_EQ(ParseEmbeddedUrl("file:///var/lib/takt")->directory, "/var/lib/takt");
    const auto options = ParseEmbeddedUrl("file:/d?timeout=20s&pool=4");
    ASSERT_TRUE(options) << options.error().detail;
    EXPECT_EQ(options->directory, "/d");
    EXPECT_EQ(options->read_deadline, Duration(20'000));
    EXPECT_EQ(options->readers, 4u);
}

// A typing error is answered as every store answers it.
TEST(EmbeddedOptionsTest, WhatIsWrongIsNamed) {
    const std::pair<const char*, const char*> cases[] = {
        {"file:", "missing"},           {"file://host/dir", "without a host"},
        {"file:?pool=2", "missing"},    {"file:/d?pol=2", "did you mean 'pool'?"},
        {"file:/d?pool=99", "1 to 32"}, {"file:/d?timeout=0", "duration"},
    };
    for (const auto& [url, words] : cases) {
        const auto options = ParseEmbeddedUrl(url);
        ASSERT_FALSE(options) << url;
        EXPECT_EQ(options.error().code, ErrorCode::kInvalid) << url;
        EXPECT_NE(options.error().detail.find(words), std::string::npos) << options.error().detail;
    }
}

}  // namespace
}  // namespace takt::internal
