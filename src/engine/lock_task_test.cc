// Locks that tasks declare, and that handlers ask for.
#include "engine/lock_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LockTaskTest : public LockHistory {
  protected:
    static OnceSpec With(std::string id, std::vector<LockWant> locks) {
        return {.id = std::move(id), .locks = std::move(locks)};
    }
    std::string WhyWaits(const std::string& id) {
        const auto explanation = engine().Explain(ExecutionId(Text(id)), {});
        return explanation ? explanation->sentence : "";
    }
};

TEST_F(LockTaskTest, AnExecutionStartsWhenItHasAllItsLocksAndIsGivenTheTokens) {
    At(0s, Acquire("a", {.ttl = 1h}));
    const Text id = LastAnswer().lock_id;
    At(0s, Join({.id = "w", .capacity = 10}));
    At(1s, Once(With("x", {{.name = "a"}, {.name = "b"}})));
    EXPECT_THAT(AssignedIds(), IsEmpty());
    EXPECT_EQ(CodeOf("x"), "lock");
    At(2s, Release("a", id));

    ASSERT_THAT(AssignedIds(), ElementsAre("x"));
    ASSERT_THAT(assigns[0].locks, SizeIs(2));
    EXPECT_EQ(assigns[0].locks[0].name, "a");
    EXPECT_GT(assigns[0].locks[0].token, LockToken(1, 1));
    EXPECT_EQ(RowCount(), 1u);
    At(3s, Acquire("b"));
    EXPECT_FALSE(LastAnswer().held);
    EXPECT_EQ(LastAnswer().holders[0].execution.text(), "x");
    At(4s, Success("x"));
    EXPECT_EQ(RowCount(), 0u);
    At(5s, Acquire("b"));
    EXPECT_TRUE(LastAnswer().held);
}

