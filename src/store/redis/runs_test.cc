// Runs and their children, records, the audit and partitions: what stands under which keys, and what
// goes with what.
#include <algorithm>
#include <set>

#include "store/redis/store_fixture.h"

namespace takt::internal::redis {
namespace {

class RedisRuns : public testing::Test {
  protected:
    void SetUp() override {
        const auto term = Acquire(*store, "node-a");
        ASSERT_TRUE(term) << term.error().detail;
        term_ = *term;
    }
    void Put(std::vector<Change> changes) {
        const Result<void> done = Commit(*store, term_, ++sequence_, std::move(changes));
        ASSERT_TRUE(done) << done.error().detail;
    }
    // A run, finished, and so many children of it, with a line of log each.
    Execution PutRun(const std::string& id, int children, const ExecutionId& parent = {}) {
        Execution run = make.Fire("flow", id);
        run.parent = parent;
        run = conformance::Finished(std::move(run));
        run.progress = "3/3";
        std::vector<Change> changes = {ExecutionChange{Place::kNone, Place::kHistory, run}};
        for (int i = 0; i < children; ++i) {
            const Execution child = ChildOf(run, id + "." + std::to_string(i));
            changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, child});
            changes.push_back(LogAppend{{.execution = child.id, .index = 1, .lines = "done\n"}});
            if (changes.size() < 900) continue;
            Put(std::exchange(changes, {}));
        }
        Put(std::move(changes));
        return run;
    }
    Execution ChildOf(const Execution& run, const std::string& id) {
        Execution child = make.Fire("flow", id);
        child.origin = Origin::kStep;
        child.parent = run.id;
        child.step = "load";
        child.worker = WorkerId("w-1");
        return conformance::Finished(std::move(child));
    }
    void PurgeAll(std::uint32_t count_max = 1000) {
        Put({Purge{.finished_before = make.now() + Duration(3'600'000), .count_max = count_max}});
    }
    std::set<std::string> KeysLike(const std::string& pattern) {
        std::set<std::string> keys;
        std::string text = *server->Cli({"KEYS", pattern});
        for (std::size_t end; (end = text.find('\n')) != std::string::npos;) {
            if (end > 0) keys.insert(text.substr(0, end));
            text.erase(0, end + 1);
        }
        return keys;
    }
    // All of a partition but what belongs to its term.
    std::set<std::string> RowKeys(Partition partition = 0) {
        const std::string tag = "{takt:" + std::to_string(partition) + "}:";
        std::set<std::string> keys = KeysLike(tag + "*");
        for (const char* name : {"fence", "lease"}) keys.erase(tag + name);
        return keys;
    }
    std::vector<std::string> Ids(const ExecutionFilter& filter) {
        const auto rows = List(*store, filter);
        EXPECT_TRUE(rows) << rows.error().detail;
        std::vector<std::string> ids;
        for (const Execution& row : *rows) ids.push_back(row.id.text().str());
        return ids;
    }
    // Commands that Redis has run, without those that only look at it or wrap others.
    std::uint64_t Commands() {
        std::string text = *server->Cli({"INFO", "commandstats"});
        std::uint64_t sum = 0;
        for (std::size_t at = 0; (at = text.find("cmdstat_", at)) != std::string::npos;) {
            const std::string name = text.substr(at + 8, text.find(':', at) - at - 8);
            at = text.find("calls=", at) + 6;
            if (name.starts_with("info") || name.starts_with("eval")) continue;
            if (name.starts_with("script") || name.starts_with("config")) continue;
            sum += std::stoull(text.substr(at));
        }
        return sum;
    }

    const std::unique_ptr<RedisServer> server = StartServer();
    const std::unique_ptr<Store> store = OpenStoreAt(server->url());
    RowMaker make;
    Term term_;
    std::uint64_t sequence_ = 0;
};

// A nightly run of 2,500 parts grows old. It goes in bounded portions, its parts before itself, and
// nothing of it stays; what is behind it waits for three purges and not for ever.
TEST_F(RedisRuns, ABigRunIsPurgedInPortionsAndLeavesNothing) {
    PutRun("r-1", 2500);
    Put({ExecutionChange{Place::kNone, Place::kHistory,
                         conformance::Finished(make.OneOff("e-9"))}});
    for (const std::size_t left : {1500u, 500u}) {
        PurgeAll();
        EXPECT_EQ(KeysLike("{takt:0}:lines:r-1.*").size(), left);
        EXPECT_EQ(Ids({}), (std::vector<std::string>{"e-9", "r-1"}));
        EXPECT_EQ(Ids({.parent = ExecutionId("r-1"), .limit = 1000}).size(),
                  std::min<std::size_t>(left, 1000));
    }
    PurgeAll();
    EXPECT_EQ(RowKeys(), std::set<std::string>{});
}

