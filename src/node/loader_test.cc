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

}  // namespace
}  // namespace takt::internal
