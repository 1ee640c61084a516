// Runs and their children, records, the audit and partitions: what stands under which keys, and what
// goes with what.
#include <algorithm>
#include <set>

#include "store/etcd/keys.h"
#include "store/etcd/store_fixture.h"

namespace takt::internal::etcd {
namespace {

using conformance::Show;
using Ids = std::vector<std::string>;

class EtcdRuns : public EtcdLeaderTest {
  protected:
    // A run, finished, and so many children of it, with a line of log each.
    Execution PutRun(const std::string& id, int children, const ExecutionId& parent = {}) {
        Execution run = make_.Fire("flow", id);
        run.parent = parent;
        run = conformance::Finished(std::move(run));
        run.progress = "3/3";
        std::vector<Change> changes = {ExecutionChange{Place::kNone, Place::kHistory, run}};
        for (int i = 0; i < children; ++i) {
            const Execution child = ChildOf(run, id + "." + std::to_string(i));
            changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, child});
            changes.push_back(LogAppend{{.execution = child.id, .index = 1, .lines = "done\n"}});
            if (changes.size() < 110) continue;
            Put(std::exchange(changes, {}));
        }
        Put(std::move(changes));
        return run;
    }
    Execution ChildOf(const Execution& run, const std::string& id) {
        Execution child = make_.Fire("flow", id);
        child.origin = Origin::kStep;
        child.parent = run.id;
        child.step = "load";
        return conformance::Finished(std::move(child));
    }
    void PurgeAll(std::uint32_t count_max = 1000) {
        Put({Purge{.finished_before = make_.now() + Duration(3'600'000), .count_max = count_max}});
    }
    std::set<std::string> KeyNamesUnder(const std::string& prefix) {
        std::set<std::string> keys;
        std::string text = *server_->Ctl({"get", "--prefix", "--keys-only", prefix});
        for (std::size_t end; (end = text.find('\n')) != std::string::npos;) {
            if (end > 0) keys.insert(text.substr(0, end));
            text.erase(0, end + 1);
        }
        return keys;
    }
    // All but what belongs to the term and the installation.
    std::set<std::string> RowKeys() {
        std::set<std::string> keys = KeyNamesUnder("/takt/");
        std::erase_if(keys, [](const std::string& key) {
            return key == "/takt/layout" || key.starts_with("/takt/partitions/") ||
                   key.starts_with("/takt/nodes/") || key.starts_with("/takt/leaders/") ||
                   LastPart(key) == "epoch" || LastPart(key) == "sequence" ||
                   LastPart(key) == "last_serial";
        });
        return keys;
    }
    Ids ListIds(const ExecutionFilter& filter) {
        const auto rows = List(filter);
        EXPECT_TRUE(rows) << rows.error().detail;
        Ids ids;
        for (const Execution& row : *rows) ids.push_back(row.id.text().str());
        return ids;
    }
};

// A nightly run of 1,500 parts grows old. It goes in bounded portions, its parts before itself, and
// nothing of it stays; what is behind it waits for three purges and not for ever.
TEST_F(EtcdRuns, ABigRunIsPurgedInPortionsAndLeavesNothing) {
    PutRun("r-1", 1500);
    Put({ExecutionChange{Place::kNone, Place::kHistory,
                         conformance::Finished(make_.OneOff("e-9"))}});
    for (const std::size_t left : {800u, 100u}) {
        PurgeAll();
        EXPECT_EQ(KeyNamesUnder("/takt/logs/r-1.").size(), left);
        EXPECT_EQ(KeyNamesUnder("/takt/0/runs/r-1/children/").size(), left);
        EXPECT_EQ(ListIds({}), (Ids{"e-9", "r-1"}));
        EXPECT_EQ(ListIds({.parent = ExecutionId("r-1"), .limit = 1000}).size(), left);
    }
    PurgeAll();
    EXPECT_EQ(RowKeys(), std::set<std::string>{});
}

// A step of a run is a run itself.
TEST_F(EtcdRuns, ARunInsideARunGoesWithTheOutermost) {
    const Execution outer = PutRun("outer", 1);
    PutRun("inner", 3, outer.id);
    PurgeAll(2);
    EXPECT_EQ(ListIds({}), Ids{"outer"});
    EXPECT_EQ(ListIds({.children = true}).size(), 4u);
    PurgeAll(3);
    EXPECT_EQ(ListIds({.children = true}), Ids{"outer"});
    PurgeAll();
    EXPECT_EQ(RowKeys(), std::set<std::string>{});
}