// A step of a run is a run itself.
TEST_F(RedisRuns, ARunInsideARunGoesWithTheOutermost) {
    const Execution outer = PutRun("outer", 1);
    PutRun("inner", 3, outer.id);
    PurgeAll(2);
    EXPECT_EQ(Ids({}), std::vector<std::string>{"outer"});
    EXPECT_EQ(Ids({.children = true}).size(), 4u);
    PurgeAll(3);
    EXPECT_EQ(Ids({.children = true}), std::vector<std::string>{"outer"});
    PurgeAll();
    EXPECT_EQ(RowKeys(), std::set<std::string>{});
}

// The parts of a run that is not over are needed by its later steps, however old they are.
TEST_F(RedisRuns, ChildrenOfALiveRunStay) {
    const Execution run = make.Fire("flow", "r-1");
    Put(Insert(run));
    Put({ExecutionChange{Place::kNone, Place::kHistory, ChildOf(run, "c-1")}});
    EXPECT_TRUE(KeysLike("{takt:0}:ended").empty());
    PurgeAll();
    EXPECT_EQ(Ids({.children = true}), (std::vector<std::string>{"c-1", "r-1"}));
    EXPECT_EQ(KeysLike("{takt:0}:x:*").size(), 2u);
}

// An operator runs an old run again in the very moment in which the retention would take it.
TEST_F(RedisRuns, ARunThatIsRunAgainIsNotPurgedByTheSameBatch) {
    const Execution run = PutRun("r-1", 2);
    Put({ExecutionChange{Place::kHistory, Place::kLive, conformance::Redriven(run)},
         Purge{.finished_before = make.now() + Duration(3'600'000)}});
    EXPECT_EQ(Ids({.children = true}), (std::vector<std::string>{"r-1.1", "r-1.0", "r-1"}));
    EXPECT_EQ(KeysLike("{takt:0}:x:*").size(), 3u);
    EXPECT_EQ(KeysLike("{takt:0}:lines:*").size(), 2u);
}

// Lists walk over the rows that they show: the parts of runs are in sets of their own.
TEST_F(RedisRuns, ChildrenAreListedByRunAndNowhereElseUnlessAskedFor) {
    PutRun("r-1", 3);
    Execution live = ChildOf(PutRun("r-2", 0), "r-2.live");
    live.status = Status::kRunning;
    live.finished_at = {};
    Put(Insert(live));
    EXPECT_EQ(Ids({}), (std::vector<std::string>{"r-2", "r-1"}));
    EXPECT_EQ(Ids({.task = TaskId("flow")}), (std::vector<std::string>{"r-2", "r-1"}));
    EXPECT_EQ(Ids({.worker = WorkerId("w-1")}), std::vector<std::string>{});
    EXPECT_EQ(Ids({.children = true, .worker = WorkerId("w-1")}).size(), 4u);
    EXPECT_EQ(Ids({.children = true, .task = TaskId("flow")}).size(), 6u);
    EXPECT_EQ(Ids({.parent = ExecutionId("r-1"), .limit = 2}),
              (std::vector<std::string>{"r-1.2", "r-1.1"}));
    EXPECT_EQ(Ids({.parent = ExecutionId("r-2"), .statuses = {Status::kRunning}}),
              std::vector<std::string>{"r-2.live"});
    EXPECT_EQ(Ids({.parent = ExecutionId("r-1"), .task = TaskId("other")}),
              std::vector<std::string>{});
    EXPECT_EQ(*server->Cli({"ZCARD", "{takt:0}:history:success"}), "2\n");
    EXPECT_EQ(*server->Cli({"ZCARD", "{takt:0}:children:r-1"}), "3\n");
}

// The progress of a run changes with each of its steps; a list that shows little does not have it.
TEST_F(RedisRuns, TheProgressOfARunIsPartOfWhatChanges) {
    Execution run = make.Fire("flow", "r-1");
    run.progress = "made";
    Put(Insert(run));
    EXPECT_EQ(List(*store)->at(0).progress.view(), "made");
    run = conformance::Running(conformance::Scheduled(std::move(run), "p7"));
    run.progress = Text(std::string("1/3\n p5 x\0y", 11));
    run.outcome = MakeOutcome(Reason::kTimeout, "late");
    Put({ExecutionChange{Place::kLive, Place::kLive, run}});
    EXPECT_EQ(Show(List(*store)->at(0)), Show(run));
    const auto brief = List(*store, {.brief = true});
    ASSERT_TRUE(brief->at(0).outcome);
    EXPECT_TRUE(brief->at(0).progress.empty());
    EXPECT_EQ(brief->at(0).worker.view(), "p7");
    EXPECT_EQ(brief->at(0).outcome->message.view(), "late");
    run.progress = {};
    Put({ExecutionChange{Place::kLive, Place::kLive, run}});
    EXPECT_EQ(Show(List(*store)->at(0)), Show(run));
}

