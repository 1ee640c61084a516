// Node: one scheduler from its election to its end.
#include "node/node.h"

#include <gmock/gmock.h>

#include "base/log.h"
#include "node/driven.h"

namespace takt::internal {
namespace {

class NodeTest : public ::testing::Test {
  protected:
    NodeTest() {
        NodeConfig config;
        config.leadership.node = NodeId("a");
        store.limits_now.changes_max = 126;
        node = std::make_unique<Node>(runtime, store, config, SeedOf(1), nullptr);
    }

    // Elected, loaded, and the first commit taken.
    void Lead() {
        node->Start();
        runtime.Run();
        Answer(store.acquires, Result<Term>(Term{0, 7, 99}));
        Answer(store.loads, Result<LoadPage>(LoadPage{}));
        ASSERT_EQ(node->status().role, Role::kLeader);
    }
    template <typename Questions, typename T>
    void Answer(Questions& questions, Result<T> answer) {
        DrivenStore::Reply(questions, std::move(answer));
        runtime.Run();
    }
    void AnswerCommits() {
        while (!store.commits.empty()) {
            largest = std::max(largest, store.commits.front().first->changes.size());
            Answer(store.commits, Result<void>());
        }
    }
    void AskSubmit(const std::string& id) {
        auto task = NewTaskPtr(new Task);
        if (!id.empty()) task->id = TaskId(Text(id));
        task->type = "work";
        task->queue = "default";
        node->Ask(Submit{0, task}, [this](Result<internal::Answer> answer) {
            answer ? ++accepted : ++refused[answer.error().code];
        });
    }

    LogCapture quiet;
    DrivenRuntime runtime;
    DrivenStore store;
    std::unique_ptr<Node> node;
    std::size_t largest = 0;
    int accepted = 0;
    std::map<ErrorCode, int> refused;
};

TEST_F(NodeTest, ASubmitIsAnsweredAfterItsCommit) {
    Lead();
    AskSubmit("");
    runtime.Run();
    EXPECT_EQ(accepted, 0);
    AnswerCommits();

    EXPECT_EQ(accepted, 1);
}

TEST_F(NodeTest, AFollowerRefusesWhatOnlyALeaderCanDo) {
    node->Start();
    runtime.Run();
    AskSubmit("");
    runtime.Run();

    EXPECT_EQ(refused[ErrorCode::kUnavailable], 1);
}

// A bulk of a thousand with ids of the caller's own: one question to the store, many small steps.
TEST_F(NodeTest, ManyLookedUpAtOnceStillFitTheNarrowestStore) {
    Lead();
    for (int i = 0; i < 1000; ++i) AskSubmit("x" + std::to_string(i));
    runtime.Run();
    ASSERT_EQ(store.finds.size(), 1u);
    const std::size_t count = store.finds.front().first.size();
    ASSERT_EQ(count, 1000u);
    Answer(store.finds, Result<std::vector<std::optional<Execution>>>(
                            std::vector<std::optional<Execution>>(count)));
    AnswerCommits();

    EXPECT_EQ(accepted, 1000);
    EXPECT_LE(largest, 126u);
}

// The laptop lid was closed. Another leads by now, and nothing here knows it yet.
TEST_F(NodeTest, ALeaderThatSleptThroughItsLeaseDecidesNothing) {
    Lead();
    AnswerCommits();
    runtime.Sleep(1min);
    AskSubmit("");
    runtime.Run();

    EXPECT_EQ(refused[ErrorCode::kUnavailable], 1);
    EXPECT_EQ(node->status().role, Role::kFollower);
}

TEST_F(NodeTest, WhoeverWaitsWhenTheTermEndsIsToldThatNothingIsKnown) {
    Lead();
    AskSubmit("");
    runtime.Run();
    Answer(store.commits, Result<void>(Fail(ErrorCode::kFenced, "b leads")));

    EXPECT_EQ(refused[ErrorCode::kUnknown], 1);
    EXPECT_EQ(node->status().role, Role::kFollower);
}

// SIGTERM: what was promised is kept, then the lead is handed over.
TEST_F(NodeTest, AStopWaitsForTheCommitsUnderWayAndHandsOver) {
    Lead();
    AskSubmit("");
    runtime.Run();
    bool stopped = false;
    node->Stop([&] { stopped = true; });
    runtime.Run();
    EXPECT_TRUE(store.resigns.empty());
    AnswerCommits();
    EXPECT_EQ(accepted, 1);
    Answer(store.resigns, Result<void>());

    EXPECT_TRUE(stopped);
    EXPECT_EQ(node->status().role, Role::kStopped);
}

// A busy leader is told to end: workers go on saying things, and must say them to the next one.
TEST_F(NodeTest, AStopIsNotHeldUpByWhatWorkersGoOnSaying) {
    Lead();
    AskSubmit("");
    runtime.Run();
    node->Stop([] {});
    runtime.Run();
    Attach attach{.session = 1};
    attach.worker.id = WorkerId("w");
    attach.worker.capacity = 1;
    node->Tell(attach);
    runtime.Run();
    Answer(store.commits, Result<void>());

    EXPECT_EQ(accepted, 1);
    EXPECT_TRUE(store.commits.empty());
    EXPECT_EQ(store.resigns.size(), 1u);
}

TEST_F(NodeTest, AStopDoesNotWaitForEverForAStoreThatIsGone) {
    Lead();
    AskSubmit("");
    runtime.Run();
    bool stopped = false;
    node->Stop([&] { stopped = true; });
    runtime.Pass(5s);
    EXPECT_EQ(refused[ErrorCode::kUnknown], 1);
    Answer(store.resigns, Result<void>(Fail(ErrorCode::kUnavailable, "no route")));

    EXPECT_TRUE(stopped);
}

// One request makes the store refuse everything that is gathered with it. It must not keep others
// waiting for ever: the scheduler begins anew from what is stored, without it.
TEST_F(NodeTest, AfterAnImpossibleCommitTheNodeBeginsAnewWithoutWhatLedToIt) {
    Lead();
    AnswerCommits();
    AskSubmit("");
    runtime.Run();
    Answer(store.commits, Result<void>(Fail(ErrorCode::kInvalid, "it contradicts the rows")));
    EXPECT_EQ(refused[ErrorCode::kUnknown], 1);
    EXPECT_EQ(node->status().role, Role::kFollower);
    runtime.Pass(1s);
    ASSERT_FALSE(store.acquires.empty());
    Answer(store.acquires, Result<Term>(Term{0, 8, 100}));
    Answer(store.loads, Result<LoadPage>(LoadPage{}));
    AnswerCommits();
    EXPECT_EQ(node->status().role, Role::kLeader);
    AskSubmit("");
    runtime.Run();
    AnswerCommits();

    EXPECT_EQ(accepted, 1);
    EXPECT_TRUE(store.commits.empty());
}

}  // namespace
}  // namespace takt::internal
