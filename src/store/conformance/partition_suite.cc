// Two namespaces in one database: neither sees, changes or deletes anything of the other.
#include "store/conformance/suite.h"

namespace takt::internal::conformance {
namespace {

using Ids = std::vector<std::string>;

constexpr Partition kOther = 7;

// Everything that two namespaces may have under equal names, told apart by what is in it.
std::vector<Change> RowsOf(RowMaker& make, std::string_view owner) {
    Execution live = make.OneOff("live");
    live.payload = Text(owner);
    Execution done = Finished(make.Fire("t-1", "done"));
    done.payload = Text(owner);
    Execution child = make.Child(live, "child");
    child.payload = Text(owner);
    Worker worker = make.MakeWorker("w-1");
    worker.name = Text(owner);
    Event event = make.MakeEvent(EventType::kTaskCompleted);
    event.detail = Text(owner);
    return {ExecutionChange{Place::kNone, Place::kLive, live},
            ExecutionChange{Place::kNone, Place::kHistory, done},
            ExecutionChange{Place::kNone, Place::kLive, child},
            TaskPut{make.Recurring("t-1", Text(owner))},
            WorkerPut{worker},
            SettingPut{"key", Text(owner)},
            RecordPut{RecordKind::kLock, "key", Text(owner)},
            LogAppend{LogChunk{done.id, 1, 1, make.now(), Text(std::string(owner) + "\n")}},
            EventAppend{event},
            AuditAppend{make.MakeAudit(owner)}};
}

template <typename T>
std::vector<T> ReadRows(const std::function<void(Done<std::vector<T>>)>& read) {
    auto rows = Await<std::vector<T>>(read);
    EXPECT_TRUE(rows) << rows.error().detail;
    return rows ? std::move(*rows) : std::vector<T>{};
}

// Things by the name of their owner.
struct Owned {
    Ids ids;

