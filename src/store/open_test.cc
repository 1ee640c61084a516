#include "store/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>

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

// How large a file of this process may become; what it is told then is what a quota says.
class FileLimit {
  public:
    explicit FileLimit(rlim_t bytes) {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        Set({.rlim_cur = bytes, .rlim_max = before_.rlim_max});
    }
    ~FileLimit() { Set(before_); }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

  private:
    static void Set(const rlimit& limit) { setrlimit(RLIMIT_FSIZE, &limit); }
    rlimit before_{};
};

// The disk got full while the scheduler was down. It serves, says why nobody leads, and goes on.
TEST(OpenStoreTest, ADirectoryWithoutRoomIsWaitedFor) {
    const TemporaryDirectory directory;
    const std::string url = "file:" + directory.path();
    ASSERT_TRUE(OpenStore(url));
    const auto ask = [](Store& store) {
        return AskStore<std::vector<LeaderRow>>([&](auto done) { store.Leaders(std::move(done)); });
    };
    std::unique_ptr<Store> waits;
    {
        const FileLimit full(16 << 10);  // Less than SQLite's shared memory takes.
        const auto refused = OpenStore(url);
        auto store = OpenStore(url, {.wait = true, .wait_interval = Duration(5)});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().detail;
        ASSERT_TRUE(store) << store.error().detail;
        waits = std::move(*store);
        const auto leaders = ask(*waits);
        ASSERT_FALSE(leaders);
        EXPECT_EQ(leaders.error().code, ErrorCode::kUnavailable);
        EXPECT_THAT(leaders.error().detail, testing::HasSubstr("is full; free some space"));
        EXPECT_EQ(waits->Describe(), "embedded " + directory.path());
    }
    while (!ask(*waits)) {
    }
    EXPECT_EQ(waits->Describe(), "embedded " + directory.path());
}

// The operator moves it to a larger disk meanwhile. An empty one in its place would take new work.
TEST(OpenStoreTest, AFileThatIsWaitedForIsNotMadeAnew) {
    const TemporaryDirectory directory;
    const std::string url = "file:" + directory.path();
    const std::string file = directory.path() + "/takt.db";
    ASSERT_TRUE(OpenStore(url));
    const auto ask = [](Store& store) {
        return AskStore<std::vector<LeaderRow>>([&](auto done) { store.Leaders(std::move(done)); });
    };
    std::unique_ptr<Store> waits;
    {
        const FileLimit full(16 << 10);
        auto store = OpenStore(url, {.wait = true, .wait_interval = Duration(5)});
        ASSERT_TRUE(store) << store.error().detail;
        waits = std::move(*store);
        std::filesystem::rename(file, file + ".moved");
        // Still without room: an attempt that is under way must not come to an end.
        const auto is_gone = [&] {
            const auto answer = ask(*waits);
            return !answer && answer.error().detail.contains("is gone");
        };
        const Steady end = SteadyClock::now() + std::chrono::seconds(30);
        while (!is_gone()) ASSERT_LT(SteadyClock::now(), end) << "it would be made anew";
    }
    EXPECT_FALSE(std::filesystem::exists(file));
    std::filesystem::rename(file + ".moved", file);
    while (!ask(*waits)) {
    }
}

}  // namespace
}  // namespace takt::internal
