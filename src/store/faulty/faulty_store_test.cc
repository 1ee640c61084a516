#include "store/faulty/faulty_store.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "store/memory/memory_store.h"

namespace takt::internal {
namespace {

// Hands out prepared faults, then none.
class ListedFaults final : public FaultPlan {
  public:
    Fault Next(StoreCall call) override {
        calls.push_back(call);
        if (faults.empty()) return {};
        const Fault fault = faults.front();
        faults.pop_front();
        return fault;
    }
    std::deque<Fault> faults;
    std::vector<StoreCall> calls;
};

// One thread and a clock that moves when the test says so.
class FaultyStoreTest : public testing::Test {
  protected:
    void Post(Duration time, std::move_only_function<void()> work) {
        timers_.emplace(now_ + time, std::move(work));
    }
    // Lets time pass and runs what falls due, in its order.
    void Pass(Duration time) {
        const Duration until = now_ + time;
        while (!timers_.empty() && timers_.begin()->first <= until) {
            auto timer = timers_.extract(timers_.begin());
            now_ = timer.key();
            timer.mapped()();
        }
        now_ = until;
    }
    Result<void> Commit(std::uint64_t sequence) {
        Result<void> answer = Fail(ErrorCode::kNotFound, "no answer yet");
        Start(sequence, answer);
        Pass(Duration(0));
        return answer;
    }
    void Start(std::uint64_t sequence, Result<void>& answer) {
        const auto batch = std::make_shared<const Batch>(
            Batch{term_, sequence, 0, {SettingPut{"at", Text(std::to_string(sequence))}}});
        store_->Commit(batch, [&answer](Result<void> done) { answer = std::move(done); });
    }
    std::string Stored() {
        const auto rows = database_->ListSettings("at");
        return rows->empty() ? "" : rows->at(0).value.str();
    }

    Duration now_{0};
    std::multimap<Duration, std::move_only_function<void()>> timers_;
    std::shared_ptr<MemoryDatabase> database_ = std::make_shared<MemoryDatabase>();
    std::shared_ptr<ListedFaults> plan_ = std::make_shared<ListedFaults>();
    std::unique_ptr<FaultyStore> store_ = std::make_unique<FaultyStore>(
        std::make_unique<MemoryStore>(
            database_,
            [this](std::move_only_function<void()> work) { Post(Duration(0), std::move(work)); }),
        plan_, [this](Duration time, std::move_only_function<void()> work) {
            Post(time, std::move(work));
        });
    Term term_ = *database_->Acquire({.node = NodeId("a"), .ttl = Duration(3'600'000)});
};

TEST_F(FaultyStoreTest, WithoutAFaultTheStoreAnswers) {
    EXPECT_TRUE(Commit(1));
    EXPECT_EQ(Stored(), "1");
    EXPECT_EQ(plan_->calls, std::vector{StoreCall::kCommit});
}

// The database is down: the commit never got there.
TEST_F(FaultyStoreTest, ARefusedCommitIsNotApplied) {
    plan_->faults.push_back({.kind = Fault::Kind::kRefuse});

    const Result<void> done = Commit(1);

    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(Stored(), "");
    EXPECT_TRUE(Commit(1));
}

// The connection breaks after the commit and before its answer; the node repeats the batch.
TEST_F(FaultyStoreTest, ALostReplyLeavesTheCommitAppliedAndTheCallerInDoubt) {
    plan_->faults.push_back({.kind = Fault::Kind::kLoseReply});

    const Result<void> done = Commit(1);

    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kUnknown);
    EXPECT_EQ(Stored(), "1");
    EXPECT_TRUE(Commit(1)) << "the very same batch again";
}

TEST_F(FaultyStoreTest, ALostRequestLooksTheSameButIsNotApplied) {
    plan_->faults.push_back({.kind = Fault::Kind::kLoseRequest});

    const Result<void> done = Commit(1);

    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kUnknown);
    EXPECT_EQ(Stored(), "");
}

// A read has nothing to be in doubt about.
TEST_F(FaultyStoreTest, ALostReadIsUnavailable) {
    plan_->faults.push_back({.kind = Fault::Kind::kLoseReply});
    Result<std::vector<Worker>> answer;
    store_->ListWorkers([&](Result<std::vector<Worker>> rows) { answer = std::move(rows); });
    Pass(Duration(0));

    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

// The commit is slow on its way there, its answer on the way back.
TEST_F(FaultyStoreTest, DelaysHoldTheRequestAndTheAnswerBack) {
    plan_->faults.push_back({.before = Duration(100), .after = Duration(50)});
    Result<void> answer = Fail(ErrorCode::kNotFound, "no answer yet");
    Start(1, answer);

    Pass(Duration(99));
    EXPECT_EQ(Stored(), "");
    Pass(Duration(1));
    EXPECT_EQ(Stored(), "1");
    EXPECT_FALSE(answer);
    Pass(Duration(49));
    EXPECT_FALSE(answer);
    Pass(Duration(1));
    EXPECT_TRUE(answer);
}

// A node is killed while its requests are on the way.
TEST_F(FaultyStoreTest, DestroyingItCancelsWhatIsDelayed) {
    plan_->faults.push_back({.before = Duration(100)});
    plan_->faults.push_back({.kind = Fault::Kind::kRefuse, .before = Duration(100)});
    Result<void> first, second;
    Start(1, first);
    Start(2, second);

    store_.reset();
    ASSERT_FALSE(first);
    ASSERT_FALSE(second);
    EXPECT_EQ(first.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(second.error().code, ErrorCode::kCancelled);

    Pass(Duration(1000));
    EXPECT_EQ(Stored(), "");
}

}  // namespace
}  // namespace takt::internal
