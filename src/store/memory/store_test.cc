// MemoryStore beyond the contract: one thread, a clock of the caller's, shared rows.
#include "store/memory/store.h"

#include <gtest/gtest.h>

#include <deque>

#include "store/conformance/rows.h"

namespace takt::internal {
namespace {

using conformance::RowMaker;

// A simulation in small: it decides when posted work runs and what time it is.
class MemoryStoreTest : public testing::Test {
  protected:
    MemoryStore::Post Post() {
        return [this](std::move_only_function<void()> work) { posted_.push_back(std::move(work)); };
    }
    void RunPosted() {
        for (; !posted_.empty(); posted_.pop_front()) posted_.front()();
    }

    Steady now_{};
    std::deque<std::move_only_function<void()>> posted_;
    std::shared_ptr<MemoryDatabase> database_ =
        std::make_shared<MemoryDatabase>(MemoryDatabase::Options{.clock = [this] { return now_; }});
    MemoryStore a_{database_, Post()};
    MemoryStore b_{database_, Post()};
};

// The simulator holds a commit back until the new leader has begun: the order is its choice alone.
TEST_F(MemoryStoreTest, NothingHappensUntilTheCallerRunsWhatWasPosted) {
    const Duration ttl = std::chrono::seconds(10);
    a_.Announce({.node = NodeId("a")}, ttl, [](const Result<void>&) {});
    Result<Term> first = Fail(ErrorCode::kUnknown, "no answer yet");
    a_.Acquire({.node = NodeId("a")}, [&](Result<Term> term) { first = std::move(term); });
    EXPECT_FALSE(first);
    RunPosted();
    ASSERT_TRUE(first);

    Result<void> late = Fail(ErrorCode::kUnknown, "no answer yet");
    a_.Commit(std::make_shared<Batch>(Batch{*first, 1, 0, {}}),
              [&](Result<void> done) { late = std::move(done); });
    std::move_only_function<void()> held = std::move(posted_.front());
    posted_.pop_front();
    now_ += std::chrono::seconds(11);
    b_.Announce({.node = NodeId("b")}, ttl, [](const Result<void>&) {});
    Result<Term> second = Fail(ErrorCode::kUnknown, "no answer yet");
    b_.Acquire({.node = NodeId("b"), .replaced = database_->Leaders()->at(0)},
               [&](Result<Term> term) { second = std::move(term); });
    RunPosted();
    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_GT(second->epoch, first->epoch);

    held();

    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
}

// A simulated node is killed while operations of its wait.
TEST_F(MemoryStoreTest, ADestroyedHandleCancelsWhatWaits) {
    auto store = std::make_unique<MemoryStore>(database_, Post());
    int cancelled = 0;
    for (int i = 0; i < 3; ++i) {
        store->Nodes([&](Result<std::vector<NodeRow>> rows) {
            cancelled += !rows && rows.error().code == ErrorCode::kCancelled;
        });
    }

    store.reset();
    EXPECT_EQ(cancelled, 3);

    RunPosted();
    EXPECT_EQ(cancelled, 3) << "what was posted must not answer a second time";
}

// The engine believes a row to be where it is not. A real database might not notice; this one must.
TEST_F(MemoryStoreTest, AChangeThatContradictsTheRowsIsRefused) {
    RowMaker make;
    ASSERT_TRUE(database_->Announce({.node = NodeId("a")}, std::chrono::seconds(10)));
    const Result<Term> term = database_->Acquire({.node = NodeId("a")});
    ASSERT_TRUE(term);
    const Execution row = make.OneOff("e-1");
    std::uint64_t sequence = 0;
    const auto commit = [&](Place before, Place after) {
        Batch batch{*term, sequence + 1, 0, {ExecutionChange{before, after, row}}};
        const Result<void> done = database_->Commit(batch);
        if (done) ++sequence;
        return done ? std::nullopt : std::optional(done.error().code);
    };

    EXPECT_EQ(commit(Place::kLive, Place::kLive), ErrorCode::kInvalid);
    EXPECT_EQ(commit(Place::kHistory, Place::kLive), ErrorCode::kInvalid);
    EXPECT_EQ(commit(Place::kNone, Place::kLive), std::nullopt);
    EXPECT_EQ(commit(Place::kNone, Place::kLive), ErrorCode::kInvalid);
    EXPECT_EQ(commit(Place::kHistory, Place::kLive), ErrorCode::kInvalid);
    EXPECT_EQ(commit(Place::kLive, Place::kHistory), std::nullopt);
    EXPECT_EQ(commit(Place::kLive, Place::kHistory), ErrorCode::kInvalid);
}

// A replica that was behind is promoted: rows, sequence and term are what they were, but no nonce is
// given a second time.
TEST_F(MemoryStoreTest, ACopyThatIsPutBackHasNothingOfWhatCameAfterIt) {
    const auto put = [&](const Term& term, std::uint64_t sequence, const char* key) {
        return database_->Commit({term, sequence, 0, {SettingPut{Text(key), Text("1")}}});
    };
    ASSERT_TRUE(database_->Announce({.node = NodeId("a")}, std::chrono::seconds(10)));
    const Term term = database_->Acquire({.node = NodeId("a")}).value();
    ASSERT_TRUE(put(term, 1, "before"));
    const auto copy = database_->MakeCopy();
    ASSERT_TRUE(put(term, 2, "after"));
    const auto next = [&] {
        const LeaderRow last = database_->Leaders()->at(0);
        return database_->Acquire({.node = NodeId("a"), .replaced = last}).value();
    };
    const Term lost = next();

    database_->PutBack(*copy);

    EXPECT_EQ(database_->ListSettings(kDefaultPartition, {})->size(), 1u);
    EXPECT_EQ(put(lost, 1, "late").error().code, ErrorCode::kFenced);
    EXPECT_EQ(put(term, 3, "later").error().code, ErrorCode::kUnavailable) << "2 is missing";
    const Term again = next();
    EXPECT_EQ(again.epoch, lost.epoch);
    EXPECT_NE(again.nonce, lost.nonce);
}

}  // namespace
}  // namespace takt::internal