// An execution that cannot run holds nothing that others need.
TEST_F(LockTaskTest, AnExecutionWithoutAWorkerHoldsNoLock) {
    At(0s, Once(With("x", {{.name = "a"}})));
    At(1s, Acquire("a", {.ttl = 1h}));
    EXPECT_TRUE(LastAnswer().held);
    const Text id = LastAnswer().lock_id;
    At(2s, Join({.id = "w"}));
    EXPECT_EQ(CodeOf("x"), "lock");
    At(3s, Release("a", id));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

// One asks for two locks, others for one of them each: it would wait for ever if they overtook it.
TEST_F(LockTaskTest, NobodyOvertakesWhoWaitsForSeveral) {
    At(0s, Acquire("a", {.ttl = 1h}));
    const Text a = LastAnswer().lock_id;
    At(0s, Join({.id = "w", .capacity = 10}));
    At(1s, Once(With("both", {{.name = "a"}, {.name = "b"}})));
    At(2s, Once(With("late", {{.name = "b"}})));
    EXPECT_THAT(AssignedIds(), IsEmpty());
    EXPECT_THAT(WhyWaits("late"), HasSubstr("1 other before it"));
    const RequestId client = AskAt(3s, Acquire("b", {.wait = 1h}));
    At(4s, Release("a", a));
    EXPECT_THAT(AssignedIds(), ElementsAre("both"));
    At(5s, Success("both"));

    EXPECT_THAT(AssignedIds(), ElementsAre("both", "late"));
    At(6s, Success("late"));
    EXPECT_TRUE(Held(client));
}

TEST_F(LockTaskTest, ALineIsOrderedByPriorityThenAge) {
    At(0s, Acquire("a", {.ttl = 1h}));
    const Text a = LastAnswer().lock_id;
    At(0s, Join({.id = "w", .capacity = 10}));
    At(1s, Once(With("old", {{.name = "a"}})));
    const RequestId client = AskAt(2s, Acquire("a", {.wait = 1h}));
    OnceSpec urgent = With("urgent", {{.name = "a"}});
    urgent.priority = 9;
    At(3s, Once(urgent));
    At(4s, Release("a", a));
    EXPECT_THAT(AssignedIds(), ElementsAre("urgent"));
    At(5s, Success("urgent"));
    EXPECT_THAT(AssignedIds(), ElementsAre("urgent", "old"));
    EXPECT_FALSE(Held(client));
    At(6s, Success("old"));

    EXPECT_TRUE(Held(client));
}

// All workers are busy when the lock is free: the execution has its place in the line all the same.
TEST_F(LockTaskTest, ALockIsKeptWhileTheWorkersAreBusy) {
    At(0s, Acquire("a", {.ttl = 1h}));
    const Text a = LastAnswer().lock_id;
    At(0s, Join({.id = "w"}));
    At(1s, Once(With("x", {{.name = "a"}})));
    At(2s, Once({.id = "plain"}));
    EXPECT_THAT(AssignedIds(), ElementsAre("plain"));
    const RequestId client = AskAt(3s, Acquire("a", {.wait = 1h}));
    At(4s, Once({.id = "later"}));
    At(5s, Release("a", a));
    EXPECT_FALSE(Held(client));
    At(6s, Success("plain"));

    // Older than what waits for the worker.
    EXPECT_THAT(AssignedIds(), ElementsAre("plain", "x"));
    At(7s, Success("x"));
    EXPECT_TRUE(Held(client));
    EXPECT_THAT(AssignedIds(), ElementsAre("plain", "x", "later"));
}

TEST_F(LockTaskTest, WhatIsKeptIsGivenBackWhenTheWorkersAreGone) {
    At(0s, Acquire("a", {.ttl = 1h}));
    const Text a = LastAnswer().lock_id;
    At(0s, Join({.id = "w"}));
    At(1s, Once(With("x", {{.name = "a"}})));
    At(2s, Once({.id = "plain"}));
    const RequestId client = AskAt(3s, Acquire("a", {.wait = 1h}));
    At(5s, Release("a", a));
    EXPECT_FALSE(Held(client));
    At(6s, Cut("w"));
    EXPECT_TRUE(Held(client));
    At(7s, Join({.id = "w2"}));
    EXPECT_EQ(CodeOf("x"), "lock");
    At(8s, Release("a", AnswerTo(client).lock_id));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

TEST_F(LockTaskTest, WhatIsKeptIsGivenBackWhenTheQueueIsPaused) {
    At(0s, Acquire("a", {.ttl = 1h}));
    const Text a = LastAnswer().lock_id;
    At(0s, Join({.id = "w"}));
    At(1s, Once(With("x", {{.name = "a"}})));
    At(2s, Once({.id = "plain"}));
    const RequestId client = AskAt(3s, Acquire("a", {.wait = 1h}));
    At(5s, Release("a", a));
    At(6s, Limit("default", {.paused = true}));
    EXPECT_TRUE(Held(client));
    At(7s, Release("a", AnswerTo(client).lock_id));
    At(8s, Limit("default", {}));
    At(9s, Success("plain"));

    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
}

TEST_F(LockTaskTest, ARetryAcquiresAgain) {
    At(0s, Join({.id = "w", .capacity = 10}));
    OnceSpec spec = With("x", {{.name = "a"}});
    spec.retry = RetryPolicy{.delay = 10s, .jitter = 0};
    At(0s, Once(spec));
    const std::uint64_t first = assigns[0].locks[0].token;
    At(1s, Failure("x"));
    At(2s, Acquire("a", {.ttl = 1h}));
    EXPECT_TRUE(LastAnswer().held);
    const Text id = LastAnswer().lock_id;
    Until(20s);
    EXPECT_EQ(CodeOf("x"), "lock");
    At(21s, Release("a", id));

    ASSERT_THAT(assigns, SizeIs(2));
    EXPECT_GT(assigns[1].locks[0].token, first + 1);
}

TEST_F(LockTaskTest, LocksEndWithTheAttemptWhoeverEndsIt) {
    config.worker_lease = 30s;
    At(0s, Join({.id = "w", .capacity = 10}));
    OnceSpec spec = With("x", {{.name = "a"}});
    spec.retry = RetryPolicy{.retries_max = 0};
    At(0s, Once(spec));
    At(1s, CancelOf("x"));
    At(1s, ReportOf(RefOf("x"), "w", false));
    EXPECT_EQ(RowCount(), 0u);
    spec.id = "y";
    At(2s, Once(spec));
    EXPECT_EQ(RowCount(), 1u);
    Until(40s);  // Its worker is lost.
    EXPECT_EQ(RowCount(), 0u);
    At(40s, Acquire("a"));
    EXPECT_TRUE(LastAnswer().held);
}

TEST_F(LockTaskTest, ATaskThatAsksForMoreThanThereIsIsRefused) {
    At(0s, Once(With("x", {{.name = "a", .permits = 2}})));
    EXPECT_EQ(LastReply().error().field, "locks");
    At(0s, Put({.every = 1h, .options = {.locks = {{.name = "a", .permits = 2}}}}));
    EXPECT_EQ(LastReply().error().field, "locks");
}

TEST_F(LockTaskTest, AnExecutionFailsWhenItsLockWasMadeTooSmall) {
    At(0s, Resize("a", 2));
    At(0s, Once(With("x", {{.name = "a", .permits = 2}})));
    At(0s, Resize("a", 1));
    At(1s, Join({.id = "w", .capacity = 10}));
    EXPECT_EQ(StatusOf("x"), Status::kFailed);
    EXPECT_EQ(Row("x").outcome->reason, Reason::kLockTooSmall);

    // Also one that stands in line already.
    At(2s, Resize("a", 2));
    At(2s, Acquire("a", {.ttl = 1h}));
    const Text id = LastAnswer().lock_id;
    At(3s, Once(With("y", {{.name = "a", .permits = 2}})));
    At(4s, Resize("a", 1));
    At(5s, Release("a", id));
    EXPECT_EQ(StatusOf("y"), Status::kFailed);
    EXPECT_FALSE(engine().FindLock("a"));
}

TEST_F(LockTaskTest, CancelAndExpiryLeaveTheLine) {
    At(0s, Acquire("a", {.ttl = 1h}));
    const Text a = LastAnswer().lock_id;
    At(0s, Join({.id = "w", .capacity = 10}));
    At(1s, Once(With("x", {{.name = "a"}})));
    OnceSpec spec = With("y", {{.name = "a"}});
    spec.expires_after = 10s;
    At(1s, Once(spec));
    At(2s, CancelOf("x"));
    Until(12s);
    EXPECT_EQ(Row("y").outcome->reason, Reason::kExpired);
    At(13s, Release("a", a));

    EXPECT_THAT(AssignedIds(), IsEmpty());
    EXPECT_FALSE(engine().FindLock("a"));
}

TEST_F(LockTaskTest, LocksGoTogetherWithConcurrencyLimitsAndTurns) {
    At(0s, Acquire("a", {.ttl = 1h}));
    const Text a = LastAnswer().lock_id;
    At(0s, Join({.id = "w", .capacity = 10}));
    OnceSpec limited = With("x", {{.name = "a"}});
    limited.concurrency_key = "db";
    limited.concurrency_max = 1;
    At(1s, Once(limited));
    limited.id = "y";
    limited.locks = {};
    At(2s, Once(limited));
    // One that waits for a lock takes no room under the limit.
    EXPECT_THAT(AssignedIds(), ElementsAre("y"));
    At(3s, Release("a", a));
    EXPECT_EQ(CodeOf("x"), "concurrency_limit");
    // … and who waits for room holds no lock.
    At(4s, Acquire("a"));
    EXPECT_TRUE(LastAnswer().held);
    At(5s, Release("a", LastAnswer().lock_id));
    At(6s, Success("y"));
    EXPECT_EQ(StatusOf("x"), Status::kScheduled);
    At(7s, Success("x"));

    At(8s, Put({.every = 1h, .options = {.locks = {{.name = "a"}}}}));
    At(8s, TriggerOf("report"));
    At(8s, TriggerOf("report"));
    FinishAll(9s);
    FinishAll(10s);
    EXPECT_EQ(StatusOf(RunOf("report", 1)), Status::kSuccess);
}

// A million wait behind one lock: a step must not move them all.
TEST_F(LockTaskTest, ManyThatDeclareOneLockAreMovedABoundedNumberAStep) {
    config.bytes_per_step = 48 << 10;
    for (int i = 0; i < 500; ++i) At(0s, Once(With("x" + std::to_string(i), {{.name = "a"}})));
    At(1s, Join({.id = "w", .capacity = 10}));
    Until(2s);
    EXPECT_THAT(AssignedIds(), ElementsAre("x0"));
    EXPECT_EQ(engine().lock_counts().waiting, 499u);
    for (int i = 0; i < 500; ++i) At(3s, Success("x" + std::to_string(i)));

    EXPECT_EQ(engine().live_count(), 0u);
    EXPECT_EQ(RowCount(), 0u);
}

// --- Leaders ------------------------------------------------------------------------------------

TEST_F(LockTaskTest, AfterATakeoverAnAttemptKeepsItsLocksWhileItsWorkerIsAwaited) {
    config.worker_lease = 30s;
    At(0s, Join({.id = "w"}));
    At(0s, Once(With("x", {{.name = "a"}})));
    const AttemptRef attempt = RefOf("x");
    Restart(1s);
    At(2s, Acquire("a"));
    EXPECT_FALSE(LastAnswer().held);
    At(3s, Join({.id = "w", .holding = {attempt}}));
    At(4s, Acquire("a"));
    EXPECT_FALSE(LastAnswer().held);
    At(5s, Success("x"));
    At(6s, Acquire("a"));

    EXPECT_TRUE(LastAnswer().held);
}

TEST_F(LockTaskTest, AWorkerThatDoesNotComeBackLosesItsLocks) {
    config.worker_lease = 30s;
    At(0s, Join({.id = "w"}));
    At(0s, Once(With("x", {{.name = "a"}})));
    Restart(1s);
    const RequestId client = AskAt(2s, Acquire("a", {.ttl = 1h, .wait = 1h}));
    Until(30s);
    EXPECT_FALSE(Held(client));
    Until(32s);

    EXPECT_TRUE(Held(client));
    EXPECT_EQ(RowCount(), 1u);
}

// --- Handlers -----------------------------------------------------------------------------------

TEST_F(LockTaskTest, AHandlerHasALockUntilItsAttemptEnds) {
    At(0s, Join({.id = "w", .capacity = 10}));
    At(0s, Once({.id = "x"}));
    At(1s, AskFor("x", 1, "a"));
    ASSERT_THAT(lock_verdicts, SizeIs(1));
    EXPECT_EQ(lock_verdicts[0].token, LockToken(1, 1));
    At(2s, Acquire("a"));
    EXPECT_FALSE(LastAnswer().held);
    // It lost the answer.
    At(3s, AskFor("x", 1, "a"));
    ASSERT_THAT(lock_verdicts, SizeIs(2));
    EXPECT_EQ(lock_verdicts[1].token, LockToken(1, 1));
    At(4s, AskFor("x", 2, "a"));
    ASSERT_THAT(lock_verdicts, SizeIs(3));
    EXPECT_THAT(lock_verdicts[2].why.str(), HasSubstr("holds lock 'a' already"));
    At(5s, Success("x"));

    EXPECT_EQ(RowCount(), 0u);
    At(6s, AskFor("x", 3, "a"));
    EXPECT_EQ(lock_verdicts.back().why, "the attempt is over");
}

TEST_F(LockTaskTest, AHandlerWaitsOrIsTold) {
    At(0s, Acquire("a", {.ttl = 1h}));
    const Text a = LastAnswer().lock_id;
    At(0s, Join({.id = "w", .capacity = 10}));
    At(0s, Once({.id = "x"}));
    At(1s, AskFor("x", 1, "a", 5s));
    EXPECT_EQ(CodeOf("x"), "handler_lock");
    Until(6s);
    ASSERT_THAT(lock_verdicts, SizeIs(1));
    EXPECT_EQ(lock_verdicts[0].token, 0u);
    At(7s, AskFor("x", 2, "a", 5s));
    At(8s, Release("a", a));
    ASSERT_THAT(lock_verdicts, SizeIs(2));
    EXPECT_GT(lock_verdicts[1].token, 0u);
    At(9s, DropLock{.session = SessionOf("w"), .attempt = RefOf("x"), .ask = 2});

    EXPECT_EQ(RowCount(), 0u);
}

TEST_F(LockTaskTest, AfterATakeoverAHandlerHasItsLockAndAsksAgainForWhatItWaitedFor) {
    At(0s, Acquire("b", {.ttl = 1h}));
    const Text b = LastAnswer().lock_id;
    At(0s, Join({.id = "w"}));
    At(0s, Once({.id = "x"}));
    At(1s, AskFor("x", 1, "a"));
    At(1s, AskFor("x", 2, "b"));
    const AttemptRef attempt = RefOf("x");
    Restart(2s);
    At(3s, Join({.id = "w", .holding = {attempt}}));
    At(3s, AskFor("x", 1, "a"));
    At(3s, AskFor("x", 2, "b"));
    ASSERT_THAT(lock_verdicts, SizeIs(2));
    EXPECT_EQ(lock_verdicts[1].token, LockToken(1, 2));
    At(4s, Release("b", b));
    ASSERT_THAT(lock_verdicts, SizeIs(3));
    EXPECT_EQ(lock_verdicts[2].token, LockToken(2, 1));
    At(5s, Success("x"));

    EXPECT_EQ(RowCount(), 0u);
}

// Each has what the other waits for; the one whose patience ends first lets the other go on.
TEST_F(LockTaskTest, ACircleThroughHandlersIsExplainedAndEnds) {
    At(0s, Join({.id = "w", .capacity = 10}));
    At(0s, Once({.id = "x"}));
    At(0s, Once(With("y", {{.name = "b"}})));
    At(1s, AskFor("x", 1, "a"));
    At(2s, AskFor("y", 1, "a", 20s));
    EXPECT_EQ(CodeOf("y"), "handler_lock");
    At(3s, AskFor("x", 2, "b", 30s));
    EXPECT_EQ(CodeOf("x"), "lock_circle");
    EXPECT_THAT(WhyWaits("x"), HasSubstr("x → y → x"));
    lock_verdicts.clear();
    Until(22s);
    ASSERT_THAT(lock_verdicts, SizeIs(1));
    EXPECT_EQ(lock_verdicts[0].token, 0u);
    At(23s, Failure("y", false));

    EXPECT_GT(lock_verdicts.back().token, 0u);
}

}  // namespace
}  // namespace takt::internal
