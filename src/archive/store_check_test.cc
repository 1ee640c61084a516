#include "archive/store_check.h"

#include <set>

#include "archive/archive_testing.h"
#include "archive/store_purge.h"
#include "archive/store_stats.h"
#include "model/run_progress.h"
#include "model/workflow.h"
#include "store/store_wrapper.h"

namespace takt::internal {
namespace {

std::vector<std::string> FaultsOf(Store& store) {
    const auto found = CheckStore(store, {});
    EXPECT_TRUE(found) << found.error().detail;
    std::vector<std::string> texts;
    if (found) {
        for (const StoreFault& fault : found->faults) texts.push_back(fault.text);
        EXPECT_EQ(found->count, texts.size());
    }
    return texts;
}

void Repair(Store& store) {
    const auto repaired = RepairStore(store, {});
    ASSERT_TRUE(repaired) << repaired.error().detail;
}

class StoreCheckTest : public testing::Test {
  protected:
    std::unique_ptr<Store> store_ = NewMemory();
};

using Texts = std::vector<std::string>;

TEST_F(StoreCheckTest, AWholeStoreHasNoFault) {
    FillPartition(*store_, 0, 1'200);
    FillPartition(*store_, 7, 3);
    EXPECT_EQ(FaultsOf(*store_), Texts{});
}

TEST_F(StoreCheckTest, WhatHasEndedAndStillLivesIsMovedToTheHistory) {
    Filler filler(*store_, 0);
    Execution ended = conformance::Finished(filler.maker.OneOff("ended"));
    filler.Commit({Insert(ended)});
    filler.Resign();
    EXPECT_EQ(FaultsOf(*store_),
              Texts{"execution ended is success and still among those that live"});
    Repair(*store_);
    EXPECT_EQ(FaultsOf(*store_), Texts{});
    const auto rows = ShowStore(*store_);
    EXPECT_TRUE(std::ranges::any_of(rows, [&](const std::string& row) {
        return row == "0 history " + conformance::Show(ended);
    }));
}

TEST_F(StoreCheckTest, RecordsWithoutTheirExecutionAreTakenAway) {
    Filler filler(*store_, 0);
    const Execution gone = filler.maker.OneOff("gone");
    filler.Commit({Holding("h1", gone), RecordPut{RecordKind::kRun, "gone", "x"},
                   RecordPut{RecordKind::kLock, "h2", "no holding"}});
    filler.Resign();
    EXPECT_EQ(FaultsOf(*store_),
              (Texts{"a lock is held by execution gone, which does not live",
                     "the holding h2 of a lock cannot be read",
                     "the progress of run gone is kept, and the run does not live"}));
    Repair(*store_);
    EXPECT_EQ(FaultsOf(*store_), Texts{});
}

TEST_F(StoreCheckTest, ALastSerialThatFellBackIsRaised) {
    Filler filler(*store_, 0);
    filler.Commit({Insert(filler.maker.OneOff("one"))}, 5);
    filler.Resign();
    EXPECT_EQ(FaultsOf(*store_), Texts{"the last serial that was noted is below that of a row"});
    Repair(*store_);
    EXPECT_EQ(FaultsOf(*store_), Texts{});
}

TEST_F(StoreCheckTest, PartsOfARunThatIsGoneAreFound) {
    Filler filler(*store_, 0);
    const Execution run = filler.maker.OneOff("run");
    filler.Commit({InsertFinished(filler.maker.Child(run, "part"))});
    filler.Resign();
    EXPECT_EQ(FaultsOf(*store_), Texts{"run run is gone, and parts of it are there"});
}

// Indexes that miss something.
class ForgetfulStore final : public StoreWrapper {
  public:
    using StoreWrapper::StoreWrapper;
    void FindExecutions(Partition partition, std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override {
        const auto all = ids;
        StoreWrapper::FindExecutions(partition, std::move(ids),
                                     [all, done = std::move(done)](auto rows) mutable {
                                         for (std::size_t i = 0; rows && i < all.size(); ++i) {
                                             if (all[i].view() == "waits") (*rows)[i].reset();
                                         }
                                         done(std::move(rows));
                                     });
    }
};

TEST_F(StoreCheckTest, AnIndexThatMissesARowIsFound) {
    FillPartition(*store_, 0, 3);
    ForgetfulStore forgetful(store_.get());
    EXPECT_EQ(FaultsOf(forgetful), Texts{"execution waits is in lists and is not found by its id"});
}

TEST_F(StoreCheckTest, NothingIsRepairedWhileASchedulerLeads) {
    Filler filler(*store_, 0);
    filler.Commit({RecordPut{RecordKind::kRun, "gone", "x"}});
    const auto refused = RepairStore(*store_, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
}

// Its index has a fault as long as a scheduler can be at work, and none once it cannot.
class BusyStore : public StoreWrapper, public ChecksIndexes {
  public:
    using StoreWrapper::StoreWrapper;
    Result<std::vector<IndexFault>> CheckIndexes(const std::vector<Partition>&) override {
        const auto rows =
            AskStore<std::vector<LeaderRow>>([&](auto done) { Leaders(std::move(done)); });
        if (!rows) return std::unexpected(rows.error());
        if (LeaderOf(*rows, 0)) return std::vector<IndexFault>();
        return std::vector{IndexFault{.text = "execution ends is missing from live"}};
    }
    Result<void> MendIndexes(const Term&, const std::vector<IndexFault>& faults) override {
        mended += faults.size();
        return {};
    }

    std::size_t mended = 0;
};

TEST_F(StoreCheckTest, FaultsThatASchedulerHasMadeTrueMeanwhileAreNotMended) {
    FillPartition(*store_, 0, 3);
    BusyStore busy(store_.get());
    EXPECT_EQ(FaultsOf(busy), Texts{"execution ends is missing from live"});
    const auto repaired = RepairStore(busy, {});
    ASSERT_TRUE(repaired) << repaired.error().detail;
    EXPECT_EQ(repaired->count, 0u);
    EXPECT_EQ(busy.mended, 0u);
}

TEST_F(StoreCheckTest, StatsCountRowsAndDays) {
    FillPartition(*store_, 0, 10);
    FillPartition(*store_, 7, 3);
    const Time at = conformance::RowMaker().now() + std::chrono::hours(30);
    const auto stats = ReadStats(*store_, at, {});
    ASSERT_TRUE(stats) << stats.error().detail;
    ASSERT_EQ(stats->partitions.size(), 2u);
    const PartitionStats& part = stats->partitions[0];
    EXPECT_EQ(part.name, "default");
    EXPECT_EQ(part.rows.of(RowKind::kLive).rows, 3u);
    EXPECT_EQ(part.rows.of(RowKind::kHistory).rows, 10u);
    EXPECT_EQ(part.runs, 10u);
    EXPECT_EQ(part.days[0].rows, 0u);
    EXPECT_EQ(part.days[1].rows, 10u) << "a day and six hours ago";
    EXPECT_GT(part.days[1].bytes, 0u);
    ASSERT_TRUE(part.Daily(at));
    EXPECT_EQ(part.Daily(at)->rows, 8u) << "ten in a day and six hours";
    EXPECT_FALSE(part.Daily(part.oldest_finished + std::chrono::minutes(59))) << "too early";
    EXPECT_EQ(stats->partitions[1].name, "") << "the directory does not name it";
}

TEST_F(StoreCheckTest, APurgeTakesWhatIsOldAndNothingElse) {
    FillPartition(*store_, 0, 2'500);
    const auto rows = ShowStore(*store_);
    // One finishes a second.
    Time cut{};
    ASSERT_TRUE(ReadHistory(*store_, 0, true, [&](Change change) -> Result<void> {
        const Execution& row = std::get<ExecutionChange>(change).row;
        if (row.id.view() == "done2000") cut = row.finished_at;
        return {};
    }));
    const auto purged = PurgeStore(*store_, cut);
    ASSERT_TRUE(purged) << purged.error().detail;
    EXPECT_EQ(purged->executions, 2'000u);
    EXPECT_EQ(PurgeStore(*store_, cut)->executions, 0u);
    EXPECT_EQ(FaultsOf(*store_), Texts{});
}

// A store in which a scheduler purges and commits while it is read: rows of the first page are gone
// when they are looked for, and new ones have come.
class MovingStore final : public StoreWrapper {
  public:
    explicit MovingStore(Store* inner) : StoreWrapper(inner) {}
    void FindExecutions(Partition partition, std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override {
        if (finds++ == 0) return done(std::vector<std::optional<Execution>>(ids.size()));
        StoreWrapper::FindExecutions(partition, std::move(ids), std::move(done));
    }
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override {
        auto page = AskStore<LoadPage>(
            [&](auto answer) { StoreWrapper::Load(partition, cursor, std::move(answer)); });
        if (page && loads++ == 0) page->last_serial = 1;
        done(std::move(page));
    }

    int finds = 0;
    int loads = 0;
};

TEST_F(StoreCheckTest, WhatASchedulerMovesMeanwhileIsNoFault) {
    const auto store = NewMemory();
    FillPartition(*store, 0, 20);
    {
        MovingStore still(store.get());
        const auto found = CheckStore(still, {});
        ASSERT_TRUE(found) << found.error().detail;
        EXPECT_GT(found->count, 0u) << "nobody leads: nothing moves";
    }
    Filler leader(*store, 0);
    MovingStore busy(store.get());
    const auto found = CheckStore(busy, {});
    ASSERT_TRUE(found) << found.error().detail;
    EXPECT_EQ(found->count, 0u) << found->faults.front().text;
}

// Beside a leader: indexes of which another one is wrong for a moment at the looks that are named, and
// one entry that stays wrong at a place that moves.
class PassingFaults final : public StoreWrapper, public ChecksIndexes {
  public:
    PassingFaults(Store* inner, std::set<int> passing, bool lasting = false)
        : StoreWrapper(inner), passing_(std::move(passing)), lasting_(lasting) {}
    Result<std::vector<IndexFault>> CheckIndexes(const std::vector<Partition>&) override {
        const std::string look = std::to_string(++looks);
        std::vector<IndexFault> faults;
        if (passing_.contains(looks)) {
            faults.push_back({.text = "execution e" + look + " is missing", .entry = "e" + look});
        }
        if (lasting_) {
            faults.push_back({.text = "a bad entry, number " + look, .index = "i", .entry = "bad"});
        }
        return faults;
    }
    Result<void> MendIndexes(const Term&, const std::vector<IndexFault>&) override { return {}; }

    int looks = 0;

  private:
    const std::set<int> passing_;
    const bool lasting_;
};

TEST_F(StoreCheckTest, APassingFaultOfAnIndexHidesNoRowThatStaysWrong) {
    Filler leader(*store_, 0);
    leader.Commit({Insert(conformance::Finished(leader.maker.OneOff("ended")))});
    const Texts wrong = {"execution ended is success and still among those that live"};
    for (const std::set<int>& passing : {std::set{1}, std::set{2}, std::set{1, 2}}) {
        PassingFaults store(store_.get(), passing);
        EXPECT_EQ(FaultsOf(store), wrong);
    }
    PassingFaults moving(store_.get(), {1}, true);
    EXPECT_EQ(FaultsOf(moving), Texts{"a bad entry, number 2"});
    // Indexes that are never whole while they are read: the rows were not looked at, and that is said.
    PassingFaults never(store_.get(), {1, 2, 3, 4, 5, 6, 7, 8, 9});
    EXPECT_EQ(FaultsOf(never).size(), 1u);
}

// A run that goes on: each time its parts are listed there is one more.
class GrowingRun final : public StoreWrapper {
  public:
    GrowingRun(Store* inner, Filler& leader, Execution run, std::string missing)
        : StoreWrapper(inner),
          leader_(leader),
          run_(std::move(run)),
          missing_(std::move(missing)) {}
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override {
        if (!filter.parent) return StoreWrapper::ListExecutions(filter, std::move(done));
        leader_.Commit(
            {Insert(leader_.maker.Child(run_, "more" + missing_ + std::to_string(++parts_)))});
        auto rows = AskStore<std::vector<Execution>>(
            [&](auto answer) { StoreWrapper::ListExecutions(filter, std::move(answer)); });
        if (rows)
            std::erase_if(*rows, [&](const Execution& row) { return row.id.view() == missing_; });
        done(std::move(rows));
    }

  private:
    Filler& leader_;
    const Execution run_;
    const std::string missing_;
    int parts_ = 0;
};

TEST_F(StoreCheckTest, APartThatTheIndexByRunLostIsFoundWhileTheRunGoesOn) {
    Filler leader(*store_, 0);
    const Execution run = leader.maker.OneOff("run");
    Execution with_steps = run;
    boost::intrusive_ptr<Task> task(new Task);
    task->id = run.task->id;
    auto options = std::make_unique<TaskOptions>();
    options->workflow = WorkflowPtr(std::make_shared<Workflow>());
    task->options = std::move(options);
    with_steps.task = task;
    leader.Commit({Insert(with_steps), Insert(leader.maker.Child(run, "one")),
                   Insert(leader.maker.Child(run, "two"))});
    GrowingRun whole(store_.get(), leader, run, "");
    EXPECT_EQ(FaultsOf(whole), Texts{});
    GrowingRun lost(store_.get(), leader, run, "two");
    const Texts found = FaultsOf(lost);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].starts_with("run run has ")) << found[0];
}

}  // namespace
}  // namespace takt::internal
