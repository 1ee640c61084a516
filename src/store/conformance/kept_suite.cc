// Records, which only the leader reads, and the audit.
#include "store/conformance/suite.h"

namespace takt::internal::conformance {
namespace {

using Ids = std::vector<std::string>;

Ids ShowRecords(const std::vector<RecordPut>& rows) {
    Ids texts;
    for (const RecordPut& row : rows) {
        texts.push_back(std::to_string(static_cast<int>(row.kind)) + " " + row.key.str() + "=" +
                        row.value.str());
    }
    return texts;
}

Ids AuditNewestFirst(Store& store, Serial before, std::size_t limit) {
    using Rows = std::vector<AuditRow>;
    const auto rows = Await<Rows>(
        [&](Done<Rows> d) { store.ReadAudit(kDefaultPartition, before, limit, std::move(d)); });
    EXPECT_TRUE(rows) << rows.error().detail;
    Ids texts;
    for (const AuditRow& row : rows.value_or(Rows{})) texts.push_back(Show(row));
    return texts;
}

std::size_t CountEvents(Store& store) {
    using Rows = std::vector<Event>;
    const auto rows = Await<Rows>(
        [&](Done<Rows> d) { store.ReadEvents(kDefaultPartition, 0, 1000, std::move(d)); });
    EXPECT_TRUE(rows) << rows.error().detail;
    return rows.value_or(Rows{}).size();
}

}  // namespace

// Locks are taken, given on and let go; a run's record has the same key as a lock.
TEST_P(StoreConformance, RecordsAreKeptByKindAndKeyUntilTheyAreDeleted) {
    const std::string hostile = std::string("'; --\" \\ \0\x01\xff%_", 14);
    Put({RecordPut{RecordKind::kLock, "b", "1"}, RecordPut{RecordKind::kRun, "a", "2"},
         RecordPut{RecordKind::kLock, "a", "3"},
         RecordPut{RecordKind::kLock, Text(hostile), Text(hostile)}});
    EXPECT_EQ(ShowRecords(LoadAll().records),
              (Ids{"1 " + hostile + "=" + hostile, "1 a=3", "1 b=1", "2 a=2"}));

    Put({RecordPut{RecordKind::kLock, "a", "4"}, RecordPut{RecordKind::kLock, "b", ""},
         RecordPut{RecordKind::kLock, "never-was", ""},
         RecordPut{RecordKind::kLock, Text(hostile), ""}});
    EXPECT_EQ(ShowRecords(LoadAll().records), (Ids{"1 a=4", "2 a=2"}));
    Crash();
    EXPECT_EQ(ShowRecords(LoadAll().records), (Ids{"1 a=4", "2 a=2"}));

    Put({RecordPut{RecordKind::kLock, "a", ""}});
    EXPECT_EQ(ShowRecords(LoadAll().records), Ids{"2 a=2"});
}

// A new leader takes over tens of thousands of locks and runs; a page must stay some megabytes.
TEST_P(StoreConformance, LoadPagesThroughAllRecordsBeforeExecutions) {
    const std::size_t count = GetParam().load_page_rows * 5 / 2;
    std::vector<Change> changes;
    Ids expected;
    for (std::size_t i = 0; i < count; ++i) {
        const auto kind = i % 2 == 0 ? RecordKind::kLock : RecordKind::kRun;
        const std::string key = "key-" + std::to_string(1'000'000 + i);
        changes.push_back(RecordPut{kind, Text(key), Text(std::to_string(i))});
    }
    for (const int parity : {0, 1}) {
        for (std::size_t i = static_cast<std::size_t>(parity); i < count; i += 2) {
            expected.push_back(std::to_string(parity + 1) + " key-" +
                               std::to_string(1'000'000 + i) + "=" + std::to_string(i));
        }
    }
    changes.push_back(TaskPut{make_.Recurring("t-1")});
    changes.push_back(ExecutionChange{Place::kNone, Place::kLive, make_.OneOff("e-1")});
    Put(std::move(changes));

    const Loaded all = LoadAll();

    EXPECT_GE(all.pages, 3u);
    EXPECT_EQ(ShowRecords(all.records), expected);
    EXPECT_EQ(all.tasks.size(), 1u);
    EXPECT_EQ(all.executions.size(), 1u);
}

// The progress of a run with tens of thousands of children.
TEST_P(StoreConformance, ARecordOfTheLargestSizeComesBackWhole) {
    std::string value(kRecordBytesMax, '\0');
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 31 + i / 251);

    Put({RecordPut{RecordKind::kRun, "large", Text(value)}});

    const Loaded all = LoadAll();
    ASSERT_EQ(all.records.size(), 1u);
    EXPECT_TRUE(all.records[0].value.view() == value);
}

// Somebody asks who changed this last week: the newest first, page by page.
TEST_P(StoreConformance, TheAuditIsReadFromTheNewestOn) {
    std::vector<Change> changes;
    std::vector<Serial> serials;
    Ids newest;
    for (int i = 0; i < 7; ++i) {
        const AuditRow row = make_.MakeAudit("{\"who\":\"" + std::to_string(i) + "\"}");
        changes.push_back(AuditAppend{row});
        serials.push_back(row.serial);
        newest.insert(newest.begin(), Show(row));
        make_.Pass(Duration(1000));
    }
    Put(std::move(changes));

    EXPECT_EQ(AuditNewestFirst(store(), 0, 100), newest);
    EXPECT_EQ(AuditNewestFirst(store(), 0, 3), Ids(newest.begin(), newest.begin() + 3));
    EXPECT_EQ(AuditNewestFirst(store(), serials[4], 3),
              Ids(newest.begin() + 3, newest.begin() + 6));
    EXPECT_EQ(AuditNewestFirst(store(), serials[0], 3), Ids{});
    Crash();
    EXPECT_EQ(AuditNewestFirst(store(), 0, 100), newest);
}

// The audit is kept for a year where events are kept for days; a flood of events takes none of it.
TEST_P(StoreConformance, TheAuditHasARetentionOfItsOwn) {
    std::vector<Change> changes;
    Ids newest;
    std::vector<Time> times;
    for (int i = 0; i < 6; ++i) {
        const AuditRow row = make_.MakeAudit(std::to_string(i));
        changes.push_back(AuditAppend{row});
        changes.push_back(EventAppend{make_.MakeEvent(EventType::kTaskCompleted)});
        times.push_back(make_.now());
        newest.insert(newest.begin(), Show(row));
        make_.Pass(Duration(60'000));
    }
    Put(std::move(changes));

    Put({Purge{.events_before = times[3], .count_max = 100}});
    EXPECT_EQ(AuditNewestFirst(store(), 0, 100), newest) << "no time given, nothing purged";
    EXPECT_EQ(CountEvents(store()), 3u);

    Put({Purge{.count_max = 2, .audit_before = times[5]}});
    EXPECT_EQ(AuditNewestFirst(store(), 0, 100), Ids(newest.begin(), newest.begin() + 4))
        << "the oldest, and no more than it may";
    EXPECT_EQ(CountEvents(store()), 3u);

    Put({Purge{.count_max = 100, .audit_before = times[5]}});
    EXPECT_EQ(AuditNewestFirst(store(), 0, 100), Ids(newest.begin(), newest.begin() + 1))
        << "the bound itself stays";
}

}  // namespace takt::internal::conformance
