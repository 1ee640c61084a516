// How much of what is stored a list looks at.
#include <regex>

#include "store/redis/store_fixture.h"

namespace takt::internal::redis {
namespace {

class RedisListTest : public testing::Test {
  protected:
    // How often Redis has run a command.
    std::uint64_t Calls(const std::string& command) {
        const std::string text = *server->Cli({"INFO", "commandstats"});
        const std::regex line("cmdstat_" + command + ":calls=([0-9]+)");
        std::smatch found;
        return std::regex_search(text, found, line) ? std::stoull(found[1]) : 0;
    }

    const std::unique_ptr<RedisServer> server = StartServer();
    const std::unique_ptr<Store> store = OpenStoreAt(server->url());
    RowMaker make;
};

// A task that ran thousands of times and failed twice; somebody asks for the failures.
TEST_F(RedisListTest, WhatIsRareInATaskIsFoundWithoutLookingAtAllItsRows) {
    const auto term = Acquire(*store, "node");
    ASSERT_TRUE(term);
    std::vector<Change> changes;
    for (int i = 0; i < 900; ++i) {
        Execution row = conformance::Finished(make.Fire("often", "e-" + std::to_string(i)));
        row.worker = WorkerId("w-1");
        if (i == 100 || i == 700) row.status = Status::kFailed;
        changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
    }
    ASSERT_TRUE(Commit(*store, *term, 1, changes));
    for (const bool by_task : {true, false}) {
        ExecutionFilter filter{.statuses = {Status::kFailed}};
        if (by_task) {
            filter.task = TaskId("often");
        } else {
            filter.worker = WorkerId("w-1");
        }
        const std::uint64_t before = Calls("mget");

        const auto rows = List(*store, filter);

        ASSERT_TRUE(rows) << rows.error().detail;
        ASSERT_EQ(rows->size(), 2u);
        EXPECT_EQ((*rows)[0].id.view(), "e-700");
        EXPECT_EQ((*rows)[1].id.view(), "e-100");
        // Those two, as rows and, of a worker, once more to see whose they are; and the task's own.
        EXPECT_LE(Calls("mget") - before, 4u);
    }
}

// The parts of runs stand in sets of their own, also by status.
TEST_F(RedisListTest, WhatFailedOfATaskIsFoundAmongThePartsOfRunsToo) {
    const auto term = Acquire(*store, "node");
    ASSERT_TRUE(term);
    const Execution run = conformance::Finished(make.Fire("flow", "run"));
    std::vector<Change> changes = {ExecutionChange{Place::kNone, Place::kHistory, run}};
    for (const char* id : {"good", "bad"}) {
        Execution part = conformance::Finished(make.Fire("flow", id));
        part.parent = run.id;
        part.step = "load";
        part.origin = Origin::kStep;
        part.status = id == std::string("bad") ? Status::kFailed : Status::kSuccess;
        changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, part});
    }
    ASSERT_TRUE(Commit(*store, *term, 1, changes));

    ExecutionFilter filter{.task = TaskId("flow"), .statuses = {Status::kFailed}};
    EXPECT_EQ(List(*store, filter)->size(), 0u);
    filter.children = true;
    const auto parts = List(*store, filter);
    ASSERT_EQ(parts->size(), 1u);
    EXPECT_EQ(parts->front().id.view(), "bad");
    filter.statuses = {Status::kSuccess, Status::kFailed};
    EXPECT_EQ(List(*store, filter)->size(), 3u);
}

}  // namespace
}  // namespace takt::internal::redis
