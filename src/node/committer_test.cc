// Committer: nothing is released before its commit, and everything in its order.
#include "node/committer.h"

#include <gmock/gmock.h>

#include "base/log.h"
#include "node/driven.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CommitterTest : public ::testing::Test {
  protected:
    static constexpr Term kTerm{0, 7, 99};

    void Make() {
        committer = std::make_unique<Committer>(
            runtime, store, kTerm, CommitterConfig{.company = company},
            Committer::Events{.release =
                                  [this](const Effects& effects) {
                                      for (const Reply& reply : effects.replies) {
                                          released.push_back(reply.request);
                                      }
                                      if (on_release) on_release();
                                  },
                              .on_fenced = [this](const std::string&) { ++fenced; },
                              .on_stuck = [this](const std::string&) { ++stuck; }});
    }

    // One step of an engine: so many changes, and a reply that goes with them.
    void Step(RequestId request, std::size_t changes, bool urgent = true) {
        Effects& effects = committer->effects();
        for (std::size_t i = 0; i < changes; ++i) {
            effects.changes.emplace_back(SettingPut{Text("k" + std::to_string(++keys_)), "v"});
        }
        effects.urgent |= urgent && changes > 0;
        if (request != 0) effects.replies.push_back({request, internal::Answer{}});
        committer->NoteStep(++serial_);
    }
    void Send() { committer->SendGathered(); }
    void Answer(Result<void> result) {
        DrivenStore::Reply(store.commits, std::move(result));
        runtime.Run();
    }
    std::vector<std::uint64_t> Sequences() const {
        std::vector<std::uint64_t> sequences;
        for (const auto& [batch, done] : store.commits) sequences.push_back(batch->sequence);
        return sequences;
    }

    DrivenRuntime runtime;
    DrivenStore store;
    std::shared_ptr<Company> company;
    std::unique_ptr<Committer> committer;
    std::vector<RequestId> released;
    std::function<void()> on_release;
    int fenced = 0;
    int stuck = 0;

  private:
    int keys_ = 0;
    Serial serial_ = 0;
};

TEST_F(CommitterTest, EffectsAreReleasedAfterTheCommitThatHoldsThem) {
    Make();
    Step(1, 1);
    Send();
    runtime.Run();
    EXPECT_THAT(released, IsEmpty());
    ASSERT_EQ(store.commits.size(), 1u);
    EXPECT_EQ(store.commits.front().first->last_serial, 1u);
    Answer({});

    EXPECT_THAT(released, ElementsAre(1));
    EXPECT_TRUE(committer->idle());
}

// While the store is busy, what comes meanwhile becomes one commit.
TEST_F(CommitterTest, WhatGathersDuringACommitIsTheNextOne) {
    Make();
    for (RequestId i = 1; i <= 4; ++i) {
        Step(i, 1);
        Send();
    }
    EXPECT_THAT(Sequences(), ElementsAre(1));
    Answer({});
    EXPECT_THAT(released, ElementsAre(1));
    ASSERT_THAT(Sequences(), ElementsAre(2));
    EXPECT_EQ(store.commits.front().first->changes.size(), 3u);
    Answer({});

    EXPECT_THAT(released, ElementsAre(1, 2, 3, 4));
}

// One namespace is flooded, another one writes a little now and then. The flood is written in small
// pieces, so that the other one waits for one of these; alone it is written as it comes.
TEST_F(CommitterTest, BesideOthersLessIsWrittenAtOnce) {
    company = std::make_shared<Company>();
    Make();
    const auto largest = [&] {
        for (RequestId i = 1; i <= 100; ++i) {
            Step(i, 10);
            Send();
        }
        std::size_t most = 0;
        while (!store.commits.empty()) {
            most = std::max(most, store.commits.front().first->changes.size());
            Answer({});
        }
        return most;
    };
    EXPECT_GT(largest(), 400u);
    company->Note(3, runtime.Now().steady);
    company->Note(0, runtime.Now().steady);
    EXPECT_LE(largest(), 140u);
    runtime.Pass(6s);
    EXPECT_GT(largest(), 400u) << "the other one is quiet";
}

// An answer without a change must not overtake the change that it may be about.
TEST_F(CommitterTest, EffectsWithoutChangesKeepTheirTurn) {
    store.limits_now.pipeline_max = 2;
    Make();
    Step(1, 1);
    Send();
    Step(2, 0);
    Send();
    EXPECT_THAT(released, IsEmpty());
    Answer({});
    EXPECT_THAT(released, ElementsAre(1, 2));
    Step(3, 0);
    Send();

    EXPECT_THAT(released, ElementsAre(1, 2, 3)) << "at rest it need not wait";
}

