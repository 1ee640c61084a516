// How a namespace that is being deleted goes.
#include "server/dissolution.h"

#include "base/log.h"
#include "server/driven_scheduler_testing.h"

namespace takt::internal {
namespace {

constexpr Partition kNumber = 1;
constexpr int kExecutions = 400;

// A directory with a namespace that is being deleted, and what waits in it.
void Fill(MemoryDatabase& database) {
    const NodeRow node{.node = NodeId("filler")};
    ASSERT_TRUE(database.Announce(node, 60s));
    const auto home = database.Acquire({.node = node.node});
    const auto own = database.Acquire({.partition = kNumber, .node = node.node});
    ASSERT_TRUE(home && own);
    Batch entry{.term = *home, .sequence = 1};
    entry.changes.emplace_back(SettingPut{Text(kDirectoryVersionKey), Text("1")});
    entry.changes.emplace_back(
        SettingOf({.name = "old", .number = kNumber, .id = 7, .state = NamespaceState::kDeleting}));
    ASSERT_TRUE(database.Commit(entry));
    Batch rows{.term = *own, .sequence = 1, .last_serial = kExecutions};
    for (int i = 1; i <= kExecutions; ++i) {
        const Text id("e-" + std::to_string(i));
        NewTaskPtr task(new Task);
        task->id = TaskId(id);
        task->type = "noop";
        Execution row;
        row.id = ExecutionId(id);
        row.serial = static_cast<Serial>(i);
        row.task = std::move(task);
        rows.changes.emplace_back(ExecutionChange{.row = std::move(row)});
    }
    ASSERT_TRUE(database.Commit(rows));
    ASSERT_TRUE(database.Announce(node, Duration(0)));
}

// A team is gone, and left fifty thousand executions that nobody runs. One commit for each would take a
// store that syncs minutes.
TEST(DissolutionTest, WhatWaitsIsEndedManyAtATime) {
    const LogCapture quiet;
    DrivenRuntime runtime;
    const auto database = std::make_shared<MemoryDatabase>(
        MemoryDatabase::Options{.clock = [&] { return runtime.Now().steady; }});
    Fill(*database);
    Asked asked;
    DrivenScheduler scheduler(runtime, database, "a", asked);
    const auto is_there = [&] {
        return !database->ListSettings(kDefaultPartition, Text(kNamespacePrefix))->empty();
    };
    for (int i = 0; i < 600 && is_there(); ++i) {
        runtime.Pass(100ms);
        scheduler.Poll();
    }

    EXPECT_FALSE(is_there());
    EXPECT_LT(asked["Commit"], kExecutions / 10);
    EXPECT_TRUE(database->ListExecutions({.partition = kNumber})->empty());
}

// The last leader of the namespace was frozen before it knew, with a commit on its way. The namespace
// is gone, and another one may have its number: nothing of the first may come into it.
TEST(DissolutionTest, WhatWasOnItsWayIntoANamespaceThatIsGoneDoesNotCome) {
    const LogCapture quiet;
    DrivenRuntime runtime;
    const auto database = std::make_shared<MemoryDatabase>(
        MemoryDatabase::Options{.clock = [&] { return runtime.Now().steady; }});
    const NodeRow node{.node = NodeId("frozen")};
    ASSERT_TRUE(database->Announce(node, 60s));
    const auto home = database->Acquire({.node = node.node});
    const auto own = database->Acquire({.partition = kNumber, .node = node.node});
    ASSERT_TRUE(home && own);
    Batch entry{.term = *home, .sequence = 1};
    entry.changes.emplace_back(SettingPut{Text(kDirectoryVersionKey), Text("1")});
    entry.changes.emplace_back(
        SettingOf({.name = "old", .number = kNumber, .id = 7, .state = NamespaceState::kEmpty}));
    ASSERT_TRUE(database->Commit(entry));
    ASSERT_TRUE(database->Commit({*own, 1, 0, {SettingPut{"a", "1"}}}));
    ASSERT_TRUE(database->Announce(node, Duration(0)));
    Asked asked;
    DrivenScheduler scheduler(runtime, database, "a", asked);
    const auto is_there = [&] {
        return !database->ListSettings(kDefaultPartition, Text(kNamespacePrefix))->empty();
    };
    for (int i = 0; i < 600 && is_there(); ++i) {
        runtime.Pass(100ms);
        scheduler.Poll();
    }
    ASSERT_FALSE(is_there());

    const auto late = database->Commit({*own, 2, 0, {SettingPut{"b", "1"}}});

    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
    EXPECT_TRUE(database->ListSettings(kNumber, {})->empty());
}

}  // namespace
}  // namespace takt::internal
