// Leadership over a real server: announcements by the server's clock, the lock as a hint, the fence.
#include "store/mysql/store_fixture.h"

namespace takt::internal::mysql {
namespace {

class MysqlLeaseTest : public MysqlStoreTest {
  protected:
    // As if the ttl of a node had run out.
    void Expire(std::string_view node) {
        database_.Root().Run(fmt::format(
            "UPDATE takt_schedulers SET expires = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE "
            "node = '{}'",
            node));
    }
    std::string holder(std::string_view node = "node-a") const {
        return LockHolder(database_.name(), node);
    }
};

// An operator, or a proxy, ends the session that holds the node's lock. It takes it again with its
// next announcement and leads on.
TEST_F(MysqlLeaseTest, AKilledLockSessionIsReplacedByTheNextAnnouncement) {
    const auto store = Open();
    const auto follower = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const std::int64_t session = Until(holder());

    Root().Run(fmt::format("KILL {}", session));
    Until("SELECT NOT (" + holder() + ")");
    const Result<void> announced = Announce(*store, "node-a");

    ASSERT_TRUE(announced) << announced.error().detail;
    EXPECT_NE(Until(holder()), session);
    EXPECT_EQ(Acquire(*follower, "node-b").error().code, ErrorCode::kConflict);
    EXPECT_TRUE(Leads(*follower, *term));
    EXPECT_TRUE(Commit(*store, MakeBatch(*term, 1, {})));
}

// The same, and a follower asks first. It cannot know that the leader is well, so it waits for an
// announcement to be missed.
TEST_F(MysqlLeaseTest, AFreeLockIsNotTakenFromALeaderThatWasAnnouncedLately) {
    const auto store = Open();
    const auto follower = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);

    Root().Run(fmt::format("KILL {}", Until(holder())));
    Until("SELECT NOT (" + holder() + ")");

    EXPECT_TRUE(Leads(*follower, *term));
    const Result<Term> next = Acquire(*follower, "node-b");
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, ErrorCode::kConflict) << next.error().detail;
    EXPECT_TRUE(Announce(*store, "node-a"));
    EXPECT_TRUE(Leads(*store, *term));
}

