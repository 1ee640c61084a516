// Locks that clients hold for a lease: one at a time, in order, over leaders.
#include "engine/lock_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LockTest : public LockHistory {};

// Two machines start the same nightly job by cron; only one may do it.
TEST_F(LockTest, OneHoldsALockAndTheOtherIsToldWho) {
    At(0s, Acquire("ledger", {.owner = "host-a"}));
    const LockAnswer first = LastAnswer();
    EXPECT_TRUE(first.held);
    EXPECT_EQ(first.token, LockToken(1, 1));
    EXPECT_EQ(first.expires_at, WallAt(30s));
    EXPECT_EQ(RowCount(), 1u);

    At(1s, Acquire("ledger", {.owner = "host-b"}));

    EXPECT_FALSE(LastAnswer().held);
    ASSERT_THAT(LastAnswer().holders, SizeIs(1));
    EXPECT_EQ(LastAnswer().holders[0].owner, "host-a");
    EXPECT_EQ(LastAnswer().holders[0].lock_id, first.lock_id);
}

TEST_F(LockTest, AReleaseGivesTheLockToTheFirstInLine) {
    At(0s, Acquire("ledger"));
    const Text id = LastAnswer().lock_id;
    const RequestId second = AskAt(1s, Acquire("ledger", {.wait = 1min}));
    const RequestId third = AskAt(2s, Acquire("ledger", {.wait = 1min}));
    EXPECT_FALSE(Answered());
    At(3s, Release("ledger", id));

    EXPECT_TRUE(Held(second));
    EXPECT_FALSE(replies.contains(third));
    EXPECT_GT(AnswerTo(second).token, LockToken(1, 1));
    // Nothing is left of a lock that is free.
    At(4s, Release("ledger", AnswerTo(second).lock_id));
    At(5s, Release("ledger", AnswerTo(third).lock_id));
    EXPECT_EQ(RowCount(), 0u);
    EXPECT_FALSE(engine().FindLock("ledger"));
    EXPECT_EQ(EventCount(EventType::kLockAcquired), 3u);
    EXPECT_EQ(EventCount(EventType::kLockReleased), 3u);
}

