// Redis at its maxmemory: what is there goes on and makes room, new work waits outside.
#include <algorithm>

#include "base/log.h"
#include "store/redis/store_fixture.h"

namespace takt::internal::redis {
namespace {

class RedisFull : public testing::Test {
  protected:
    void Fill() { ASSERT_TRUE(server->Cli({"CONFIG", "SET", "maxmemory", "1"})); }
    void MakeRoom() { ASSERT_TRUE(server->Cli({"CONFIG", "SET", "maxmemory", "0"})); }

    const std::unique_ptr<RedisServer> server = StartServer();
    const std::unique_ptr<Store> store = OpenStoreAt(server->url());
    RowMaker make;
};

// Submits came faster than memory was bought. The leader keeps its lead, finishes what runs and
// purges what is old; the API is told why nothing new may come.
TEST_F(RedisFull, TheLeaderGoesOnFinishingPurgingAndAnnouncingItself) {
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const Execution old = conformance::Finished(make.OneOff("e-0"));
    const Execution row = make.OneOff("e-1");
    ASSERT_TRUE(Commit(*store, *term, 1, {ExecutionChange{Place::kNone, Place::kHistory, old}}));
    ASSERT_TRUE(Commit(*store, *term, 2, Insert(row)));
    EXPECT_EQ(store->WhyFull(), "");
    Fill();

    EXPECT_EQ(Code(Announce(*store, "node-a", Duration(3'600'000))), "success");
    const auto purged = Commit(*store, *term, 3, {Purge{old.finished_at + Duration(1), {}, 1'000}});
    EXPECT_EQ(Code(purged), "success") << purged.error().detail;
    const auto finished =
        Commit(*store, *term, 4,
               {ExecutionChange{Place::kLive, Place::kHistory, conformance::Finished(row)}});
    EXPECT_EQ(Code(finished), "success") << finished.error().detail;

    const auto rows = List(*store);
    ASSERT_TRUE(rows && rows->size() == 1) << "the old one is gone";
    EXPECT_EQ(rows->at(0).status, Status::kSuccess);
    EXPECT_NE(store->WhyFull().find("maxmemory"), std::string::npos) << store->WhyFull();

    MakeRoom();
    EXPECT_TRUE(Commit(*store, *term, 5, {SettingPut{"a", "1"}}));
    EXPECT_EQ(store->WhyFull(), "");
}

// A change that was decided before the store was known to be full is written: the node cannot take
// it back.
TEST_F(RedisFull, ABatchThatWasDecidedIsWrittenWhole) {
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    Fill();

    const auto done = Commit(*store, *term, 1, Insert(make.OneOff("e-1")));

    EXPECT_EQ(Code(done), "success") << done.error().detail;
    EXPECT_EQ(Code(Commit(*store, *term, 1, Insert(make.OneOff("e-1")))), "success") << "again";
    EXPECT_EQ(List(*store)->size(), 1u);
    EXPECT_NE(store->WhyFull(), "");
}

// The operator restarts the scheduler with a shorter retention. It must open, lead and purge.
TEST_F(RedisFull, ASchedulerThatIsRestartedLeadsAgain) {
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    ASSERT_TRUE(Commit(*store, *term, 1, Insert(make.OneOff("e-1"))));
    Fill();
    ASSERT_TRUE(Resign(*store, *term));

    const auto again = OpenStoreAt(server->url());
    ASSERT_TRUE(again);
    EXPECT_NE(again->WhyFull(), "") << "known before the first commit";
    const auto next = Acquire(*again, "node-b");
    ASSERT_TRUE(next) << next.error().detail;
    EXPECT_TRUE(Commit(*again, *next, 1, {}));
}

// Nobody commits any more, and memory was raised: schedulers notice by themselves.
TEST_F(RedisFull, RoomIsNoticedWithoutACommit) {
    Fill();
    const auto waiting = OpenStoreAt(server->url());
    ASSERT_NE(waiting->WhyFull(), "");
    MakeRoom();

    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!waiting->WhyFull().empty() && std::chrono::steady_clock::now() < end) {
        ASSERT_TRUE(Announce(*waiting, "node-a", Duration(60'000)));
    }
    EXPECT_EQ(waiting->WhyFull(), "");
}

// The operator hears of it while there is still something to be done.
TEST_F(RedisFull, MemoryThatRunsOutIsWarnedOf) {
    const std::string info = *server->Cli({"INFO", "memory"});
    const std::size_t at = info.find("used_memory:") + 12;
    const std::uint64_t used = std::stoull(info.substr(at));
    ASSERT_TRUE(server->Cli({"CONFIG", "SET", "maxmemory", std::to_string(used * 10 / 9)}));
    LogCapture log;

    const auto opened = OpenStoreAt(server->url());

    const std::vector<std::string> lines = log.lines();
    EXPECT_TRUE(std::ranges::any_of(lines,
                                    [](const std::string& line) {
                                        return line.find(" % of its maxmemory") !=
                                               std::string::npos;
                                    }))
        << lines.size() << (lines.empty() ? "" : lines.back());
    EXPECT_EQ(opened->WhyFull(), "");
}

}  // namespace
}  // namespace takt::internal::redis
