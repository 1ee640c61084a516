// Leadership over a real server: the lock as a hint, the lease by the server's clock, the fence.
#include "store/mysql/store_fixture.h"

namespace takt::internal::mysql {
namespace {

class MysqlLeaseTest : public MysqlStoreTest {
  protected:
    void Expire() {
        database_.Root().Run(
            "UPDATE takt_leases SET expires = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
    }
    std::string holder() const { return LockHolder(database_.name()); }
};

// An operator, or a proxy, ends the session that holds the leader's lock. Nobody else was quicker:
// the leader takes it again and leads on.
TEST_F(MysqlLeaseTest, AKilledLockSessionIsReplacedByTheNextRenewal) {
    const auto store = Open();
    const auto follower = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const std::int64_t session = Until(holder());

    Root().Run(fmt::format("KILL {}", session));
    Until("SELECT NOT (" + holder() + ")");
    const Result<void> renewed = Renew(*store, *term);

    ASSERT_TRUE(renewed) << renewed.error().detail;
    EXPECT_NE(Until(holder()), session);
    EXPECT_EQ(Acquire(*follower, "node-b").error().code, ErrorCode::kConflict);
    EXPECT_TRUE(Renew(*store, *term));
    EXPECT_TRUE(Commit(*store, MakeBatch(*term, 1, {})));
}

// The same, and a follower asks first. It cannot know that the leader is well, so it waits for a
// renewal to be missed.
TEST_F(MysqlLeaseTest, AFreeLockIsNotTakenFromALeaderThatRenewedLately) {
    const auto store = Open();
    const auto follower = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);

