#include "node/home.h"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/asio_runtime.h"
#include "node/driven.h"

namespace takt::internal {
namespace {

class HomeTest : public ::testing::Test {
  protected:
    DrivenRuntime runtime_;
    std::unique_ptr<Home> home_ = std::make_unique<Home>(runtime_);
    std::vector<std::string> seen_;
};

// The store answers on a thread of its own. What it is given must not run there.
TEST_F(HomeTest, AnAnswerRunsInATurnOfItsOwn) {
    auto done = home_->Here([this](Result<std::string> answer) { seen_.push_back(*answer); });
    done("a row");
    EXPECT_TRUE(seen_.empty());
    runtime_.Run();
    EXPECT_EQ(seen_, std::vector<std::string>{"a row"});
}

// The store answers when whoever asked is gone, before or after the answer was posted.
TEST_F(HomeTest, NothingRunsForAnObjectThatIsGone) {
    auto early = home_->Here([this](int) { seen_.push_back("early"); });
    auto late = home_->Here([this](int) { seen_.push_back("late"); });
    home_->Post([this] { seen_.push_back("posted"); });
    home_->After(5ms, [this] { seen_.push_back("timer"); });
    early(1);
    home_.reset();
    late(2);
    runtime_.Pass(1s);
    EXPECT_TRUE(seen_.empty());
}

// A renewal of the last term is answered in the next one: it says nothing about that.
TEST_F(HomeTest, AnAnswerOfAnEarlierTermIsDropped) {
    auto renewed = home_->term().Here([this](int) { seen_.push_back("first term"); });
    auto looked = home_->Here([this](int) { seen_.push_back("any term"); });
    home_->term().After(5ms, [this] { seen_.push_back("timer of the first term"); });
    home_->NextTerm();
    auto again = home_->term().Here([this](int) { seen_.push_back("second term"); });
    renewed(1);
    looked(2);
    again(3);
    runtime_.Pass(1s);
    EXPECT_EQ(seen_, (std::vector<std::string>{"any term", "second term"}));
}

// A lookup that the store cannot answer is asked again after a while, until the term is over.
TEST_F(HomeTest, AFlowWaitsAndSleepsWhileItsTermLasts) {
    struct Asking {
        static Flow<> Ask(Stay stay, std::vector<Done<int>>* asked,
                          std::vector<std::string>* seen) {
            for (;;) {
                const auto answer = co_await stay.Wait<Result<int>>(
                    [asked](auto done) { asked->emplace_back(std::move(done)); });
                if (answer) break;
                seen->push_back(answer.error().detail);
                co_await stay.Sleep(50ms);
            }
            seen->push_back("answered");
        }
    };
    std::vector<Done<int>> asked;
    Launch(Asking::Ask(home_->term(), &asked, &seen_));
    Launch(Asking::Ask(home_->term(), &asked, &seen_));
    ASSERT_EQ(asked.size(), 2u);
    asked[0](Fail(ErrorCode::kUnavailable, "away"));
    runtime_.Run();
    EXPECT_EQ(seen_, std::vector<std::string>{"away"});
    runtime_.Pass(50ms);
    ASSERT_EQ(asked.size(), 3u);
    asked[2](7);
    runtime_.Run();
    EXPECT_EQ(seen_, (std::vector<std::string>{"away", "answered"}));
    home_->NextTerm();
    asked[1](7);
    runtime_.Run();
    EXPECT_EQ(seen_.size(), 2u);
}

// The API on a thread of its own asks the node on another: each answer comes home.
TEST(Home, AFlowGoesOnOnItsOwnThread) {
    struct Asking {
        static Flow<> Ask(Home& home, Runtime& other, std::vector<std::thread::id>* where) {
            for (int i = 0; i < 100; ++i) {
                where->push_back(co_await home.Wait<std::thread::id>([&other](auto done) {
                    other.Post(
                        [done = std::move(done)]() mutable { done(std::this_thread::get_id()); });
                }));
                where->push_back(std::this_thread::get_id());
            }
        }
    };
    boost::asio::io_context mine(1);
    boost::asio::io_context others(1);
    AsioRuntime my_runtime(mine);
    AsioRuntime other_runtime(others);
    const auto my_work = boost::asio::make_work_guard(mine);
    auto work = boost::asio::make_work_guard(others);
    std::thread other([&] { others.run(); });
    Home home(my_runtime);
    std::vector<std::thread::id> where;
    Launch(Asking::Ask(home, other_runtime, &where));
    while (where.size() < 200) mine.run_one_for(5s);
    const std::thread::id other_id = other.get_id();
    work.reset();
    other.join();
    for (std::size_t i = 0; i < where.size(); ++i) {
        EXPECT_EQ(where[i], i % 2 == 0 ? other_id : std::this_thread::get_id());
    }
}

}  // namespace
}  // namespace takt::internal
