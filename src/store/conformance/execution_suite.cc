// Executions: every place a row can be in and every move between them, and what Load gives a
// leader.
#include "store/conformance/suite.h"

namespace takt::internal::conformance {

// A task is submitted, assigned, started, fails, is retried and succeeds. At every step a reader
// and a new leader see the row as it is.
TEST_P(StoreConformance, ALifeInManySteps) {
    Execution row = make_.OneOff("e-1");
    Insert(row);
    const auto step = [&](Execution next, Place after) {
        Put({ExecutionChange{Place::kLive, after, next}});
        row = std::move(next);
        const std::optional<Execution> found = Find(row.id);
        ASSERT_TRUE(found);
        EXPECT_EQ(Show(*found), Show(row));
        const Loaded all = LoadAll();
        ASSERT_EQ(all.executions.size(), after == Place::kLive ? 1u : 0u);
        if (after == Place::kLive) EXPECT_EQ(Show(all.executions[0]), Show(row));
        EXPECT_EQ(ListIds({}), std::vector<std::string>{"e-1"});
    };
    step(Scheduled(row, "w-1"), Place::kLive);
    step(Running(row), Place::kLive);
    step(Retrying(row), Place::kLive);
    step(Scheduled(row, "w-2"), Place::kLive);
    step(Finished(row), Place::kHistory);
}

// The fire of a recurring task: task and execution have different ids, the payload is its own.
TEST_P(StoreConformance, AFireKeepsItsTaskAndItsPayload) {
    const Execution row = make_.Fire("t-1", "e-1");
    Insert(row);
    EXPECT_EQ(Show(*Find(row.id)), Show(row));
    ASSERT_EQ(LoadAll().executions.size(), 1u);
    EXPECT_EQ(Show(LoadAll().executions[0]), Show(row));

    const Execution done = Finished(Scheduled(row, "w-1"), Status::kFailed);
    Put({ExecutionChange{Place::kLive, Place::kHistory, done}});

    EXPECT_EQ(Show(*Find(row.id)), Show(done));
}

// Fires that a skip policy drops are finished as soon as they exist.
TEST_P(StoreConformance, AFinishedExecutionCanBeInsertedAtOnce) {
    Execution row = Finished(make_.Fire("t-1", "e-1"), Status::kSkipped);

    Put({ExecutionChange{Place::kNone, Place::kHistory, row}});

    EXPECT_EQ(Show(*Find(row.id)), Show(row));
    EXPECT_TRUE(LoadAll().executions.empty());
    EXPECT_EQ(ListIds({.statuses = {Status::kSkipped}}), std::vector<std::string>{"e-1"});
}

// An operator re-drives a dead execution, it fails again and is re-driven once more.
TEST_P(StoreConformance, AFinishedExecutionCanBeRedriven) {
    const Execution row = make_.OneOff("e-1");
    Insert(row);
    for (int i = 0; i < 2; ++i) {
        const Execution dead = Finished(Scheduled(row, "w-1"), Status::kFailed);
        Put({ExecutionChange{Place::kLive, Place::kHistory, dead}});
        EXPECT_EQ(ListIds({.statuses = {Status::kFailed}}).size(), 1u);

        const Execution again = Redriven(dead);
        Put({ExecutionChange{Place::kHistory, Place::kLive, again}});

        EXPECT_EQ(Show(*Find(row.id)), Show(again));
        EXPECT_TRUE(ListIds({.statuses = {Status::kFailed}}).empty());
        EXPECT_TRUE(ListIds({.worker = WorkerId("w-1")}).empty());
        EXPECT_EQ(ListIds({}).size(), 1u);
        ASSERT_EQ(LoadAll().executions.size(), 1u);
        EXPECT_EQ(Show(LoadAll().executions[0]), Show(again));
    }
}

// An execution without any option, result or worker: what is absent stays absent.
TEST_P(StoreConformance, AnEmptyRowComesBackEmpty) {
    boost::intrusive_ptr<Task> task(new Task);
    task->id = TaskId("e-1");
    task->queue = "default";
    Execution row = make_.OneOff("e-1");
    row.task = task;
    row.ready_at = {};
    row.scheduled_at = {};
    Insert(row);

    const std::optional<Execution> found = Find(row.id);

    ASSERT_TRUE(found);
    EXPECT_EQ(Show(*found), Show(row));
    EXPECT_FALSE(found->outcome);
    EXPECT_TRUE(found->worker.empty());
}

// The API asks for several executions at once; some exist, some do not.
TEST_P(StoreConformance, FindAnswersInTheOrderOfTheIds) {
    const Execution live = make_.OneOff("live");
    const Execution done = Finished(make_.OneOff("done"));
    Put({ExecutionChange{Place::kNone, Place::kLive, live},
         ExecutionChange{Place::kNone, Place::kHistory, done}});
    using Rows = std::vector<std::optional<Execution>>;

    const auto found = Await<Rows>([&](Done<Rows> d) {
        store().FindExecutions(
            kDefaultPartition,
            {ExecutionId("absent"), done.id, live.id, ExecutionId("LIVE"), done.id}, std::move(d));
    });

    ASSERT_TRUE(found) << found.error().detail;
    ASSERT_EQ(found->size(), 5u);
    EXPECT_FALSE(found->at(0));
    EXPECT_EQ(Show(*found->at(1)), Show(done));
    EXPECT_EQ(Show(*found->at(2)), Show(live));
    EXPECT_FALSE(found->at(3)) << "ids are told apart by case";
    EXPECT_TRUE(found->at(4));
    const auto none = Await<Rows>(
        [&](Done<Rows> d) { store().FindExecutions(kDefaultPartition, {}, std::move(d)); });
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->empty());
}

