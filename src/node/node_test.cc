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
        GiveTerm(7, 99);
        Answer(store.loads, Result<LoadPage>(LoadPage{}));
        ASSERT_EQ(node->status().role, Role::kLeader);
    }
    // This node leads two partitions, and another that has come leads none.
    void LeadTwoAgainst(Duration hand_over_every) {
        NodeConfig config;
        config.leadership.node = NodeId("a");
        config.leadership.shares = {
            .hand_over_every = hand_over_every, .announced_for = 0s, .kept_for = 0s};
        node = std::make_unique<Node>(runtime, store, config, SeedOf(1), nullptr);
        Lead();
        store.peers = {{.node = NodeId("a")}, {.node = NodeId("b")}};
        store.rows.push_back({7, NodeId("a"), {}, 3, 4});
    }
    template <typename Questions, typename T>
    void Answer(Questions& questions, Result<T> answer) {
        DrivenStore::Reply(questions, std::move(answer));
        runtime.Run();
    }
    void AnswerCommits() {
        while (!store.commits.empty()) {
            largest = std::max(largest, store.commits.front().first->changes.size());
            std::size_t bytes = 0;
            for (const Change& change : store.commits.front().first->changes) {
                bytes += SizeOf(change);
            }
            largest_bytes = std::max(largest_bytes, bytes);
            Answer(store.commits, Result<void>());
        }
    }
    void GiveTerm(std::uint64_t epoch, std::uint64_t nonce) {
        store.GiveTerm(epoch, nonce);
        runtime.Run();
    }
    void AskSubmit(const std::string& id, std::size_t payload_bytes = 0) {
        auto task = NewTaskPtr(new Task);
        task->payload = Text(std::string(payload_bytes, 'x'));
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
    std::size_t largest_bytes = 0;
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

// The same with a large payload each.
TEST_F(NodeTest, LargePayloadsThatWereLookedUpFitTheStoreToo) {
    Lead();
    for (int i = 0; i < 64; ++i) AskSubmit("x" + std::to_string(i), 100'000);
    runtime.Run();
    ASSERT_EQ(store.finds.size(), 1u);
    Answer(store.finds, Result<std::vector<std::optional<Execution>>>(
                            std::vector<std::optional<Execution>>(64)));
    AnswerCommits();

    EXPECT_EQ(accepted, 64);
    EXPECT_LE(largest_bytes, store.limits_now.bytes_max);
}

// The store answers no lookups: those who ask with ids of their own wait, and memory is finite.
TEST_F(NodeTest, MoreThanMayWaitForTheStoreAreRefused) {
    NodeConfig config;
    config.leadership.node = NodeId("a");
    config.commons = std::make_shared<const Commons>(CommonBounds{.inbox_max = 2});
    node = std::make_unique<Node>(runtime, store, config, SeedOf(1), nullptr);
    Lead();
    AnswerCommits();
    for (const char* id : {"x", "y", "z"}) {
        AskSubmit(id);
        runtime.Run();
    }

    EXPECT_EQ(refused[ErrorCode::kExhausted], 1);
}

// Redis is at its maxmemory and takes what was decided. New work waits, what is there can be ended.
TEST_F(NodeTest, AFullStoreRefusesNewWorkOnly) {
    Lead();
    AskSubmit("mine");
    runtime.Run();
    Answer(store.finds,
           Result<std::vector<std::optional<Execution>>>(std::vector<std::optional<Execution>>(1)));
    AnswerCommits();
    ASSERT_EQ(accepted, 1);
    store.full = "no room";

    AskSubmit("");
    node->Ask(Redrive{}, [&](const auto& answer) { ++refused[answer.error().code]; });
    runtime.Run();
    EXPECT_EQ(refused[ErrorCode::kUnavailable], 2);
    bool cancelled = false;
    node->Ask(Cancel{.execution = ExecutionId("mine")},
              [&](Result<internal::Answer> answer) { cancelled = answer.has_value(); });
    runtime.Run();
    AnswerCommits();
    EXPECT_TRUE(cancelled);

    runtime.Pass(1s);
    ASSERT_EQ(store.commits.size(), 1u) << "what may go makes room at once";
    EXPECT_TRUE(std::ranges::any_of(store.commits[0].first->changes, [](const Change& change) {
        return std::holds_alternative<Purge>(change);
    }));
    AnswerCommits();

    store.full.clear();
    AskSubmit("");
    runtime.Run();
    AnswerCommits();
    EXPECT_EQ(accepted, 2);
}

// Ten thousand results wait, and each takes a while: the lease must be renewed in between.
TEST_F(NodeTest, ATurnOfTheLoopHasAnEnd) {
    int taken = 0;
    for (int i = 0; i < 4; ++i) {
        node->Ask(Submit{}, [&](const Result<internal::Answer>&) {
            ++taken;
            runtime.Sleep(3ms);
        });
    }
    int between = 0;
    runtime.Post([&] { between = taken; });
    runtime.Run();
    EXPECT_EQ(between, 2) << "5 ms are over after the second";
    EXPECT_EQ(taken, 4);
}

// The disk is full. Whoever asks is told so, at once, and what was promised is kept.
TEST_F(NodeTest, WhileTheStoreCannotBeWrittenRequestsAreRefused) {
    Lead();
    AnswerCommits();
    AskSubmit("");
    runtime.Run();
    Answer(store.commits, Result<void>(Fail(ErrorCode::kUnavailable, "the disk is full")));
    AskSubmit("");
    runtime.Run();
    EXPECT_EQ(refused[ErrorCode::kUnavailable], 1);
    runtime.Pass(50ms);
    AnswerCommits();
    EXPECT_EQ(accepted, 1);
    AskSubmit("");
    runtime.Run();
    AnswerCommits();

    EXPECT_EQ(accepted, 2);
}

// The disk stays full, while the lease, which is kept elsewhere, is renewed. Attempts that are
// never sent must not run into their timeouts, and nobody must wait for an answer for ever.
TEST_F(NodeTest, ALeaderThatCannotWriteGivesUpTheLeadAndSaysWhy) {
    Lead();
    AnswerCommits();
    AskSubmit("");
    runtime.Run();
    for (int i = 0; i < 30 && node->status().role == Role::kLeader; ++i) {
        if (!store.commits.empty()) {
            Answer(store.commits, Result<void>(Fail(ErrorCode::kUnavailable, "full")));
        }
        runtime.Pass(1s);
    }
    EXPECT_EQ(node->status().role, Role::kFollower);
    EXPECT_EQ(refused[ErrorCode::kUnknown], 1);
    ASSERT_EQ(store.resigns.size(), 1u) << "another node may have more luck";
    store.commits.clear();
    runtime.Pass(5s);
    EXPECT_TRUE(store.acquires.empty()) << "what it gives up it must not take back";
    store.rows.clear();
    Answer(store.resigns, Result<void>());
    runtime.Pass(2s);
    Answer(store.acquires, Result<Term>(Fail(ErrorCode::kUnavailable, "the disk is full")));
    runtime.Pass(1s);
    EXPECT_EQ(node->status().trouble, "the disk is full");

    GiveTerm(8, 100);
    Answer(store.loads, Result<LoadPage>(LoadPage{}));
    AnswerCommits();
    EXPECT_EQ(node->status().role, Role::kLeader);
    runtime.Pass(1s);
    EXPECT_EQ(node->status().trouble, "");
}

// This node can reach the store's lease, but not its tables.
TEST_F(NodeTest, ALeaderThatCannotLoadLetsAnotherTry) {
    node->Start();
    runtime.Run();
    GiveTerm(7, 99);
    for (int i = 0; i < 100 && store.resigns.empty(); ++i) {
        if (!store.loads.empty()) {
            Answer(store.loads, Result<LoadPage>(Fail(ErrorCode::kUnavailable, "no such table")));
        }
        runtime.Pass(1s);
    }
    EXPECT_EQ(store.resigns.size(), 1u);
    EXPECT_EQ(node->status().role, Role::kFollower);
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

// A promise is kept, nothing new is taken meanwhile, and the row says who is next.
TEST_F(NodeTest, AHandOverWaitsForTheCommitsUnderWay) {
    LeadTwoAgainst(0s);
    AskSubmit("");
    runtime.Run();
    int asked = 1;
    for (; asked < 10 && refused.empty(); ++asked) {
        runtime.Pass(1s);
        AskSubmit("");
        runtime.Run();
    }
    EXPECT_EQ(refused[ErrorCode::kUnavailable], 1) << "the other one will take it";
    EXPECT_TRUE(store.resigns.empty());
    AnswerCommits();

    EXPECT_EQ(accepted, asked - 1);
    ASSERT_EQ(store.resigns.size(), 1u);
    EXPECT_EQ(store.resigns.front().first.second.view(), "b");
    EXPECT_EQ(node->status().role, Role::kFollower);
}

// The store is slow just then: the hand-over is left for another time, and requests are taken again.
TEST_F(NodeTest, AHandOverThatTakesTooLongIsLeft) {
    LeadTwoAgainst(1h);
    AskSubmit("");
    runtime.Run();
    runtime.Pass(1h + 10s);
    for (const auto& stray : store.resigns) ASSERT_EQ(stray.first.first.partition, 7);
    AnswerCommits();
    AskSubmit("");
    runtime.Run();
    AnswerCommits();

    EXPECT_EQ(accepted, 2);
    EXPECT_EQ(node->status().role, Role::kLeader);
}

TEST_F(NodeTest, AStopDoesNotWaitForEverForAStoreThatIsGone) {
    Lead();
    AskSubmit("");
    runtime.Run();
    bool stopped = false;
    node->Stop([&] { stopped = true; });
    runtime.Pass(5s);
    EXPECT_EQ(refused[ErrorCode::kUnknown], 1);

    EXPECT_TRUE(stopped) << "neither for the commit nor for the lead to be given back";
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
    GiveTerm(8, 100);
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
