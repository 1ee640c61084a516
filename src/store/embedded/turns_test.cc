// Several namespaces in one file: nobody waits for another's flood, or for the end of another.
#include <gmock/gmock.h>

#include <latch>
#include <mutex>

#include "store/company.h"
#include "store/embedded/sqlite.h"
#include "store/embedded/store_fixture.h"
#include "store/testing/read_turns.h"

namespace takt::internal::embedded {
namespace {

constexpr Partition kOther = 7;

class EmbeddedTurnsTest : public EmbeddedStoreTest {
  protected:
    void SetUp() override {
        EmbeddedStoreTest::SetUp();
        const auto term =
            TakeLead(*store_, {.node = {.node = NodeId("node")}, .partition = kOther});
        ASSERT_TRUE(term) << term.error().detail;
        other_ = *term;
    }

    // Keeps the writer in the answer to an empty batch, and the queue grows until LetGo.
    void Hold(const Term& term, std::uint64_t sequence) {
        store_->Commit(std::make_shared<const Batch>(Batch{term, sequence, 0, {}}),
                       [this](const Result<void>&) {
                           held_.count_down();
                           let_go_.wait();
                       });
        held_.wait();
    }
    void LetGo() { let_go_.count_down(); }

    // Answers are noted in the order in which they come.
    Done<void> Noted(std::string name) {
        return [this, name = std::move(name)](Result<void> result) {
            const std::lock_guard lock(mutex_);
            said_ += name + (result ? " " : ": " + result.error().detail + " ");
        };
    }
    void Begin(const std::string& name, const Term& term, std::uint64_t sequence,
               std::vector<Change> changes) {
        store_->Commit(std::make_shared<const Batch>(Batch{term, sequence, 0, std::move(changes)}),
                       Noted(name));
    }
    // Returns when all that was begun before is answered.
    void Settle(const Term& term, std::uint64_t sequence) {
        const auto batch = std::make_shared<const Batch>(Batch{term, sequence, 0, {}});
        ASSERT_TRUE(Await<void>([&](Done<void> done) { store_->Commit(batch, std::move(done)); }));
    }

    Term other_;
    std::latch held_{1};
    std::latch let_go_{1};
    std::mutex mutex_;
    std::string said_;
};

// One namespace floods the store while another has one commit: that one is written with the first of
// the flood, not behind all of it.
TEST_F(EmbeddedTurnsTest, ACommitWaitsForOneBatchOfAnotherPartitionNotForAll) {
    Hold(term_, 1);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        Begin("flood" + std::to_string(i), term_, i + 1,
              {SettingPut{"a", Text(std::to_string(i))}});
    }
    Begin("other", other_, 1, {SettingPut{"a", "1"}});

    LetGo();
    Settle(term_, 6);
    Settle(other_, 2);

