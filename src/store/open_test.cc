#include "store/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/embedded/temporary_directory.h"
#include "store/wait.h"

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

// The schedulers are started before their store, or somebody wants to know at once that it is away.
TEST(OpenStoreTest, AStoreThatIsAwayIsOpenedIfItMayBeWaitedFor) {
    // Nobody listens on port 1.
    for (const char* url : {"redis://127.0.0.1:1?timeout=300ms", "etcd://127.0.0.1:1?timeout=300ms",
                            "mysql://u:secret@127.0.0.1:1/takt?timeout=1s"}) {
        const auto store = OpenStore(url, {.wait = true});
        ASSERT_TRUE(store) << url << store.error().detail;
        EXPECT_THAT((*store)->Describe(), testing::HasSubstr("127.0.0.1:1"));
        const auto leader = AskStore<std::vector<LeaderRow>>(
            [&](auto done) { (*store)->Leaders(std::move(done)); });
        ASSERT_FALSE(leader) << url;
        EXPECT_EQ(leader.error().code, ErrorCode::kUnavailable) << url;
        const auto refused = OpenStore(url);
        ASSERT_FALSE(refused) << url;
        EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << url;
    }
}

}  // namespace
}  // namespace takt::internal