// A namespace is deleted: nothing of it stays but its term, and others do not notice.
TEST_F(RedisRuns, ADroppedPartitionLeavesItsTermAlone) {
    PutRun("r-1", 2);
    const auto before = RowKeys();
    const auto term = Acquire(*store, "node-a", 7);
    ASSERT_TRUE(term);
    std::vector<Change> changes = {
        SettingPut{"a", "1"},
        TaskPut{make.Recurring("t-1")},
        WorkerPut{make.MakeWorker("w-1")},
        EventAppend{make.MakeEvent(EventType::kTaskStarted)},
        RecordPut{RecordKind::kLock, "gpu", "held"},
        AuditAppend{{.serial = 9, .at = make.now(), .body = "who"}},
        LogAppend{{.execution = ExecutionId("r-1"), .index = 1, .lines = "x\n"}}};
    const Execution run = make.Fire("flow", "r-1");
    changes.push_back(ExecutionChange{Place::kNone, Place::kLive, run});
    for (int i = 0; i < 1200; ++i) {
        const Execution child = ChildOf(run, "c-" + std::to_string(i));
        changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, child});
        if (changes.size() < 900) continue;
        ASSERT_TRUE(Commit(*store, *term, 1, std::exchange(changes, {})));
    }
    ASSERT_TRUE(Commit(*store, *term, 2, std::move(changes)));
    ASSERT_TRUE(Await<void>([&](Done<void> done) { store->Resign(*term, {}, std::move(done)); }));
    const auto drop = [&](Partition partition) {
        return Await<void>([&](Done<void> done) {
            store->DropPartition(partition, term->epoch, std::move(done));
        });
    };

    ASSERT_TRUE(drop(7));

    EXPECT_EQ(RowKeys(7), std::set<std::string>{});
    EXPECT_EQ(KeysLike("{takt:7}:fence").size(), 1u);
    EXPECT_EQ(RowKeys(), before);
    EXPECT_TRUE(drop(7)) << "again, and nothing is there";
    const auto next = Acquire(*store, "node-b", 7);
    ASSERT_TRUE(next) << next.error().detail;
    EXPECT_GT(next->epoch, term->epoch);
    EXPECT_EQ(Code(drop(0)), "invalid");
}

// A scheduler died after its term in a namespace had begun and before it was in the list of leaders,
// and nobody is to lead it any more: it is being deleted.
TEST_F(RedisRuns, APartitionWhoseLastTermIsNotInTheListIsDroppedTheNextTime) {
    const auto first = Acquire(*store, "node-a", 7);
    ASSERT_TRUE(first && Commit(*store, *first, 1, {SettingPut{"a", "1"}}));
    const std::string row = *server->Cli({"HGET", "{takt}:leaders", "7"});
    ASSERT_TRUE(Await<void>([&](Done<void> done) { store->Resign(*first, {}, std::move(done)); }));
    const auto second = Acquire(*store, "node-a", 7);
    ASSERT_TRUE(second);
    ASSERT_TRUE(server->Cli({"HSET", "{takt}:leaders", "7", row.substr(0, row.size() - 1)}));
    const auto drop = [&] {
        const std::uint64_t epoch = RowOf(Leaders(*store), 7)->epoch;
        return Await<void>(
            [&](Done<void> done) { store->DropPartition(7, epoch, std::move(done)); });
    };

    EXPECT_EQ(Code(drop()), "conflict");
    EXPECT_TRUE(RowOf(Leaders(*store), 7)->Is(*second));
    EXPECT_TRUE(drop());
    EXPECT_EQ(*server->Cli({"EXISTS", "{takt:7}:settings"}), "0\n");
}