    const std::lock_guard lock(mutex_);
    EXPECT_EQ(said_, "flood1 other flood2 flood3 flood4 ");
}

// One namespace floods the store with large batches while another has small ones: those go ahead, all
// of them in one transaction, and none of the large ones is between them.
TEST_F(EmbeddedTurnsTest, SmallCommitsDoNotWaitForALargeOneToBeWritten) {
    Hold(term_, 1);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        Begin("flood" + std::to_string(i), term_, i + 1,
              {SettingPut{"a", Text(std::string(20'000, 'x'))}});
    }
    for (std::uint64_t i = 1; i <= 4; ++i) {
        Begin("other" + std::to_string(i), other_, i, {SettingPut{"a", Text(std::to_string(i))}});
    }

    LetGo();
    Settle(term_, 6);
    Settle(other_, 5);

    const std::lock_guard lock(mutex_);
    EXPECT_EQ(said_, "other1 other2 other3 other4 flood1 flood2 flood3 flood4 ");
}

// A namespace has small batches and a large one between them: those behind the large one wait for
// it, though there would be room.
TEST_F(EmbeddedTurnsTest, SmallCommitsDoNotOvertakeALargeOneOfTheirOwn) {
    Hold(term_, 1);
    Begin("flood1", term_, 2, {SettingPut{"a", Text(std::string(20'000, 'x'))}});
    Begin("other1", other_, 1, {SettingPut{"a", "1"}});
    Begin("other2", other_, 2, {SettingPut{"a", Text(std::string(20'000, 'x'))}});
    Begin("other3", other_, 3, {SettingPut{"a", "3"}});

    LetGo();
    Settle(term_, 3);
    Settle(other_, 4);

    const std::lock_guard lock(mutex_);
    EXPECT_EQ(said_, "other1 flood1 other2 other3 ");
}

// Two namespaces go on with batches that are too large to share a group; the largest of a third one
// has its turn among theirs.
TEST_F(EmbeddedTurnsTest, TheLargestBatchIsNotPassedOverForEver) {
    const auto third =
        TakeLead(*store_, {.node = {.node = NodeId("node")}, .partition = kOther + 1});
    ASSERT_TRUE(third) << third.error().detail;
    Hold(term_, 1);
    const auto large = [](std::size_t bytes) {
        return std::vector<Change>{SettingPut{"a", Text(std::string(bytes, 'x'))}};
    };
    for (std::uint64_t i = 1; i <= 6; ++i) {
        Begin("a" + std::to_string(i), term_, i + 1, large(20'000));
        Begin("b" + std::to_string(i), other_, i, large(20'000));
        if (i == 1) Begin("largest", *third, 1, large(60'000));
    }

    LetGo();
    Settle(term_, 8);
    Settle(other_, 7);
    Settle(*third, 2);

    const std::lock_guard lock(mutex_);
    EXPECT_LT(said_.find("largest"), said_.find("a4")) << said_;
    EXPECT_EQ(said_.find(':'), std::string::npos) << said_;
}

// A namespace floods the store while another has a commit now and then, and none waits just now: of the
// flood so much is written at once as one commit may be, not all that has come.
TEST_F(EmbeddedTurnsTest, WhoCommitsNowAndThenWaitsForFewBatchesOfAFlood) {
    Settle(other_, 1);
    const auto many = [](std::uint64_t number) {
        std::vector<Change> changes;
        while (changes.size() < Company::kChangesMax * 2 / 3) {
            changes.push_back(
                SettingPut{Text(std::to_string(changes.size())), Text(std::to_string(number))});
        }
        return changes;
    };
    Hold(term_, 1);
    // The other one's comes as soon as the first of the flood is written.
    store_->Commit(std::make_shared<const Batch>(Batch{term_, 2, 0, many(1)}),
                   [this](const Result<void>&) {
                       Begin("other", other_, 2, {SettingPut{"a", "1"}});
                       Noted("flood1")({});
                   });
    for (std::uint64_t i = 2; i <= 4; ++i) {
        Begin("flood" + std::to_string(i), term_, i + 1, many(i));
    }

    LetGo();
    Settle(term_, 6);
    Settle(other_, 3);

    const std::lock_guard lock(mutex_);
    EXPECT_EQ(said_, "flood1 other flood2 flood3 flood4 ");
}

// A namespace of many rows is deleted; the others go on meanwhile.
TEST_F(EmbeddedTurnsTest, APartitionIsDroppedStepByStep) {
    RowMaker make(kOther);
    std::vector<Change> changes;
    for (int i = 0; i < 2500; ++i) {
        const Execution row = Finished(make.OneOff("e-" + std::to_string(i)));
        changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
        changes.push_back(LogAppend{LogChunk{row.id, 1, 1, make.now(), "line\n"}});
    }
    Begin("fill", other_, 1, {changes.begin(), changes.begin() + 4000});
    Begin("fill", other_, 2, {changes.begin() + 4000, changes.end()});
    Settle(other_, 3);

    Hold(term_, 1);
    store_->DropPartition(kOther, other_.epoch, Noted("dropped"));
    Begin("commit", term_, 2, {SettingPut{"a", "1"}});
    LetGo();
    ASSERT_TRUE(Await<void>(
        [&](Done<void> done) { store_->DropPartition(kOther, other_.epoch, std::move(done)); }));

    const std::lock_guard lock(mutex_);
    EXPECT_EQ(said_, "fill fill commit dropped ");
    Connection operators(directory_.path() + "/takt.db", SQLITE_OPEN_READONLY, "");
    EXPECT_EQ(operators.QueryInt("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'p7%'"), 0);
    EXPECT_EQ(operators.QueryInt("SELECT count(*) FROM terms WHERE partition = 7"), 1);
}

// The first batch of a namespace contradicts itself: its tables are not left half made, and the next
// batch finds or makes them.
TEST_F(EmbeddedTurnsTest, TablesThatWereRolledBackAreMadeAgain) {
    RowMaker make(kOther);
    const auto commit = [&](std::uint64_t sequence, std::vector<Change> changes) {
        const auto batch =
            std::make_shared<const Batch>(Batch{other_, sequence, 0, std::move(changes)});
        return Await<void>([&](Done<void> done) { store_->Commit(batch, std::move(done)); });
    };
    const Execution row = make.OneOff("e-1");
    const auto wrong = commit(1, {ExecutionChange{Place::kLive, Place::kHistory, Finished(row)}});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kInvalid);

    const auto right = commit(1, {ExecutionChange{Place::kNone, Place::kLive, row}});

    ASSERT_TRUE(right) << right.error().detail;
    using Rows = std::vector<Execution>;
    const auto list = Await<Rows>(
        [&](Done<Rows> done) { store_->ListExecutions({.partition = kOther}, std::move(done)); });
    ASSERT_TRUE(list) << list.error().detail;
    EXPECT_EQ(list->size(), 1u);
}

// One team's programs ask for executions as fast as they can. Another's are not behind all of that.
TEST_F(EmbeddedTurnsTest, PartitionsReadByTurns) {
    EXPECT_EQ(testing_support::OrderOfReads(*store_), "21111111111");
}

}  // namespace
}  // namespace takt::internal::embedded