    void Add(std::string_view what, std::string_view owner) {
        ids.push_back(std::string(what) + " " + std::string(owner));
    }
};

void AddExecutions(Store& store, Partition partition, Owned& to) {
    const std::vector<ExecutionId> ids = {ExecutionId("live"), ExecutionId("done"),
                                          ExecutionId("child")};
    for (const auto& row : ReadRows<std::optional<Execution>>(
             [&](auto d) { store.FindExecutions(partition, ids, std::move(d)); })) {
        if (row) to.Add(row->id.view(), row->payload);
    }
    const auto list = [&](std::string_view what, const ExecutionFilter& filter) {
        for (const Execution& row :
             ReadRows<Execution>([&](auto d) { store.ListExecutions(filter, std::move(d)); })) {
            to.Add(what, row.payload);
        }
    };
    list("list", {.partition = partition, .children = true});
    list("of task", {.partition = partition, .task = TaskId("t-1")});
    list("of run", {.partition = partition, .parent = ExecutionId("live")});
}

void AddRows(Store& store, Partition partition, Owned& to) {
    const auto task = Await<TaskRow>(
        [&](Done<TaskRow> d) { store.FindTask(partition, TaskId("t-1"), std::move(d)); });
    if (task) to.Add("task", task->task->name);
    for (const auto& row : ReadRows<TaskRow>(
             [&](auto d) { store.ListTasks({.partition = partition}, std::move(d)); })) {
        to.Add("tasks", row.task->name);
    }
    for (const auto& row :
         ReadRows<Worker>([&](auto d) { store.ListWorkers(partition, std::move(d)); })) {
        to.Add("worker", row.name);
    }
    for (const auto& row :
         ReadRows<SettingPut>([&](auto d) { store.ListSettings(partition, "k", std::move(d)); })) {
        to.Add("setting", row.value);
    }
    for (const auto& row : ReadRows<LogChunk>(
             [&](auto d) { store.ReadLog(partition, ExecutionId("done"), 0, 10, std::move(d)); })) {
        to.Add("log", row.lines.view().substr(0, row.lines.size() - 1));
    }
    for (const auto& row :
         ReadRows<Event>([&](auto d) { store.ReadEvents(partition, 0, 10, std::move(d)); })) {
        to.Add("event", row.detail);
    }
    for (const auto& row :
         ReadRows<AuditRow>([&](auto d) { store.ReadAudit(partition, 0, 10, std::move(d)); })) {
        to.Add("audit", row.body);
    }
}

// All that a partition has; `all` is what LoadAll says of it.
Ids OwnersIn(Store& store, Partition partition, const Loaded& all) {
    Owned owned;
    AddExecutions(store, partition, owned);
    AddRows(store, partition, owned);
    for (const SettingPut& row : all.settings) owned.Add("loaded setting", row.value);
    for (const Worker& row : all.workers) owned.Add("loaded worker", row.name);
    for (const TaskRow& row : all.tasks) owned.Add("loaded task", row.task->name);
    for (const RecordPut& row : all.records) owned.Add("loaded record", row.value);
    for (const Execution& row : all.executions) owned.Add("loaded", row.payload);
    return owned.ids;
}

// All that RowsOf makes, as OwnersIn tells it.
Ids AllOf(const std::string& owner) {
    Ids owners;
    for (const char* what :
         {"live",          "done",   "child", "list",           "list",          "list",
          "of task",       "of run", "task",  "tasks",          "worker",        "setting",
          "log",           "event",  "audit", "loaded setting", "loaded worker", "loaded task",
          "loaded record", "loaded", "loaded"}) {
        owners.push_back(std::string(what) + " " + owner);
    }
    return owners;
}

}  // namespace

// Two teams that never heard of each other use the same ids, keys and names.
TEST_P(StoreConformance, PartitionsSeeNothingOfEachOther) {
    const auto owners = [&](Partition p) { return OwnersIn(store(), p, LoadAll(p)); };
    RowMaker other(kOther);
    Put(RowsOf(make_, "default"));
    PutIn(kOther, other, RowsOf(other, "other"));

    EXPECT_EQ(owners(kDefaultPartition), AllOf("default"));
    EXPECT_EQ(owners(kOther), AllOf("other"));
    Reopen();
    EXPECT_EQ(owners(kDefaultPartition), AllOf("default"));
    EXPECT_EQ(owners(kOther), AllOf("other"));
}

// One team deletes what it has, and its retention ends; the other keeps all of its own.
TEST_P(StoreConformance, PartitionsDeleteNothingOfEachOther) {
    const auto owners = [&](Partition p) { return OwnersIn(store(), p, LoadAll(p)); };
    RowMaker other(kOther);
    Put(RowsOf(make_, "default"));
    PutIn(kOther, other, RowsOf(other, "other"));
    const auto live = Find(ExecutionId("live"), kOther);
    const auto child = Find(ExecutionId("child"), kOther);
    ASSERT_TRUE(live && child);

    const Time late = make_.now() + Duration(3'600'000);
    PutIn(kOther, other,
          {ExecutionChange{Place::kLive, Place::kHistory, Finished(*live)},
           ExecutionChange{Place::kLive, Place::kHistory, Finished(*child)},
           TaskDelete{TaskId("t-1")}, WorkerDelete{WorkerId("w-1")}, SettingPut{"key", ""},
           RecordPut{RecordKind::kLock, "key", ""}});
    PutIn(kOther, other,
          {Purge{.finished_before = late,
                 .events_before = late,
                 .count_max = 100,
                 .audit_before = late}});

    EXPECT_EQ(owners(kOther), Ids{});
    EXPECT_EQ(owners(kDefaultPartition), AllOf("default"));
}

// A namespace was made a moment ago; somebody looks at it before it has a leader.
TEST_P(StoreConformance, PartitionsThatNobodyHasLedHaveNothingInThem) {
    const auto owners = [&](Partition p) { return OwnersIn(store(), p, LoadAll(p)); };
    Put(RowsOf(make_, "default"));

    EXPECT_EQ(owners(kOther), Ids{});
    EXPECT_EQ(LoadAll(kOther).last_serial, 0u);
    const auto task = Await<TaskRow>(
        [&](Done<TaskRow> d) { store().FindTask(kOther, TaskId("t-1"), std::move(d)); });
    ASSERT_FALSE(task);
    EXPECT_EQ(task.error().code, ErrorCode::kNotFound);
}

// A namespace is deleted, and later another one gets its number: nothing of the first may be seen in
// it, and no serial, id or token of the first may come again.
TEST_P(StoreConformance, PartitionsAreDroppedWholeButForTheirTerm) {
    const auto owners = [&](Partition p) { return OwnersIn(store(), p, LoadAll(p)); };
    RowMaker other(kOther);
    Put(RowsOf(make_, "default"));
    PutIn(kOther, other, RowsOf(other, "other"));
    const Serial last = LoadAll(kOther).last_serial;
    ASSERT_GT(last, 0u);
    const std::uint64_t epoch = term(kOther).epoch;
    const auto drop = [&](Partition partition) {
        return Await<void>(
            [&](Done<void> d) { store().DropPartition(partition, epoch, std::move(d)); });
    };
    ResignIn(kOther);

    const auto dropped = drop(kOther);
    ASSERT_TRUE(dropped) << dropped.error().detail;
    EXPECT_EQ(owners(kOther), Ids{});
    EXPECT_EQ(owners(kDefaultPartition), AllOf("default"));
    EXPECT_TRUE(drop(kOther)) << "an answer that was lost is asked for again";
    Reopen();
    EXPECT_EQ(owners(kOther), Ids{});
    EXPECT_EQ(LoadAll(kOther).last_serial, last);

    const auto after = Acquire("node-b", kLong, 0, kOther);
    ASSERT_TRUE(after) << after.error().detail;
    EXPECT_GT(after->epoch, epoch);
    RowMaker next(kOther);
    const auto used = Commit(*after, 1, RowsOf(next, "next"), last);
    ASSERT_TRUE(used) << used.error().detail;
    EXPECT_EQ(owners(kOther), AllOf("next"));

    // Somebody was to drop it too, was stopped before it began, and does not know of all this.
    const auto late = drop(kOther);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kConflict) << late.error().detail;
    EXPECT_EQ(owners(kOther), AllOf("next"));
    const auto goes_on = Commit(*after, 2, {SettingPut{"key", "on"}}, last);
    EXPECT_TRUE(goes_on) << goes_on.error().detail;
}

// A bug of the caller's must not cost everything that is stored.
TEST_P(StoreConformance, PartitionsOfTheDefaultNamespaceAreNeverDropped) {
    const auto owners = [&](Partition p) { return OwnersIn(store(), p, LoadAll(p)); };
    Put(RowsOf(make_, "default"));

    const auto dropped = Await<void>([&](Done<void> d) {
        store().DropPartition(kDefaultPartition, term().epoch, std::move(d));
    });

    ASSERT_FALSE(dropped);
    EXPECT_EQ(dropped.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(owners(kDefaultPartition), AllOf("default"));
}

}  // namespace takt::internal::conformance