// Old executions are run again: one is still at work when its first end grows old, one has ended anew,
// one has so within a commit. What counts is the last end of each.
TEST_F(RedisRuns, TheLastEndOfAnExecutionCounts) {
    std::vector<Execution> rows;
    for (const char* id : {"e-1", "e-2", "e-3", "e-4"}) {
        const Execution live = make.OneOff(id);
        Put(Insert(live));
        rows.push_back(conformance::Finished(conformance::Running(live)));
        rows.back().finished_at = make.now();
        Put({ExecutionChange{Place::kLive, Place::kHistory, rows.back()}});
    }
    const auto end_anew = [&](Execution row, Place before) {
        make.Pass(Duration(60'000));
        row = conformance::Finished(std::move(row));
        row.finished_at = make.now();
        Put({ExecutionChange{before, Place::kHistory, row}});
        return row.finished_at;
    };
    for (int i : {0, 1}) {
        Put({ExecutionChange{Place::kHistory, Place::kLive, conformance::Redriven(rows[i])}});
    }
    const Time second = end_anew(conformance::Redriven(rows[1]), Place::kLive);
    const Time third = end_anew(rows[2], Place::kHistory);
    const auto purge = [&](Time before) {
        Put({Purge{.finished_before = before, .count_max = 100}});
        std::set<std::string> ids;
        for (const Execution& row : *List(*store)) ids.insert(row.id.text().str());
        return ids;
    };
    using Left = std::set<std::string>;
    EXPECT_EQ(purge(second), (Left{"e-1", "e-2", "e-3"}));
    EXPECT_EQ(purge(third), (Left{"e-1", "e-3"}));
    EXPECT_EQ(purge(third + Duration(1)), Left{"e-1"});
    const Time first = end_anew(conformance::Redriven(rows[0]), Place::kLive);
    EXPECT_EQ(purge(first + Duration(1)), Left{});
    EXPECT_EQ(RowKeys(), std::set<std::string>{});
}

// A restore brings the history newest first. What is oldest goes first all the same, and one that is
// run again is not taken for old.
TEST_F(RedisRuns, WhatCameFinishedInAnyOrderIsPurgedByItsAge) {
    const Time now = make.now();
    std::vector<Execution> rows;
    for (int age : {1, 2, 3, 4}) {
        rows.push_back(conformance::Finished(make.OneOff("e-" + std::to_string(age))));
        rows.back().finished_at = now - Duration(age * 60'000);
        Put({ExecutionChange{Place::kNone, Place::kHistory, rows.back()}});
    }
    const auto purge = [&](int age, std::uint32_t count_max) {
        Put({Purge{.finished_before = now - Duration(age * 60'000), .count_max = count_max}});
        std::set<std::string> ids;
        for (const Execution& row : *List(*store)) ids.insert(row.id.text().str());
        return ids;
    };
    using Left = std::set<std::string>;
    EXPECT_EQ(purge(1, 1), (Left{"e-1", "e-2", "e-3"}));
    Put({ExecutionChange{Place::kHistory, Place::kLive, conformance::Redriven(rows[1])}});
    EXPECT_EQ(purge(1, 10), (Left{"e-1", "e-2"}));
    EXPECT_EQ(purge(0, 10), Left{"e-2"});
    Execution again = conformance::Finished(conformance::Redriven(rows[1]));
    again.finished_at = now;
    Put({ExecutionChange{Place::kLive, Place::kHistory, again}});
    EXPECT_EQ(purge(0, 10), Left{"e-2"});
    EXPECT_EQ(purge(-1, 10), Left{});
    EXPECT_EQ(RowKeys(), std::set<std::string>{});
}

// A line of output is no more than a line: most executions say a word or two.
TEST_F(RedisRuns, ALineOfOutputTakesLittle) {
    Put({LogAppend{{.execution = ExecutionId("e-1"), .index = 1, .lines = "one line\n"}}});
    const auto bytes = server->Cli({"MEMORY", "USAGE", "{takt:0}:lines:e-1"});
    ASSERT_TRUE(bytes) << bytes.error().detail;
    EXPECT_LT(std::stoi(*bytes), 300) << "a stream takes 4,700";
}

// What a plain execution costs, from its submit to its purge, in commands of Redis. Runs must not
// make it dearer.
TEST_F(RedisRuns, APlainExecutionCostsWhatItDidBeforeThereWereRuns) {
    Execution row = make.OneOff("e-1");
    const std::uint64_t begin = Commands();
    Put(Insert(row));
    row = conformance::Running(conformance::Scheduled(std::move(row), "w-1"));
    Put({ExecutionChange{Place::kLive, Place::kLive, row}});
    row = conformance::Finished(std::move(row));
    Put({ExecutionChange{Place::kLive, Place::kHistory, row}});
    const std::uint64_t finished = Commands();
    PurgeAll();
    const std::uint64_t purged = Commands();
    EXPECT_EQ(finished - begin, 18u) << "one of them looks when the last one ended";
    EXPECT_LE(purged - finished, 13u) << "one of them looks for what layout 3 left";
    EXPECT_EQ(RowKeys(), std::set<std::string>{});
}

}  // namespace
}  // namespace takt::internal::redis