// The answer was lost. Applied or not, the store will know the batch by its sequence.
TEST_F(CommitterTest, TheVerySameBatchIsSentAgainAfterAnUnknownResult) {
    Make();
    Step(1, 1);
    Send();
    const BatchPtr first = store.commits.front().first;
    Answer(Fail(ErrorCode::kUnknown, "no answer"));
    EXPECT_EQ(committer->trouble(), "no answer");
    Step(2, 1);
    Send();
    EXPECT_TRUE(store.commits.empty()) << "not before the delay, and nothing else first";
    runtime.Pass(50ms);
    ASSERT_EQ(store.commits.size(), 1u);
    EXPECT_EQ(store.commits.front().first, first);
    EXPECT_THAT(released, IsEmpty());
    Answer({});

    EXPECT_THAT(released, ElementsAre(1));
    EXPECT_EQ(committer->trouble(), "");
    EXPECT_THAT(Sequences(), ElementsAre(2));
}

TEST_F(CommitterTest, DelaysBetweenTriesGrowUpToTheirMaximum) {
    Make();
    Step(1, 1);
    Send();
    Duration expected = 50ms;
    for (int i = 0; i < 8; ++i) {
        Answer(Fail(ErrorCode::kUnavailable, "down"));
        runtime.Pass(expected - 1ms);
        EXPECT_TRUE(store.commits.empty()) << i;
        runtime.Pass(1ms);
        ASSERT_EQ(store.commits.size(), 1u) << i;
        expected = std::min<Duration>(expected * 2, 2s);
    }
}

// The disk is full, and the lease is renewed elsewhere: nobody else would end this term.
TEST_F(CommitterTest, ATermInWhichNoCommitIsTakenIsGivenUpAfterAWhile) {
    Make();
    Step(1, 1);
    Send();
    Answer(Fail(ErrorCode::kUnavailable, "the disk is full"));
    const Steady begun = runtime.Now().steady;
    while (stuck == 0) {
        runtime.Pass(2s);
        ASSERT_EQ(store.commits.size(), 1u);
        Answer(Fail(ErrorCode::kUnavailable, "the disk is full"));
        ASSERT_LT(runtime.Now().steady - begun, 1min);
    }
    EXPECT_GE(runtime.Now().steady - begun, 10s);
    EXPECT_EQ(fenced, 0);
    EXPECT_THAT(released, IsEmpty());
}

// A store that is overloaded refuses now and then, for hours.
TEST_F(CommitterTest, ACommitThatIsTakenBeginsTheWhileAnew) {
    Make();
    for (RequestId i = 1; i <= 20; ++i) {
        Step(i, 1);
        Send();
        Answer(Fail(ErrorCode::kUnavailable, "busy"));
        runtime.Pass(2s);
        Answer({});
    }
    EXPECT_EQ(stuck, 0);
    EXPECT_EQ(released.size(), 20u);
}

// Three commits are under way, and the first of them fails.
TEST_F(CommitterTest, APipelineThatFailsIsSentAgainInOrder) {
    store.limits_now.pipeline_max = 3;
    Make();
    for (RequestId i = 1; i <= 4; ++i) {
        Step(i, 1);
        Send();
    }
    ASSERT_THAT(Sequences(), ElementsAre(1, 2, 3));
    Answer(Fail(ErrorCode::kUnknown, "no answer"));
    Answer({});  // It was applied after all: the second one was taken.
    Answer(Fail(ErrorCode::kUnavailable, "busy"));
    EXPECT_THAT(released, IsEmpty()) << "the second waits for the first";
    runtime.Pass(50ms);
    ASSERT_THAT(Sequences(), ElementsAre(1, 3));
    Answer({});
    EXPECT_THAT(released, ElementsAre(1, 2));
    Answer({});
    Answer({});

    EXPECT_THAT(released, ElementsAre(1, 2, 3, 4));
}

// Redis is out of memory: the first batch says so, those behind it only that they are behind.
TEST_F(CommitterTest, TheFirstCauseIsTheOneThatIsTold) {
    store.limits_now.pipeline_max = 2;
    Make();
    for (RequestId i = 1; i <= 2; ++i) {
        Step(i, 1);
        Send();
    }
    Answer(Fail(ErrorCode::kUnavailable, "out of memory"));
    Answer(Fail(ErrorCode::kUnavailable, "an earlier batch was not applied"));
    EXPECT_EQ(committer->trouble(), "out of memory");
    runtime.Pass(50ms);
    Answer(Fail(ErrorCode::kUnavailable, "the disk is full"));
    EXPECT_EQ(committer->trouble(), "the disk is full");
}