// A new leader takes over with more live executions than fit into one page.
TEST_P(StoreConformance, LoadPagesThroughAllLiveExecutionsInOrder) {
    const std::size_t count = GetParam().load_page_rows * 5 / 2;
    std::vector<Change> changes;
    std::vector<Serial> serials;
    for (std::size_t i = 0; i < count; ++i) {
        const Execution row = i % 3 == 0 ? make_.Fire("t-1", "e-" + std::to_string(i))
                                         : make_.OneOff("e-" + std::to_string(i));
        changes.push_back(ExecutionChange{Place::kNone, Place::kLive, row});
        serials.push_back(row.serial);
    }
    changes.push_back(
        ExecutionChange{Place::kNone, Place::kHistory, Finished(make_.OneOff("old"))});
    changes.push_back(TaskPut{make_.Recurring("t-1")});
    changes.push_back(WorkerPut{make_.MakeWorker("w-1")});
    changes.push_back(SettingPut{"key", "value"});
    Put(std::move(changes));

    const Loaded all = LoadAll();

    EXPECT_GE(all.pages, 3u);
    EXPECT_EQ(all.last_serial, make_.last_serial());
    std::vector<Serial> loaded;
    for (const Execution& row : all.executions) loaded.push_back(row.serial);
    EXPECT_EQ(loaded, serials);
    EXPECT_EQ(all.settings.size(), 1u);
    EXPECT_EQ(all.workers.size(), 1u);
    EXPECT_EQ(all.tasks.size(), 1u);
}

// A full page is also the last one: the next leader must not wait for a page that never comes.
TEST_P(StoreConformance, LoadEndsAlsoWhenTheRowsFillThePageExactly) {
    std::vector<Change> changes;
    for (std::size_t i = 0; i < GetParam().load_page_rows; ++i) {
        changes.push_back(
            ExecutionChange{Place::kNone, Place::kLive, make_.OneOff("e-" + std::to_string(i))});
    }
    Put(std::move(changes));

    EXPECT_EQ(LoadAll().executions.size(), GetParam().load_page_rows);
}

// Most came in one moment and fill their pages but for one row; the next came long afterwards.
TEST_P(StoreConformance, LoadGoesOnBehindABurstThatLeavesRoomForOneMoreRow) {
    const std::size_t burst = 2 * GetParam().load_page_rows - 1;
    std::vector<Change> changes;
    const auto add = [&](const std::string& id) {
        changes.push_back(ExecutionChange{Place::kNone, Place::kLive, make_.OneOff(id)});
    };
    for (std::size_t i = 0; i < burst; ++i) add("e-" + std::to_string(i));
    make_.Pass(Duration(std::chrono::days(30)));
    add("late");
    make_.Pass(Duration(std::chrono::days(30)));
    add("later");
    Put(std::move(changes));

    EXPECT_EQ(LoadAll().executions.size(), burst + 2);
}

// A row was damaged on disk, or written by a newer version that was rolled back. The leader must
// come up all the same, and the operator must see which execution it is.
TEST_P(StoreConformance, AnUndecodableRowIsShownAndStopsNothing) {
    if (!GetParam().encodes)
        return;  // The backend keeps rows as they are: there is nothing to spoil.
    const Execution good = make_.OneOff("good");
    const Execution bad = make_.OneOff("bad");
    const Execution last = make_.OneOff("last");
    Put({ExecutionChange{Place::kNone, Place::kLive, good},
         ExecutionChange{Place::kNone, Place::kLive, bad},
         ExecutionChange{Place::kNone, Place::kLive, last}});

    const Result<void> spoilt = database().Spoil(bad);
    ASSERT_TRUE(spoilt) << spoilt.error().detail;

    const Loaded all = LoadAll();
    ASSERT_EQ(all.executions.size(), 3u);
    const auto is_shown = [&](const Execution& row) {
        EXPECT_EQ(row.id, bad.id);
        EXPECT_EQ(row.serial, bad.serial);
        EXPECT_EQ(row.status, Status::kFailed);
        ASSERT_TRUE(row.task);
        ASSERT_TRUE(row.outcome);
        EXPECT_EQ(row.outcome->reason, Reason::kUndecodable);
        EXPECT_FALSE(row.outcome->message.empty());
    };
    EXPECT_EQ(Show(all.executions[0]), Show(good));
    is_shown(all.executions[1]);
    EXPECT_EQ(Show(all.executions[2]), Show(last));
    ASSERT_TRUE(Find(bad.id));
    is_shown(*Find(bad.id));
    EXPECT_EQ(ListIds({}), (std::vector<std::string>{"last", "bad", "good"}));

    // The leader ends it, as it ends whatever it cannot run, and it stays for its time.
    Execution ended = *Find(bad.id);
    ended.finished_at = make_.now() + Duration(1);
    Put({ExecutionChange{Place::kLive, Place::kHistory, ended}});
    EXPECT_EQ(LoadAll().executions.size(), 2u);
    is_shown(*Find(bad.id));
    Put({Purge{.finished_before = make_.now(), .events_before = make_.now()}});
    ASSERT_TRUE(Find(bad.id));
    is_shown(*Find(bad.id));
}

}  // namespace takt::internal::conformance
