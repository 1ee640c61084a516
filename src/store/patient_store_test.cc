// A scheduler that starts before its database.
#include "store/patient_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/log.h"
#include "store/lead.h"
#include "store/memory/store.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

using testing::HasSubstr;

class PatientStoreTest : public testing::Test {
  protected:
    // The database is there when the test says so, and every attempt is counted.
    PatientStore::Open Open() {
        return [this]() -> Result<std::unique_ptr<Store>> {
            const std::lock_guard lock(mutex_);
            ++attempts_;
            changed_.notify_all();
            if (!why_.empty()) return Fail(code_, why_);
            return std::make_unique<MemoryStore>(std::make_shared<MemoryDatabase>());
        };
    }
    void Set(ErrorCode code, std::string why) {
        const std::lock_guard lock(mutex_);
        code_ = code;
        why_ = std::move(why);
    }
    void WaitForAttempts(int more) {
        std::unique_lock lock(mutex_);
        const int wanted = attempts_ + more;
        ASSERT_TRUE(
            changed_.wait_for(lock, std::chrono::seconds(30), [&] { return attempts_ >= wanted; }));
    }
    static Result<std::vector<NodeRow>> Nodes(Store& store) {
        return AskStore<std::vector<NodeRow>>([&](auto done) { store.Nodes(std::move(done)); });
    }
    static Result<Term> Acquire(Store& store) {
        return TakeLead(store, {.node = {.node = NodeId("a")}});
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    int attempts_ = 0;
    ErrorCode code_ = ErrorCode::kUnavailable;
    std::string why_ = "no connection";
};

TEST_F(PatientStoreTest, SaysWhyUntilTheStoreIsThereAndThenGoesOnByItself) {
    const LogCapture capture;
    PatientStore store("mysql db:3306", Open(), Duration(1));
    const auto first = store.AwaitFirst(std::chrono::seconds(30));
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().detail, "no connection");
    const auto away = Nodes(store);
    const auto commit = AskStore<void>(
        [&](auto done) { store.Commit(std::make_shared<Batch>(), std::move(done)); });
    EXPECT_EQ(store.Describe(), "mysql db:3306");

    WaitForAttempts(3);
    Set(ErrorCode::kInvalid, "wrong password");
    WaitForAttempts(3);
    const auto refused = Acquire(store);
    Set({}, "");
    WaitForAttempts(1);
    Result<Term> term = Acquire(store);
    while (!term) term = Acquire(store);  // Until the opened store has taken its place.

    ASSERT_FALSE(away);
    EXPECT_EQ(away.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(away.error().detail, "no connection");
    ASSERT_FALSE(commit);
    EXPECT_EQ(commit.error().code, ErrorCode::kUnavailable);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << "an operator may put it right";
    EXPECT_EQ(refused.error().detail, "wrong password");
    EXPECT_EQ(store.Describe(), "memory");
    EXPECT_GT(store.limits().changes_max, 0u);
    const auto lines = capture.lines();
    EXPECT_EQ(std::ranges::count_if(
                  lines, [](const auto& line) { return line.contains("no connection"); }),
              1)
        << "once for each reason";
    EXPECT_THAT(lines, testing::Contains(HasSubstr("wrong password")));
    EXPECT_THAT(lines, testing::Contains(HasSubstr("is open now")));
}

// A scheduler is stopped while it still waits.
TEST_F(PatientStoreTest, EndsWithoutWaitingForTheStore) {
    PatientStore store("redis r:6379", Open(), std::chrono::hours(1));
    EXPECT_FALSE(store.AwaitFirst(std::chrono::seconds(30)));
}

// A wrong password: who opens the store gives up, and what is logged must not say the contrary.
TEST_F(PatientStoreTest, WhatIsGivenUpAtOnceIsNotSaidToBeTriedAgain) {
    const LogCapture capture;
    Set(ErrorCode::kInvalid, "wrong password");
    {
        PatientStore store("mysql db:3306", Open(), std::chrono::minutes(1));
        EXPECT_EQ(store.AwaitFirst(std::chrono::seconds(30)).error().detail, "wrong password");
    }
    EXPECT_THAT(capture.lines(), testing::IsEmpty());
}

// The database is there and does not answer: a firewall drops what is sent to it, or it is stopped.
TEST_F(PatientStoreTest, ADatabaseThatDoesNotAnswerIsNotWaitedFor) {
    const LogCapture quiet;
    std::promise<void> answers;
    const auto open = [&]() -> Result<std::unique_ptr<Store>> {
        answers.get_future().wait();
        return std::make_unique<MemoryStore>(std::make_shared<MemoryDatabase>());
    };
    PatientStore store("mysql db:3306", open, Duration(1));
    const Steady began = SteadyClock::now();
    EXPECT_TRUE(store.AwaitFirst(Duration(1)));
    EXPECT_LT(SteadyClock::now() - began, std::chrono::seconds(10)) << "the port would be closed";
    const auto nodes = Nodes(store);
    ASSERT_FALSE(nodes);
    EXPECT_EQ(nodes.error().detail, "mysql db:3306 has not answered yet");

    answers.set_value();
    EXPECT_TRUE(store.AwaitFirst(std::chrono::seconds(30)));
    EXPECT_TRUE(Nodes(store));
}

}  // namespace
}  // namespace takt::internal