TEST_F(LockTest, WhoeverWaitsInVainIsToldInTime) {
    At(0s, Acquire("ledger", {.ttl = 1h}));
    const RequestId second = AskAt(1s, Acquire("ledger", {.wait = 10s}));
    Until(10'999ms);
    EXPECT_FALSE(replies.contains(second));
    Until(11s);

    ASSERT_TRUE(replies.contains(second));
    EXPECT_FALSE(Held(second));
    EXPECT_THAT(AnswerTo(second).holders, SizeIs(1));
    EXPECT_EQ(engine().lock_counts().waiting, 0u);
}

// A holder died: its lease ends, and only then another one has the lock.
TEST_F(LockTest, ALeaseEndsUnlessItIsRenewed) {
    At(0s, Acquire("ledger", {.ttl = 10s}));
    const Text id = LastAnswer().lock_id;
    const RequestId second = AskAt(1s, Acquire("ledger", {.wait = 1min}));
    At(9s, Renew("ledger", id));
    EXPECT_EQ(LastAnswer().expires_at, WallAt(19s));
    EXPECT_EQ(changes_in_last_commit(), 0u);  // A renewal is not written.
    Until(18'999ms);
    EXPECT_FALSE(Held(second));
    Until(19s);
    EXPECT_TRUE(Held(second));
    EXPECT_EQ(EventCount(EventType::kLockLost), 1u);

    At(20s, Renew("ledger", id));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    At(20s, Release("ledger", id));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    EXPECT_TRUE(engine().FindLock("ledger"));
}

// The leader's process was paused; the renewal lies in its inbox behind the tick.
TEST_F(LockTest, ALeaseThatIsLookedAtLateIsGivenAMomentMore) {
    At(0s, Acquire("ledger", {.ttl = 10s}));
    const Text id = LastAnswer().lock_id;
    tick_between = false;
    At(1min, Tick{});
    At(1min, Renew("ledger", id));

    EXPECT_TRUE(LastAnswer().held);
}

// A client that lost the answer asks again, to whoever leads then.
TEST_F(LockTest, TheSameRequestIdGivesTheSameLock) {
    At(0s, Acquire("ledger", {.request_id = "r-1"}));
    const LockAnswer first = LastAnswer();
    At(20s, Acquire("ledger", {.request_id = "r-1"}));
    EXPECT_EQ(LastAnswer().lock_id, first.lock_id);
    EXPECT_EQ(LastAnswer().token, first.token);
    EXPECT_EQ(LastAnswer().expires_at, WallAt(50s));
    Restart(21s);
    At(22s, Acquire("ledger", {.request_id = "r-1"}));
    EXPECT_EQ(LastAnswer().lock_id, first.lock_id);
    EXPECT_EQ(LastAnswer().token, first.token);
    EXPECT_EQ(RowCount(), 1u);

    At(23s, Acquire("ledger", {.ttl = 31s, .request_id = "r-1"}));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    At(24s, Acquire("ledger", {.request_id = "r-2"}));
    EXPECT_FALSE(LastAnswer().held);
}

TEST_F(LockTest, AskedAgainWhileItWaitsAQuestionKeepsItsPlace) {
    At(0s, Acquire("ledger"));
    const Text id = LastAnswer().lock_id;
    const RequestId first = AskAt(1s, Acquire("ledger", {.wait = 5s, .request_id = "r-1"}));
    const RequestId other = AskAt(2s, Acquire("ledger", {.wait = 1min}));
    const RequestId again = AskAt(3s, Acquire("ledger", {.wait = 1min, .request_id = "r-1"}));
    ASSERT_TRUE(replies.contains(first));
    EXPECT_FALSE(replies.at(first).has_value());
    At(10s, Release("ledger", id));

    EXPECT_TRUE(Held(again));
    EXPECT_FALSE(replies.contains(other));
}

// A connection lasts no longer than a minute, a wait may.
TEST_F(LockTest, AskedAgainSoonAfterItWaitedInVainAQuestionKeepsItsPlace) {
    At(0s, Acquire("ledger", {.ttl = 1h}));
    const Text id = LastAnswer().lock_id;
    At(1s, Acquire("ledger", {.wait = 5s, .request_id = "r-1"}));
    const RequestId other = AskAt(2s, Acquire("ledger", {.wait = 1h}));
    const RequestId again = AskAt(7s, Acquire("ledger", {.wait = 1min, .request_id = "r-1"}));
    At(10s, Release("ledger", id));
    EXPECT_TRUE(Held(again));
    EXPECT_FALSE(Held(other));

    // Too late: its place is another's.
    At(11s, Acquire("ledger", {.wait = 5s, .request_id = "r-2"}));
    const RequestId later = AskAt(20s, Acquire("ledger", {.wait = 1h}));
    At(26'001ms, Acquire("ledger", {.wait = 1min, .request_id = "r-2"}));
    At(27s, Release("ledger", AnswerTo(again).lock_id));
    At(27s, Release("ledger", AnswerTo(other).lock_id));
    EXPECT_TRUE(Held(later));
}

TEST_F(LockTest, WhoeverHasGoneIsPassedOver) {
    At(0s, Acquire("ledger"));
    const Text id = LastAnswer().lock_id;
    At(1s, Acquire("ledger", {.wait = 1min, .request_id = "gone"}));
    const RequestId next = AskAt(2s, Acquire("ledger", {.wait = 1min}));
    At(3s, WithdrawLock{.name = "ledger", .request_id = "gone"});
    At(4s, Release("ledger", id));

    EXPECT_TRUE(Held(next));
}

// A broken connection: it asks again, and finds its place.
TEST_F(LockTest, WhoeverHasGoneAndAsksAgainSoonIsAsOldAsItWas) {
    At(0s, Acquire("ledger"));
    const Text id = LastAnswer().lock_id;
    At(1s, Acquire("ledger", {.wait = 1min, .request_id = "back"}));
    const RequestId next = AskAt(2s, Acquire("ledger", {.wait = 1min}));
    At(3s, WithdrawLock{.name = "ledger", .request_id = "back"});
    const RequestId back = AskAt(4s, Acquire("ledger", {.wait = 1min, .request_id = "back"}));
    At(5s, Release("ledger", id));
    EXPECT_TRUE(Held(back));
    EXPECT_FALSE(Held(next));
}

// It has asked again before its first connection was known to be broken.
TEST_F(LockTest, AQuestionIsNotWithdrawnWithTheOneWhosePlaceItTook) {
    At(0s, Acquire("ledger"));
    const Text id = LastAnswer().lock_id;
    AcquireLock first = Acquire("ledger", {.wait = 1min, .request_id = "r"});
    first.caller = 1;
    At(1s, first);
    AcquireLock second = Acquire("ledger", {.wait = 1min, .request_id = "r"});
    second.caller = 2;
    const RequestId again = AskAt(2s, second);
    At(3s, WithdrawLock{.name = "ledger", .request_id = "r", .caller = 1});
    At(4s, Release("ledger", id));
    EXPECT_TRUE(Held(again));
}

TEST_F(LockTest, ALockThatNobodyHeardOfIsLetGo) {
    At(0s, Acquire("ledger", {.request_id = "made-up"}));
    EXPECT_TRUE(LastAnswer().held);
    At(1s, WithdrawLock{.name = "ledger", .request_id = "made-up"});
    EXPECT_EQ(RowCount(), 1u) << "its caller may ask again";
    At(1s, WithdrawLock{.name = "ledger", .request_id = "made-up", .for_good = true});
    EXPECT_EQ(RowCount(), 0u);
}

// --- More than one permit -----------------------------------------------------------------------

TEST_F(LockTest, ASemaphoreHasAsManyHoldersAsPermits) {
    At(0s, Resize("gpu", 3));
    At(0s, Acquire("gpu", {.permits = 2}));
    const Text two = LastAnswer().lock_id;
    At(0s, Acquire("gpu"));
    EXPECT_TRUE(LastAnswer().held);
    const RequestId more = AskAt(1s, Acquire("gpu", {.wait = 1min}));
    EXPECT_FALSE(Held(more));
    At(2s, Release("gpu", two));

    EXPECT_TRUE(Held(more));
    EXPECT_EQ(engine().FindLock("gpu")->taken, 2u);
}

// A client that asks for many would starve if those behind it took what is free for one.
TEST_F(LockTest, FreePermitsAreKeptForTheFirstInLine) {
    At(0s, Resize("gpu", 3));
    At(0s, Acquire("gpu", {.ttl = 1h}));
    const Text id = LastAnswer().lock_id;
    const RequestId all = AskAt(1s, Acquire("gpu", {.wait = 1h, .permits = 3}));
    const RequestId one = AskAt(2s, Acquire("gpu", {.wait = 1h}));
    At(2s, Acquire("gpu"));
    EXPECT_FALSE(LastAnswer().held);
    EXPECT_FALSE(Held(one));
    At(3s, Release("gpu", id));
    EXPECT_TRUE(Held(all));
    EXPECT_FALSE(Held(one));
    At(4s, Release("gpu", AnswerTo(all).lock_id));

    EXPECT_TRUE(Held(one));
}

TEST_F(LockTest, MorePermitsThanThereAreAreRefused) {
    At(0s, Acquire("ledger", {.permits = 2}));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().code, ErrorCode::kInvalid);
    EXPECT_EQ(LastReply().error().field, "permits");
    EXPECT_FALSE(engine().FindLock("ledger"));
}

TEST_F(LockTest, ALockThatIsMadeLargerServesThoseWhoWait) {
    At(0s, Acquire("gpu"));
    const RequestId second = AskAt(1s, Acquire("gpu", {.wait = 1h}));
    const RequestId third = AskAt(1s, Acquire("gpu", {.wait = 1h}));
    At(2s, Resize("gpu", 2));
    EXPECT_TRUE(Held(second));
    EXPECT_FALSE(Held(third));
    // The next leader knows it, too.
    Restart(3s);
    EXPECT_EQ(engine().FindLock("gpu")->permits, 2u);
}

TEST_F(LockTest, ALockThatIsMadeSmallerRefusesWhoAsksForMore) {
    At(0s, Resize("gpu", 3));
    At(0s, Acquire("gpu", {.permits = 3}));
    const Text id = LastAnswer().lock_id;
    const RequestId many = AskAt(1s, Acquire("gpu", {.wait = 1h, .permits = 3}));
    const RequestId one = AskAt(1s, Acquire("gpu", {.wait = 1h}));
    At(2s, Resize("gpu", 2));
    At(3s, Release("gpu", id));

    ASSERT_TRUE(replies.contains(many));
    EXPECT_EQ(replies.at(many).error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(Held(one));
}

// --- Operators ----------------------------------------------------------------------------------

TEST_F(LockTest, AnOperatorTakesALockAway) {
    At(0s, Acquire("ledger", {.ttl = 1h}));
    const Text id = LastAnswer().lock_id;
    const RequestId next = AskAt(1s, Acquire("ledger", {.wait = 1h}));
    At(2s, Free("ledger", id));
    EXPECT_TRUE(LastReply());
    EXPECT_TRUE(Held(next));
    At(3s, Renew("ledger", id));
    EXPECT_FALSE(LastReply());
    At(3s, Free("ledger", id));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
    At(3s, Free("other"));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kNotFound);
}

// There may be thousands: a step ends as many as fit a batch, and none that came meanwhile.
TEST_F(LockTest, AnOperatorTakesALockAwayFromAllWhoHaveItNow) {
    At(0s, Resize("gpu", 1000));
    for (int i = 0; i < 200; ++i) At(0s, Acquire("gpu", {.ttl = 1h}));
    At(1s, Free("gpu"));
    const RequestId freed = LastRequest();
    At(1s, Acquire("gpu"));
    Until(2s);

    EXPECT_TRUE(replies.at(freed));
    EXPECT_EQ(RowCount(), 1u);
    EXPECT_LE(changes_in_largest_step(), 40u);
}

// --- Leaders ------------------------------------------------------------------------------------

TEST_F(LockTest, ANewLeaderKnowsTheHolderAndGivesHigherTokens) {
    At(0s, Acquire("ledger", {.ttl = 1h}));
    const LockAnswer first = LastAnswer();
    for (int i = 0; i < 5; ++i) At(0s, Acquire("other-" + std::to_string(i)));
    Restart(1s);
    At(2s, Acquire("ledger"));
    EXPECT_FALSE(LastAnswer().held);
    At(3s, Release("ledger", first.lock_id));
    EXPECT_TRUE(LastReply());
    At(4s, Acquire("ledger"));

    EXPECT_TRUE(LastAnswer().held);
    EXPECT_EQ(LastAnswer().token, LockToken(2, 1));
    EXPECT_GT(LastAnswer().token, first.token);
}

// Redis lost a term in a failover and gave its epoch again: whoever had a token of the lost one is not
// given a lower one, and nobody can use the numbers up by what he says.
TEST_F(LockTest, TokensRiseAboveThoseOfALostTermOfTheSameEpoch) {
    const auto ask = [&](const std::string& name, std::uint64_t seen) {
        AcquireLock acquire = Acquire(name);
        acquire.token_seen = seen;
        At(0s, std::move(acquire));
        return LastAnswer().token;
    };
    EXPECT_EQ(ask("ledger", LockToken(1, 40)), LockToken(1, 41));
    EXPECT_EQ(ask("gpu", LockToken(1, 7)), LockToken(1, 42));
    EXPECT_EQ(ask("tool", LockToken(0, 99)), LockToken(1, 43)) << "of an earlier term";
    EXPECT_EQ(ask("made-up", LockToken(1, UINT32_MAX)), LockToken(1, 44));
    EXPECT_FALSE(engine().worn_out());
}

// Redis lost a lock in a failover, and its serial comes again: its holder neither renews nor releases
// what somebody else was given since.
TEST_F(LockTest, TheIdOfALockThatTheStoreLostIsNotGivenAgain) {
    At(0s, Acquire("ledger"));
    const Text lost = LastAnswer().lock_id;
    RestartWithoutStore(0s);
    At(0s, Acquire("ledger"));
    const Text next = LastAnswer().lock_id;
    EXPECT_NE(next, lost);

    At(0s, Renew("ledger", lost));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    At(0s, Release("ledger", lost));
    EXPECT_EQ(LastReply().error().code, ErrorCode::kConflict);
    At(0s, Renew("ledger", next));
    EXPECT_TRUE(LastReply());
}

// The leader of the past went on answering renewals until it noticed; its clock is not ours.
TEST_F(LockTest, ANewLeaderCountsLeasesAnewAndLongerByATtl) {
    At(0s, Acquire("ledger", {.ttl = 10s}));
    Restart(9s);
    const RequestId next = AskAt(9s, Acquire("ledger", {.wait = 1min}));
    Until(28'999ms);
    EXPECT_FALSE(Held(next));
    Until(29s);

    EXPECT_TRUE(Held(next));
}

TEST_F(LockTest, ARowThatCannotBeReadIsDeleted) {
    store.records[{RecordKind::kLock, "broken"}] = "\xff\xff";
    At(0s, Acquire("ledger"));

    EXPECT_EQ(RowCount(), 1u);
    EXPECT_FALSE(store.records.contains({RecordKind::kLock, "broken"}));
}

TEST_F(LockTest, TooManyWhoWaitAreRefused) {
    config.lock_waiters_max = 2;
    At(0s, Acquire("ledger"));
    At(0s, Acquire("ledger", {.wait = 1h}));
    At(0s, Acquire("ledger", {.wait = 1h}));
    At(0s, Acquire("ledger", {.wait = 1h}));

    EXPECT_EQ(LastReply().error().code, ErrorCode::kExhausted);
}

TEST_F(LockTest, AViewShowsHoldersAndTheLine) {
    At(0s, Acquire("ledger", {.owner = "a"}));
    At(1s, Acquire("ledger", {.wait = 1min, .owner = "b"}));
    At(2s, Acquire("ledger", {.wait = 1min, .owner = "c"}));
    At(2s, Acquire("books"));

    const auto view = engine().FindLock("ledger");
    ASSERT_TRUE(view);
    ASSERT_THAT(view->holders, SizeIs(1));
    EXPECT_EQ(view->holders[0].owner, "a");
    ASSERT_THAT(view->waiters, SizeIs(2));
    EXPECT_EQ(view->waiters[0].owner, "b");
    EXPECT_EQ(view->waiters[0].since, WallAt(1s));
    EXPECT_EQ(view->waiters[0].expires_at, WallAt(61s));
    EXPECT_EQ(view->waiting, 2u);
    EXPECT_THAT(engine().LocksAfter("", 10), SizeIs(2));
    EXPECT_EQ(engine().LocksAfter("books", 10)[0].name, "ledger");
    EXPECT_EQ(engine().lock_counts().held, 2u);
}

}  // namespace
}  // namespace takt::internal