// A sink that is released to steps down: batches that were taken meanwhile are the next leader's.
TEST_F(CommitterTest, NothingIsReleasedOnceTheTermIsOver) {
    store.limits_now.pipeline_max = 2;
    Make();
    on_release = [this] { committer->Close(); };
    for (RequestId i = 1; i <= 3; ++i) {
        Step(i, 1);
        Send();
    }
    DrivenStore::Reply(store.commits, Result<void>(Fail(ErrorCode::kUnknown, "no answer")));
    Answer({});
    runtime.Pass(50ms);
    Answer({});
    EXPECT_THAT(released, ElementsAre(1));
    EXPECT_THAT(store.commits, IsEmpty()) << "the third is not sent";
}

TEST_F(CommitterTest, AFencedCommitEndsTheTermAndReleasesNothing) {
    Make();
    Step(1, 1);
    Send();
    Answer(Fail(ErrorCode::kFenced, "b leads"));

    EXPECT_EQ(fenced, 1);
    EXPECT_THAT(released, IsEmpty());
}

// That an attempt began is not worth a commit of its own.
TEST_F(CommitterTest, LazyChangesGoAlongOrAfterAWhile) {
    Make();
    Step(1, 1, false);
    Send();
    EXPECT_THAT(released, ElementsAre(1));
    EXPECT_TRUE(store.commits.empty());
    Step(2, 1);
    Send();
    ASSERT_EQ(store.commits.size(), 1u);
    EXPECT_EQ(store.commits.front().first->changes.size(), 2u);
    Answer({});

    Step(3, 1, false);
    Send();
    runtime.Pass(999ms);
    EXPECT_TRUE(store.commits.empty());
    runtime.Pass(1ms);
    ASSERT_EQ(store.commits.size(), 1u);
}

// etcd: 128 operations per transaction, two of them the fence's.
TEST_F(CommitterTest, BatchesAreCutToWhatTheStoreTakes) {
    store.limits_now = {.changes_max = 126, .bytes_max = 1 << 20, .pipeline_max = 1};
    Make();
    for (RequestId i = 1; i <= 40; ++i) Step(i, 32);
    Send();
    std::size_t changes = 0;
    while (!store.commits.empty()) {
        EXPECT_LE(store.commits.front().first->changes.size(), 126u);
        changes += store.commits.front().first->changes.size();
        Answer({});
    }

    EXPECT_EQ(changes, 40u * 32u);
    EXPECT_EQ(released.size(), 40u);
    EXPECT_TRUE(std::ranges::is_sorted(released));
}

TEST_F(CommitterTest, BatchesAreCutByTheirBytesToo) {
    store.limits_now = {.changes_max = 1000, .bytes_max = 10'000, .pipeline_max = 1};
    Make();
    for (RequestId i = 1; i <= 40; ++i) Step(i, 2);
    Send();
    while (!store.commits.empty()) {
        std::size_t bytes = 0;
        for (const Change& change : store.commits.front().first->changes) bytes += SizeOf(change);
        EXPECT_LE(bytes, 10'000u);
        Answer({});
    }
    EXPECT_EQ(released.size(), 40u);
}

// The term ended while a commit was under way; its answer comes to nobody.
TEST_F(CommitterTest, AnAnswerAfterItIsGoneIsDropped) {
    Make();
    Step(1, 1);
    Send();
    committer.reset();
    Answer({});

    EXPECT_THAT(released, IsEmpty());
}

// A bug of ours: the store says that the batch contradicts its rows. Sent again it would do so
// again.
TEST_F(CommitterTest, ABatchThatIsImpossibleEndsTheTermAndIsNotSentAgain) {
    const LogCapture log;
    Make();
    Step(1, 1);
    Send();
    Answer(Fail(ErrorCode::kInvalid, "execution x is not live"));
    runtime.Pass(1min);

    EXPECT_EQ(fenced, 1);
    EXPECT_THAT(released, IsEmpty());
    EXPECT_THAT(store.commits, IsEmpty());
    EXPECT_THAT(log.lines(), ElementsAre(::testing::HasSubstr("execution x is not live")));
}

}  // namespace
}  // namespace takt::internal