// The server's machine stalls for longer than one announcement waits. The leader's session ends, and
// with it the lock; a follower that looks before the leader is back must not take the lead.
TEST_F(MysqlLeaseTest, AServerThatStalledDoesNotCostTheLead) {
    constexpr Duration kTtl{8'000};
    const auto store = Open();
    const auto follower = Open();
    const Result<Term> term = Acquire(*store, "node-a", kTtl);
    ASSERT_TRUE(term);
    ASSERT_EQ(Acquire(*follower, "node-b", kTtl).error().code, ErrorCode::kConflict);
    const auto announce = [&] { return Announce(*store, "node-a", kTtl); };
    TestServer().process().Pause();
    const Result<void> lost = announce();
    TestServer().process().Continue();
    ASSERT_FALSE(lost);
    Until("SELECT NOT (" + holder() + ")");

    const Result<Term> next = WhenConnected([&] { return Acquire(*follower, "node-b", kTtl); });

    ASSERT_FALSE(next) << "a free lock is no proof that its leader is gone";
    EXPECT_EQ(next.error().code, ErrorCode::kConflict) << next.error().detail;
    const Result<void> announced = WhenBack(announce);
    EXPECT_TRUE(announced) << announced.error().detail;
    EXPECT_TRUE(Leads(*store, *term));
}

// The server does not answer for a while, less than a ttl. One announcement is lost, the next one
// saves all terms, although the server still keeps the session that has the lock.
TEST_F(MysqlLeaseTest, OneUnansweredAnnouncementDoesNotCostTheLead) {
    constexpr Duration kTtl{12'000};
    const auto store = Open();
    const auto follower = Open();
    const Result<Term> term = Acquire(*store, "node-a", kTtl);
    ASSERT_TRUE(term);
    const auto announce = [&] { return Announce(*store, "node-a", kTtl); };
    ASSERT_TRUE(announce());
    TestServer().process().Pause();
    const auto begin = std::chrono::steady_clock::now();
    const Result<void> lost = announce();
    const auto time = std::chrono::steady_clock::now() - begin;
    TestServer().process().Continue();

    EXPECT_FALSE(lost);
    EXPECT_LT(time, kTtl * 3 / 4) << "there must be time left to ask again";
    const Result<void> announced = WhenBack(announce);
    EXPECT_TRUE(announced) << announced.error().detail;
    EXPECT_EQ(Acquire(*follower, "node-b").error().code, ErrorCode::kConflict);
    EXPECT_TRUE(Leads(*follower, *term));
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
    // Nothing tells a follower that the leader is gone: it asks, and each answer is waited for.
    while (!next && SteadyClock::now() - begin < std::chrono::seconds(20)) {
        root.Run(
            "UPDATE takt_schedulers SET expires = UTC_TIMESTAMP(3) + INTERVAL 1900000 MICROSECOND "
            "WHERE node = 'node-a'");
        next = Acquire(*follower, "node-b", kTtl);
    }

    ASSERT_TRUE(next) << next.error().detail;
    EXPECT_GE(SteadyClock::now() - begin, kTtl / 4) << "a leader that lives has time to ask again";
    EXPECT_GT(next->epoch, term.epoch);
    EXPECT_EQ(Commit(*follower, MakeBatch(term, 1, {})).error().code, ErrorCode::kFenced);
}

// A scheduler's machine is gone for good. Nobody withdraws its row.
TEST_F(MysqlLeaseTest, RowsOfCrashedSchedulersAreDeletedByTheOthers) {
    const auto store = Open();
    ASSERT_TRUE(Announce(*store, "crashed"));
    Expire("crashed");

    ASSERT_TRUE(Announce(*store, "alive"));

    Rows rows = database_.Root().Query("SELECT node FROM takt_schedulers");
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
    ASSERT_NE(Until(holder()), 0);
    Expire("node-a");

    const Result<Term> second = Acquire(*follower, "node-b");

    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_EQ(Commit(*frozen, MakeBatch(*first, 1, {})).error().code, ErrorCode::kFenced);
    // It wakes up, is announced again, and learns that it was replaced.
    EXPECT_TRUE(Announce(*frozen, "node-a"));
    EXPECT_FALSE(Leads(*frozen, *first));
    EXPECT_TRUE(Leads(*frozen, *second));
}

// A frozen scheduler's session must not live for the server's default of eight hours.
TEST_F(MysqlLeaseTest, TheServerEndsASilentLockSessionAfterTwiceTheTtl) {
    const auto store = Open();
    ASSERT_TRUE(Acquire(*store, "node-a", Duration(1000)));
    ASSERT_NE(Until(holder()), 0);

    // Nobody announces it; the session is gone within 3 s.
    EXPECT_EQ(Until("SELECT NOT (" + holder() + ")"), 1);
}

// A scheduler that withdraws lets go of its lock: it may come back under another session.
TEST_F(MysqlLeaseTest, AWithdrawnNodeHasNoLock) {
    const auto store = Open();
    ASSERT_TRUE(Announce(*store, "node-a"));
    ASSERT_NE(Until(holder()), 0);

    ASSERT_TRUE(Announce(*store, "node-a", Duration(0)));

    EXPECT_EQ(Until("SELECT NOT (" + holder() + ")"), 1);
}

// A commit takes long. The announcement has a connection and a row of its own.
TEST_F(MysqlLeaseTest, ASlowCommitDoesNotDelayAnAnnouncement) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const Execution row = CommitOneOff(*store, *term, "e-1");
    Connection other = LockLiveRows();
    auto answer = BeginCommit(*store, MakeBatch(*term, 2, {FinishLive(row)}));
    WaitingSession();

    const Result<void> announced = Announce(*store, "node-a");

    EXPECT_TRUE(announced) << announced.error().detail;
    EXPECT_TRUE(Leads(*store, *term));
    EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    other.Run("ROLLBACK");
    EXPECT_TRUE(answer.get());
}

// An election waits behind somebody's lock. What keeps the lead of other partitions goes on, and so do
// questions.
TEST_F(MysqlLeaseTest, AnElectionThatWaitsHoldsUpNothingElse) {
    const auto leader = Open();
    const auto store = Open();
    ASSERT_TRUE(Acquire(*leader, "node-a"));
    Expire("node-a");
    ASSERT_TRUE(Announce(*store, "node-b"));
    const Candidate candidate{
        .node = NodeId("node-b"), .address = "http://node", .replaced = LastTerm(*store)};
    Connection other = database_.Root();
    other.Run("START TRANSACTION;SELECT * FROM takt_terms FOR UPDATE");
    auto election =
        BeginAsk<Term>([&](Done<Term> done) { store->Acquire(candidate, std::move(done)); });
    WaitingSession();

    EXPECT_TRUE(Announce(*store, "node-b"));
    EXPECT_TRUE(LastTerm(*store));
    const auto nodes = Await<std::vector<NodeRow>>(
        [&](Done<std::vector<NodeRow>> done) { store->Nodes(std::move(done)); });

    EXPECT_TRUE(nodes) << nodes.error().detail;
    EXPECT_EQ(election.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    other.Run("ROLLBACK");
    EXPECT_TRUE(election.get());
}

// A scheduler of the version before leads by a row of `leases` that it renews, and is announced in
// `nodes`. It is seen as the leader and listed, and nobody takes its place before its ttl is over.
TEST_F(MysqlLeaseTest, ALeaderOfTheVersionBeforeIsRespected) {
    const auto store = Open();
    database_.Root().Run(
        "INSERT INTO takt_terms VALUES (0, 7, 99, 4, 0, 0);"
        "INSERT INTO takt_leases VALUES (0, 7, 99, 'old', 'http://old', "
        "UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, 1);"
        "INSERT INTO takt_nodes VALUES ('old', 'http://old', '0.1', 5, "
        "UTC_TIMESTAMP(3) + INTERVAL 1 HOUR)");
    const Term old{0, 7, 99};

    EXPECT_TRUE(Leads(*store, old));
    EXPECT_EQ(LastTerm(*store)->address.view(), "http://old");
    const auto nodes = Await<std::vector<NodeRow>>(
        [&](Done<std::vector<NodeRow>> done) { store->Nodes(std::move(done)); });
    ASSERT_TRUE(nodes && nodes->size() == 1);
    EXPECT_EQ(nodes->front().version.view(), "0.1");
    EXPECT_TRUE(nodes->front().namespaces.empty());
    EXPECT_EQ(Acquire(*store, "node-b").error().code, ErrorCode::kConflict);
    EXPECT_TRUE(Commit(*store, MakeBatch(old, 5, {})));

    database_.Root().Run("UPDATE takt_leases SET expires = UTC_TIMESTAMP(3)");
    const Result<Term> term = Acquire(*store, "node-b");
    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(term->epoch, 8u);
    EXPECT_EQ(Commit(*store, MakeBatch(old, 6, {})).error().code, ErrorCode::kFenced);
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
