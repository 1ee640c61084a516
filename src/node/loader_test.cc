// Loader: what a term begins with.
#include "node/loader.h"

#include <gmock/gmock.h>

#include "base/log.h"
#include "node/driven.h"
#include "node/node.h"
#include "store/unfinished_copy.h"

namespace takt::internal {
namespace {

// An operator's copy was cut off, and a scheduler that waited for the store goes for the lead.
TEST(LoaderTest, NobodyLeadsWhereACopyWasNotFinished) {
    const LogCapture quiet;
    DrivenRuntime runtime;
    DrivenStore store;
    NodeConfig config;
    config.leadership.node = NodeId("a");
    Node node(runtime, store, config, SeedOf(1), nullptr);
    node.Start();
    runtime.Run();
    store.GiveTerm(7, 99);
    runtime.Run();
    LoadPage half;
    half.settings.push_back({.key = Text(kUnfinishedCopyKey), .value = "500 archive x"});
    DrivenStore::Reply(store.loads, Result<LoadPage>(std::move(half)));
    runtime.Run();
    EXPECT_EQ(node.status().role, Role::kFollower);
    ASSERT_EQ(store.resigns.size(), 1u);
    store.rows.clear();
    DrivenStore::Reply(store.resigns, Result<void>());
    runtime.Pass(1s);
    EXPECT_THAT(node.status().trouble, testing::HasSubstr("was not finished"));
}

// Somebody empties Redis under a leader, which is elected again and finds nothing. Nobody else can
// tell what is gone.
TEST(LoaderTest, ALeaderSaysThatTheStoreHasLostWhatItHadWritten) {
    const LogCapture log;
    DrivenRuntime runtime;
    DrivenStore store;
    NodeConfig config;
    config.leadership.node = NodeId("a");
    Node node(runtime, store, config, SeedOf(1), nullptr);
    const auto lead = [&](std::uint64_t epoch) {
        store.GiveTerm(epoch, epoch);
        runtime.Run();
        DrivenStore::Reply(store.loads, Result<LoadPage>(LoadPage{}));
        runtime.Run();
    };
    node.Start();
    runtime.Run();
    lead(7);
    auto task = NewTaskPtr(new Task);
    task->type = "work";
    task->queue = "default";
    node.Ask(Submit{0, task}, [](const Result<Answer>& answer) { EXPECT_TRUE(answer); });
    runtime.Run();
    while (!store.commits.empty()) {
        DrivenStore::Reply(store.commits, Result<void>());
        runtime.Run();
    }
    EXPECT_EQ(node.status().lost, "");
    store.rows.clear();
    runtime.Pass(3s);
    store.commits.clear();
    lead(8);
    runtime.Pass(1s);
    EXPECT_EQ(node.status().role, Role::kLeader);
    EXPECT_THAT(node.status().lost,
                testing::AllOf(testing::HasSubstr("the store is empty"),
                               testing::HasSubstr("(1 executions were live then)")));
    EXPECT_EQ(node.status().trouble, "");
    EXPECT_THAT(log.lines(), testing::Contains(testing::HasSubstr("the store is empty")));
}

// The one that led is gone together with what it had written; a scheduler that followed it tells.
TEST(LoaderTest, AFollowerSaysThatTheStoreHasLostATerm) {
    const LogCapture log;
    DrivenRuntime runtime;
    DrivenStore store;
    NodeConfig config;
    config.leadership.node = NodeId("a");
    Node node(runtime, store, config, SeedOf(1), nullptr);
    store.rows = {{0, NodeId("b"), "http://b", 12, 1}};
    node.Start();
    runtime.Pass(2s);
    EXPECT_EQ(node.status().lost, "");
    store.rows.clear();
    runtime.Pass(2s);

    EXPECT_THAT(node.status().lost, testing::HasSubstr("the store knows of no term, though term 12 "
                                                       "was read there: it was emptied"));
    EXPECT_THAT(log.lines(), testing::Contains(testing::HasSubstr("the store knows of no term")));
}

}  // namespace
}  // namespace takt::internal
