#include "store/open.h"

#include <gtest/gtest.h>

#include "store/embedded/temporary_directory.h"

namespace takt::internal {
namespace {

// The URLs of the README.
TEST(OpenStoreTest, AFileUrlOpensADirectory) {
    const TemporaryDirectory directory;
    for (const std::string& url :
         {"file:" + directory.path() + "/a", "file://" + directory.path() + "/b"}) {
        const auto store = OpenStore(url);
        ASSERT_TRUE(store) << store.error().detail;
        EXPECT_TRUE((*store)->Describe().starts_with("embedded " + directory.path()));
    }
}

TEST(OpenStoreTest, AMemoryUrlOpensAStoreOfItsOwn) {
    EXPECT_TRUE(OpenStore("memory:"));
}

// A typing error, a URL of a backend that is not built in, a path without a scheme.
TEST(OpenStoreTest, WhatIsNoStoreIsRefusedWithoutItsPassword) {
    for (const char* url :
         {"", "file:", "file://host/dir", "takt-data", "postgres://u:secret@h/",
          "redis://:secret@localhost/x", "memory", "mysql://u:secret@localhost"}) {
        const auto store = OpenStore(url);
        ASSERT_FALSE(store) << url;
        EXPECT_EQ(store.error().code, ErrorCode::kInvalid) << url;
        EXPECT_EQ(store.error().field, "store") << url;
        EXPECT_EQ(store.error().detail.find("secret"), std::string::npos) << url;
    }
}

}  // namespace
}  // namespace takt::internal