// The parts of a run that is not over are needed by its later steps, however old they are. Nobody
// looks at their packs: they are not among those of the retention.
TEST_F(EtcdRuns, ChildrenOfALiveRunStay) {
    const Execution run = make_.Fire("flow", "r-1");
    Put({ExecutionChange{Place::kNone, Place::kLive, run}});
    Put({ExecutionChange{Place::kNone, Place::kHistory, ChildOf(run, "c-1")}});
    EXPECT_TRUE(KeyNamesUnder("/takt/0/packs/").empty());
    PurgeAll();
    EXPECT_EQ(ListIds({.children = true}), (Ids{"c-1", "r-1"}));
}

// A child of a generated id, which has no key of its own, and one of a chosen id are both found,
// while they are live and afterwards.
TEST_F(EtcdRuns, ChildrenAreFoundByTheirIds) {
    const Execution run = PutRun("r-1", 0);
    Execution generated = ChildOf(run, "x");
    generated.id = ExecutionId(Text(SerialText(generated.serial)));
    const Execution chosen = ChildOf(run, "mine");
    using Found = std::vector<std::optional<Execution>>;
    const auto find = [&] {
        const auto found = Await<Found>([&](Done<Found> done) {
            store_->FindExecutions(kDefaultPartition, {generated.id, chosen.id, run.id},
                                   std::move(done));
        });
        Ids texts;
        for (const auto& row : *found) texts.push_back(row ? Show(*row) : "none");
        return texts;
    };
    std::vector<Change> changes;
    Ids live, done;
    for (const Execution& row : {generated, chosen}) {
        Execution begun = row;
        begun.status = Status::kRunning;
        begun.finished_at = {};
        begun.outcome = nullptr;
        Put({ExecutionChange{Place::kNone, Place::kLive, begun}});
        changes.push_back(ExecutionChange{Place::kLive, Place::kHistory, row});
        live.push_back(Show(begun));
        done.push_back(Show(row));
    }
    for (Ids* texts : {&live, &done}) texts->push_back(Show(run));
    EXPECT_EQ(find(), live);
    Put(std::move(changes));
    EXPECT_EQ(find(), done);
}

