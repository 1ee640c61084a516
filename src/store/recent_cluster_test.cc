// Many who ask which schedulers there are cost as much as one.
#include "store/recent_cluster.h"

#include <gtest/gtest.h>

#include <deque>

namespace takt::internal {
namespace {

// Keeps what it is asked until the test answers.
class AskedStore final : public StoreWrapper {
  public:
    AskedStore() : StoreWrapper(nullptr) {}
    void Nodes(Done<std::vector<NodeRow>> done) override { asked.push_back(std::move(done)); }
    void Leaders(Done<std::vector<LeaderRow>> done) override {
        ++leaders_asked;
        done(std::vector<LeaderRow>{{.partition = 7}});
    }

    void Answer(Result<std::vector<NodeRow>> rows) {
        auto done = std::move(asked.front());
        asked.pop_front();
        done(std::move(rows));
    }

    std::deque<Done<std::vector<NodeRow>>> asked;
    int leaders_asked = 0;
};

class RecentClusterTest : public testing::Test {
  protected:
    void Ask() {
        recent_.Nodes([this](Result<std::vector<NodeRow>> rows) {
            said_ += rows ? std::to_string(rows->size()) + " " : rows.error().detail + " ";
        });
    }

    AskedStore store_;
    Steady now_{std::chrono::hours(1)};
    RecentCluster recent_{&store_, [this] { return now_; }};
    std::string said_;
};

TEST_F(RecentClusterTest, ThoseWhoAskWhileItIsReadShareTheAnswer) {
    for (int i = 0; i < 3; ++i) Ask();
    ASSERT_EQ(store_.asked.size(), 1u);
    EXPECT_EQ(said_, "");

    store_.Answer(std::vector<NodeRow>(2));

    EXPECT_EQ(said_, "2 2 2 ");
}

TEST_F(RecentClusterTest, AnAnswerHoldsForAWhileFromWhenItWasAskedFor) {
    Ask();
    now_ += std::chrono::milliseconds(600);
    store_.Answer(std::vector<NodeRow>(2));
    now_ += RecentCluster::kNodesAgeMax - std::chrono::milliseconds(601);
    Ask();
    EXPECT_EQ(said_, "2 2 ");
    EXPECT_TRUE(store_.asked.empty());

    now_ += std::chrono::milliseconds(1);
    Ask();

    ASSERT_EQ(store_.asked.size(), 1u);
    store_.Answer(std::vector<NodeRow>(3));
    EXPECT_EQ(said_, "2 2 3 ");
}

// A store that is away for a moment is asked again by the next one; nobody is told old rows for new.
TEST_F(RecentClusterTest, AFailureIsToldAndNotKept) {
    Ask();
    Ask();
    store_.Answer(Fail(ErrorCode::kUnavailable, "away"));
    EXPECT_EQ(said_, "away away ");

    Ask();

    ASSERT_EQ(store_.asked.size(), 1u);
    store_.Answer(std::vector<NodeRow>(1));
    EXPECT_EQ(said_, "away away 1 ");
}

TEST_F(RecentClusterTest, LeadersAreSharedToo) {
    std::size_t rows = 0;
    for (int i = 0; i < 5; ++i) {
        recent_.Leaders([&](const Result<std::vector<LeaderRow>>& read) { rows += read->size(); });
    }

    EXPECT_EQ(rows, 5u);
    EXPECT_EQ(store_.leaders_asked, 1);
}

// Presence reads the store for itself, again and again: nobody else needs to.
TEST_F(RecentClusterTest, WhatTheReaderIsAnsweredTheOthersAreToldToo) {
    Ask();
    store_.Answer(std::vector<NodeRow>(1));
    now_ += RecentCluster::kNodesAgeMax / 2;
    std::size_t read = 0;
    recent_.reader().Nodes([&](const Result<std::vector<NodeRow>>& rows) { read = rows->size(); });
    ASSERT_EQ(store_.asked.size(), 1u) << "it asks each time";
    store_.Answer(std::vector<NodeRow>(2));
    EXPECT_EQ(read, 2u);
    now_ += RecentCluster::kNodesAgeMax - std::chrono::milliseconds(1);

    Ask();

    EXPECT_EQ(said_, "1 2 ");
    EXPECT_TRUE(store_.asked.empty());
}

// The process ends while the store still owes an answer.
TEST_F(RecentClusterTest, AnAnswerMayComeAfterItsEnd) {
    {
        RecentCluster gone{&store_, [this] { return now_; }};
        gone.Nodes([this](const Result<std::vector<NodeRow>>&) { said_ += "came "; });
    }

    store_.Answer(std::vector<NodeRow>(1));

    EXPECT_EQ(said_, "came ");
}

// All schedulers are stopped at once: a list of some seconds ago still has the others.
TEST_F(RecentClusterTest, OneThatStopsIsToldWhatTheStoreSaysNow) {
    Ask();
    store_.Answer(std::vector<NodeRow>(2));
    recent_.AskAlways();
    Ask();
    ASSERT_EQ(store_.asked.size(), 1u);
    store_.Answer(std::vector<NodeRow>(1));

    EXPECT_EQ(said_, "2 1 ");
}

}  // namespace
}  // namespace takt::internal