    Root().Run(fmt::format("KILL {}", Until(holder())));
    Until("SELECT NOT (" + holder() + ")");
    const Result<Term> next = Acquire(*follower, "node-b");

    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, ErrorCode::kConflict) << next.error().detail;
    const Result<void> renewed = Renew(*store, *term);
    EXPECT_TRUE(renewed) << renewed.error().detail;
}

// The server's machine stalls for longer than one renewal waits. The leader's session ends, and with
// it the lock; a follower that looks before the leader is back must not take the lead.
TEST_F(MysqlLeaseTest, AServerThatStalledDoesNotCostTheLead) {
    constexpr Duration kTtl{8'000};
    const auto store = Open();
    const auto follower = Open();
    const Result<Term> term = Acquire(*store, "node-a", kTtl);
    ASSERT_TRUE(term);
    ASSERT_EQ(Acquire(*follower, "node-b", kTtl).error().code, ErrorCode::kConflict);
    const auto renew = [&] {
        return Await<void>([&](Done<void> done) { store->Renew(*term, kTtl, std::move(done)); });
    };
    TestServer().process().Pause();
    const Result<void> lost = renew();
    TestServer().process().Continue();
    ASSERT_FALSE(lost);
    Until("SELECT NOT (" + holder() + ")");

    const Result<Term> next = WhenConnected([&] { return Acquire(*follower, "node-b", kTtl); });

    ASSERT_FALSE(next) << "a free lock is no proof that its leader is gone";
    EXPECT_EQ(next.error().code, ErrorCode::kConflict) << next.error().detail;
    const Result<void> renewed = WhenBack(renew);
    EXPECT_TRUE(renewed) << renewed.error().detail;
}

// The server does not answer for a while, less than a ttl. One renewal is lost, the next one saves
// the term, although the server still keeps the session that has the lock.
TEST_F(MysqlLeaseTest, OneUnansweredRenewalDoesNotCostTheLead) {
    constexpr Duration kTtl{12'000};
    const auto store = Open();
    const auto follower = Open();
    const Result<Term> term = Acquire(*store, "node-a", kTtl);
    ASSERT_TRUE(term);
    const auto renew = [&] {
        return Await<void>([&](Done<void> done) { store->Renew(*term, kTtl, std::move(done)); });
    };
    ASSERT_TRUE(renew());
    TestServer().process().Pause();
    const auto begin = std::chrono::steady_clock::now();
    const Result<void> lost = renew();
    const auto time = std::chrono::steady_clock::now() - begin;
    TestServer().process().Continue();

    EXPECT_FALSE(lost);
    EXPECT_LT(time, kTtl * 3 / 4) << "there must be time left to ask again";
    const Result<void> renewed = WhenBack(renew);
    EXPECT_TRUE(renewed) << renewed.error().detail;
    EXPECT_EQ(Acquire(*follower, "node-b").error().code, ErrorCode::kConflict);
}

// The leader's process is killed. The server notices at once that its session is gone, and nobody
// waits for the end of the ttl: the test keeps it from ending.
TEST_F(MysqlLeaseTest, AFollowerTakesOverBeforeTheTtlEndsWhenTheLeadersSessionIsGone) {
    constexpr Duration kTtl{4'000};
    const auto follower = Open();
    Term term;
    {
        const auto leader = Open();
        term = *Acquire(*leader, "node-a", kTtl);
        EXPECT_EQ(Acquire(*follower, "node-b", kTtl).error().code, ErrorCode::kConflict);
    }
    Until("SELECT NOT (" + holder() + ")");
    Connection root = database_.Root();
    Result<Term> next = Fail(ErrorCode::kConflict, "not asked yet");
    const Steady begin = SteadyClock::now();
    for (int i = 0; i < 200 && !next; ++i) {
        root.Run(
            "UPDATE takt_leases SET expires = UTC_TIMESTAMP(3) + INTERVAL 1900000 MICROSECOND "
            "WHERE node = 'node-a'");
        next = Acquire(*follower, "node-b", kTtl);
        // As often as a follower asks; nothing tells it that the leader is gone.
        if (!next) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }

    ASSERT_TRUE(next) << next.error().detail;
    EXPECT_GE(SteadyClock::now() - begin, kTtl / 4) << "a leader that lives has time to ask again";
    EXPECT_GT(next->epoch, term.epoch);
    EXPECT_EQ(Commit(*follower, MakeBatch(term, 1, {})).error().code, ErrorCode::kFenced);
}

// A scheduler's machine is gone for good. Nobody withdraws its row.
TEST_F(MysqlLeaseTest, RowsOfCrashedSchedulersAreDeletedByTheOthers) {
    const auto store = Open();
    const auto announce = [&](std::string_view node, Duration ttl) {
        return Await<void>([&](Done<void> done) {
            store->Announce({.node = NodeId(Text(node)), .address = "http://x"}, ttl,
                            std::move(done));
        });
    };
    ASSERT_TRUE(announce("crashed", kLong));
    database_.Root().Run("UPDATE takt_nodes SET expires = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");

    ASSERT_TRUE(announce("alive", kLong));

    Rows rows = database_.Root().Query("SELECT node FROM takt_nodes");
    ASSERT_TRUE(rows.Next());
    EXPECT_EQ(rows.Bytes(0), "alive");
    EXPECT_FALSE(rows.Next());
}

// The leader is frozen: its session stands, and with it the lock. Its ttl runs out all the same.
TEST_F(MysqlLeaseTest, ALockInTheHandsOfAFrozenLeaderDoesNotKeepOthersOut) {
    const auto frozen = Open();
    const auto follower = Open();
    const Result<Term> first = Acquire(*frozen, "node-a");
    ASSERT_TRUE(first);
    const std::int64_t frozen_session = Until(holder());
    Expire();

    const Result<Term> second = Acquire(*follower, "node-b");

    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_EQ(Until(holder()), frozen_session);
    EXPECT_TRUE(Renew(*follower, *second)) << "leading does not need the lock";
    EXPECT_EQ(Acquire(*frozen, "node-c").error().code, ErrorCode::kConflict);
    // It wakes up, learns that it was replaced, and lets go of the lock.
    EXPECT_EQ(Renew(*frozen, *first).error().code, ErrorCode::kFenced);
    EXPECT_EQ(Commit(*frozen, MakeBatch(*first, 1, {})).error().code, ErrorCode::kFenced);
    EXPECT_TRUE(Renew(*follower, *second));
    EXPECT_NE(Until(holder()), frozen_session);
    EXPECT_EQ(Acquire(*frozen, "node-a").error().code, ErrorCode::kConflict);
    EXPECT_TRUE(Renew(*follower, *second));
}

// A frozen leader's session must not live for the server's default of eight hours.
TEST_F(MysqlLeaseTest, TheServerEndsASilentLockSessionAfterTwiceTheTtl) {
    const auto store = Open();
    ASSERT_TRUE(Acquire(*store, "node-a", Duration(1000)));
    ASSERT_NE(Until(holder()), 0);

    // Nobody renews; the session is gone within 3 s.
    EXPECT_EQ(Until("SELECT NOT (" + holder() + ")"), 1);
}

// A commit takes long. The renewal has a connection and a row of its own.
TEST_F(MysqlLeaseTest, ASlowCommitDoesNotDelayARenewal) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const Execution row = CommitOneOff(*store, *term, "e-1");
    Connection other = LockLiveRows();
    auto answer = BeginCommit(*store, MakeBatch(*term, 2, {FinishLive(row)}));
    WaitingSession();

    const Result<void> renewed = Renew(*store, *term);

    EXPECT_TRUE(renewed) << renewed.error().detail;
    EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    other.Run("ROLLBACK");
    EXPECT_TRUE(answer.get());
}

// The console asks who leads, over and over, while an election waits behind somebody's lock. The
// questions have connections of their own.
TEST_F(MysqlLeaseTest, WhoLeadsIsAnsweredWhileTheLeaseSessionIsBusy) {
    const auto leader = Open();
    const auto store = Open();
    ASSERT_TRUE(Acquire(*leader, "node-a"));
    Expire();
    Connection other = database_.Root();
    other.Run("START TRANSACTION;SELECT * FROM takt_terms FOR UPDATE");
    const auto elected = std::make_shared<std::promise<Result<Term>>>();
    auto election = elected->get_future();
    store->Acquire({.node = NodeId("node-b"), .address = "http://node", .ttl = kLong},
                   [elected](Result<Term> term) { elected->set_value(std::move(term)); });
    WaitingSession();

    const auto who = Await<std::optional<LeaderRow>>(
        [&](Done<std::optional<LeaderRow>> done) { store->Leader(0, std::move(done)); });
    const auto nodes = Await<std::vector<NodeRow>>(
        [&](Done<std::vector<NodeRow>> done) { store->Nodes(std::move(done)); });

    EXPECT_TRUE(who) << who.error().detail;
    EXPECT_TRUE(nodes) << nodes.error().detail;
    EXPECT_EQ(election.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    other.Run("ROLLBACK");
    EXPECT_TRUE(election.get());
}

// Three schedulers start at the same moment against an empty database.
TEST_F(MysqlLeaseTest, OfManyCandidatesAtOnceOneLeads) {
    constexpr int kCandidates = 6;
    std::vector<std::unique_ptr<Store>> stores(kCandidates);
    std::vector<std::thread> threads;
    std::atomic<int> leaders = 0;
    for (int i = 0; i < kCandidates; ++i) {
        threads.emplace_back([&, i] {
            stores[i] = Open();
            const Result<Term> term = Acquire(*stores[i], "node-" + std::to_string(i));
            if (term) ++leaders;
            if (!term) EXPECT_EQ(term.error().code, ErrorCode::kConflict) << term.error().detail;
        });
    }
    for (std::thread& thread : threads) thread.join();

    EXPECT_EQ(leaders, 1);
}

}  // namespace
}  // namespace takt::internal::mysql