// A payload of a part that is kept apart goes with it.
TEST_F(EtcdRuns, LargePayloadsOfChildrenGoWithThem) {
    const Execution run = PutRun("r-1", 0);
    Execution child = ChildOf(run, "c-1");
    child.payload = Text(std::string(100'000, 'x'));
    Put({ExecutionChange{Place::kNone, Place::kHistory, child}});
    EXPECT_EQ(Show(List({.parent = run.id})->at(0)), Show(child));
    PurgeAll();
    EXPECT_EQ(RowKeys(), std::set<std::string>{});
}

// The audit has been kept for a year, and now for a day: the oldest rows go first.
TEST_F(EtcdRuns, TheOldestRowsOfTheAuditGoFirst) {
    std::vector<Change> changes;
    for (int i = 1; i <= 100; ++i) {
        changes.push_back(AuditAppend{
            {.serial = SerialAt(make_.now() + Duration(i)), .at = make_.now(), .body = "x"}});
    }
    Put(std::move(changes));
    const auto purge = [&](int until, std::uint32_t count_max) {
        Purge change{.count_max = count_max};
        change.audit_before = make_.now() + Duration(until);
        Put({change});
        const auto rows = Await<std::vector<AuditRow>>([&](Done<std::vector<AuditRow>> done) {
            store_->ReadAudit(kDefaultPartition, 0, 1000, std::move(done));
        });
        return std::pair(rows->size(), rows->empty() ? 0 : rows->back().serial);
    };
    EXPECT_EQ(purge(91, 30), std::pair(std::size_t{70}, SerialAt(make_.now() + Duration(31))));
    EXPECT_EQ(purge(91, 60), std::pair(std::size_t{10}, SerialAt(make_.now() + Duration(91))));
    EXPECT_EQ(purge(91, 60).first, 10u);
}

// A namespace is deleted: nothing of it stays but its term, and others do not notice.
TEST_F(EtcdRuns, ADroppedPartitionLeavesItsTermAlone) {
    PutRun("r-1", 2);
    const auto before = RowKeys();
    const auto acquire = [&] {
        return TakeLead(*store_, {.node = {.node = NodeId("node-a"), .address = "http://a"},
                                  .ttl = Duration(600'000),
                                  .partition = 7});
    };
    const Result<Term> term = acquire();
    ASSERT_TRUE(term) << term.error().detail;
    const Execution run = make_.Fire("flow", "r-1");
    std::vector<Change> changes = {
        SettingPut{"a", "1"},
        TaskPut{make_.Recurring("t-1")},
        WorkerPut{make_.MakeWorker("w-1")},
        EventAppend{make_.MakeEvent(EventType::kTaskStarted)},
        RecordPut{RecordKind::kLock, "gpu", "held"},
        AuditAppend{{.serial = 9, .at = make_.now(), .body = "who"}},
        LogAppend{{.execution = ExecutionId("r-1"), .index = 1, .lines = "x\n"}},
        ExecutionChange{Place::kNone, Place::kLive, run},
        ExecutionChange{Place::kNone, Place::kHistory, conformance::Finished(make_.OneOff("e"))}};
    std::uint64_t sequence = 0;
    for (int i = 0; i < 600; ++i) {
        changes.push_back(
            ExecutionChange{Place::kNone, Place::kHistory, ChildOf(run, "c-" + std::to_string(i))});
        if (changes.size() < 110) continue;
        ASSERT_TRUE(Commit(*term, ++sequence, std::exchange(changes, {})));
    }
    ASSERT_TRUE(Commit(*term, ++sequence, std::move(changes)));
    EXPECT_EQ(ListIds({}), Ids{"r-1"}) << "the other's are not seen";
    EXPECT_EQ(ListIds({.partition = 7}), (Ids{"e", "r-1"}));
    ASSERT_TRUE(Await<void>([&](Done<void> done) { store_->Resign(*term, {}, std::move(done)); }));
    const auto drop = [&](Partition partition) {
        return Await<void>([&](Done<void> done) {
            store_->DropPartition(partition, term->epoch, std::move(done));
        });
    };

    ASSERT_TRUE(drop(7));

    EXPECT_EQ(RowKeys(), before);
    EXPECT_TRUE(drop(7)) << "again, and nothing is there";
    const Result<Term> next = acquire();
    ASSERT_TRUE(next) << next.error().detail;
    EXPECT_GT(next->epoch, term->epoch);
    EXPECT_FALSE(drop(0));
}

// What a plain execution leaves behind it, and takes away with it. Runs must not make it dearer.
TEST_F(EtcdRuns, APlainExecutionHasTheKeysThatItHadBeforeThereWereRuns) {
    Execution row = make_.OneOff("x");
    row.id = ExecutionId(Text(SerialText(row.serial)));
    Put({ExecutionChange{Place::kNone, Place::kLive, row}});
    EXPECT_EQ(RowKeys().size(), 1u);
    Put({ExecutionChange{Place::kLive, Place::kHistory, conformance::Finished(row)}});
    EXPECT_EQ(RowKeys().size(), 2u) << "a pointer and a pack";
    PurgeAll();
    EXPECT_EQ(RowKeys(), std::set<std::string>{});
}

// The row of a part was damaged on disk, and with it whose part it is. The leader ends what is shown
// of it, once, and its run goes like others.
TEST_F(EtcdRuns, APartThatCannotBeReadEndsOnceAndHoldsNothingUp) {
    Execution run = make_.Fire("flow", "run-1");
    const Execution child = make_.Child(run, "run-1.a");
    Put({ExecutionChange{Place::kNone, Place::kLive, run},
         ExecutionChange{Place::kNone, Place::kLive, child}});
    ASSERT_TRUE(server_->Ctl(
        {"put", Keys("/takt").Live(kDefaultPartition, Kin::kChild, {child.serial, child.id.view()}),
         "broken"}));
    const auto load = [&] {
        Lead();
        const auto page = Await<LoadPage>(
            [&](Done<LoadPage> done) { store_->Load(kDefaultPartition, {}, std::move(done)); });
        EXPECT_TRUE(page) << page.error().detail;
        return page->executions;
    };
    std::vector<Execution> loaded = load();
    ASSERT_EQ(loaded.size(), 2u);
    const auto shown = std::ranges::find(loaded, child.id, &Execution::id);
    ASSERT_NE(shown, loaded.end());
    ASSERT_EQ(shown->outcome->reason, Reason::kUndecodable);
    shown->finished_at = make_.now();
    Put({ExecutionChange{Place::kLive, Place::kHistory, *shown}});

    EXPECT_EQ(load().size(), 1u) << "the run";
    Put({ExecutionChange{Place::kLive, Place::kHistory, conformance::Finished(run)}});
    PurgeAll();
    EXPECT_EQ(RowKeys(), std::set<std::string>());
}

}  // namespace
}  // namespace takt::internal::etcd
