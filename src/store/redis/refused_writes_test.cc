// A server that refuses writes and still answers reads: it has lost its replicas, or was made one.
#include "store/redis/store_fixture.h"

namespace takt::internal::redis {
namespace {

Result<std::vector<NodeRow>> Nodes(Store& store) {
    using Rows = std::vector<NodeRow>;
    return Await<Rows>([&](Done<Rows> done) { store.Nodes(std::move(done)); });
}

class RedisRefusedWrites : public ::testing::TestWithParam<std::vector<std::string>> {
  protected:
    const std::unique_ptr<RedisServer> server = StartServer();
    const std::unique_ptr<Store> store = OpenStoreAt(server->url());
};

// The schedulers cannot renew, their rows run out, and just then they and the console want to know
// how things stand.
TEST_P(RedisRefusedWrites, EveryReadIsAnswered) {
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    ASSERT_TRUE(Commit(*store, *term, 1, Insert(make.OneOff("e-1"))));
    ASSERT_TRUE(Announce(*store, "node-a", Duration(3'600'000)));
    ASSERT_TRUE(Announce(*store, "node-b", Duration(500)));
    ASSERT_TRUE(server->Cli(GetParam()));
    ASSERT_TRUE(server->CliUntil({"EXISTS", "{takt}:node:node-b"}, "0"));
    ASSERT_EQ(Code(Announce(*store, "node-b", Duration(1'000))), "unavailable");

    const auto nodes = Nodes(*store);
    const auto leaders = Await<std::vector<LeaderRow>>(
        [&](Done<std::vector<LeaderRow>> done) { store->Leaders(std::move(done)); });
    const auto page =
        Await<LoadPage>([&](Done<LoadPage> done) { store->Load(0, "", std::move(done)); });
    const auto tasks = Await<std::vector<TaskRow>>(
        [&](Done<std::vector<TaskRow>> done) { store->ListTasks({}, std::move(done)); });
    const auto settings = Await<std::vector<SettingPut>>([&](Done<std::vector<SettingPut>> done) {
        store->ListSettings(kDefaultPartition, Text("alert"), std::move(done));
    });
    const auto workers = Await<std::vector<Worker>>([&](Done<std::vector<Worker>> done) {
        store->ListWorkers(kDefaultPartition, std::move(done));
    });
    const auto events = Await<std::vector<Event>>([&](Done<std::vector<Event>> done) {
        store->ReadEvents(kDefaultPartition, 0, 10, std::move(done));
    });
    const auto log = Await<std::vector<LogChunk>>([&](Done<std::vector<LogChunk>> done) {
        store->ReadLog(kDefaultPartition, ExecutionId("e-1"), 0, 10, std::move(done));
    });

    ASSERT_TRUE(nodes) << nodes.error().detail;
    ASSERT_EQ(nodes->size(), 1u) << "only who is alive";
    EXPECT_EQ(nodes->front().node.view(), "node-a");
    EXPECT_TRUE(leaders && LeaderOf(*leaders, 0));
    EXPECT_TRUE(page && page->executions.size() == 1);
    EXPECT_TRUE(List(*store)->size() == 1);
    EXPECT_TRUE(tasks && settings && workers && events && log);
}

INSTANTIATE_TEST_SUITE_P(
    , RedisRefusedWrites,
    ::testing::Values(std::vector<std::string>{"CONFIG", "SET", "min-replicas-to-write", "1"},
                      std::vector<std::string>{"REPLICAOF", "127.0.0.1", "1"}),
    [](const auto& info) { return info.index == 0 ? "WithoutReplicas" : "AsAReplica"; });

// Every deployment leaves the names of its containers behind.
TEST(RedisStoreNodes, WhoAnnouncesItselfTakesOutWhoIsGone) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    ASSERT_TRUE(Announce(*store, "node-a", Duration(500)));
    ASSERT_TRUE(server->CliUntil({"EXISTS", "{takt}:node:node-a"}, "0"));

    ASSERT_TRUE(Announce(*store, "node-b", Duration(3'600'000)));

    EXPECT_EQ(*server->Cli({"SMEMBERS", "{takt}:nodes"}), "node-b\n");
}

}  // namespace
}  // namespace takt::internal::redis
