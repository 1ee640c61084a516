// Leadership and presence: one leader at a time, a rising epoch, and nothing that depends on a node
// being polite.
#include <algorithm>

#include "store/conformance/suite.h"

namespace takt::internal::conformance {

// The first scheduler of a new installation starts.
TEST_P(StoreConformance, TheFirstCandidateLeads) {
    EXPECT_FALSE(Leader());

    const Result<Term> term = Acquire("node-a");

    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_GE(term->epoch, 1u);
    const std::optional<LeaderRow> leader = Leader();
    ASSERT_TRUE(leader);
    EXPECT_EQ(leader->node.view(), "node-a");
    EXPECT_EQ(leader->address.view(), "http://node-a");
    EXPECT_EQ(leader->epoch, term->epoch);
}

// A second scheduler starts beside a healthy leader.
TEST_P(StoreConformance, ASecondCandidateIsTurnedAwayWhileTheLeaderHolds) {
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first);

    const Result<Term> second = Acquire("node-b");

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_EQ(Leader()->node.view(), "node-a");
    EXPECT_TRUE(Renew(*first));
    EXPECT_TRUE(Commit(*first, 1, {}));
}

// The leader's machine loses power; nobody resigns for it.
TEST_P(StoreConformance, AnotherNodeLeadsOnceTheTtlRanOut) {
    const Result<Term> first = Acquire("node-a", GetParam().ttl_min);
    ASSERT_TRUE(first);

    LetTtlRunOut();
    EXPECT_FALSE(Leader());
    const Result<Term> second = Acquire("node-b");

    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_GT(second->epoch, first->epoch);
    EXPECT_EQ(Leader()->node.view(), "node-b");
}

// A healthy leader renews in time, again and again.
TEST_P(StoreConformance, ARenewedTermOutlivesItsFirstTtl) {
    const Result<Term> term = Acquire("node-a", GetParam().ttl_min);
    ASSERT_TRUE(term);

    ASSERT_TRUE(Renew(*term, kLong));
    LetTtlRunOut();

    EXPECT_TRUE(Leader());
    EXPECT_FALSE(Acquire("node-b"));
    EXPECT_TRUE(Commit(*term, 1, {}));
}

// A scheduler is restarted at once under its own name; its old term has most of its ttl left.
TEST_P(StoreConformance, ANodeThatAsksAgainGetsANewTerm) {
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first);

    const Result<Term> second = Acquire("node-a");

    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_GT(second->epoch, first->epoch);
    EXPECT_NE(*second, *first);
    const Result<void> late = Commit(*first, 1, {});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
    EXPECT_TRUE(Commit(*second, 1, {}));
}

// The database came back from an old backup; workers have seen higher epochs than it remembers.
TEST_P(StoreConformance, TheEpochIsAboveTheCandidatesFloor) {
    const Result<Term> first = Acquire("node-a", kLong, 1'000'000);
    ASSERT_TRUE(first);
    EXPECT_GT(first->epoch, 1'000'000u);

    const Result<Term> second = Acquire("node-a", kLong, 5);

    ASSERT_TRUE(second);
    EXPECT_GT(second->epoch, first->epoch) << "a low floor must not lower the epoch";
}

// A leader was paused for longer than its ttl and renews when it wakes up.
TEST_P(StoreConformance, RenewingALostTermIsFenced) {
    const Result<Term> first = Acquire("node-a", GetParam().ttl_min);
    ASSERT_TRUE(first);
    LetTtlRunOut();
    ASSERT_TRUE(Acquire("node-b"));

    const Result<void> renewed = Renew(*first);

    ASSERT_FALSE(renewed);
    EXPECT_EQ(renewed.error().code, ErrorCode::kFenced);
    EXPECT_EQ(Leader()->node.view(), "node-b");
}

// A scheduler is stopped in an orderly way; its follower takes over without waiting.
TEST_P(StoreConformance, AfterAResignationAnotherNodeLeadsAtOnce) {
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first);

    ASSERT_TRUE(Resign(*first));

    EXPECT_FALSE(Leader());
    const Result<void> late = Commit(*first, 1, {});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
    const Result<void> renewed = Renew(*first);
    ASSERT_FALSE(renewed);
    EXPECT_EQ(renewed.error().code, ErrorCode::kFenced);
    const Result<Term> second = Acquire("node-b");
    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_GT(second->epoch, first->epoch);
}

// The resignation of a deposed leader arrives late.
TEST_P(StoreConformance, ResigningALostTermSucceedsAndDeposesNobody) {
    const Result<Term> first = Acquire("node-a");
    const Result<Term> second = Acquire("node-a");
    ASSERT_TRUE(first && second);

    EXPECT_TRUE(Resign(*first));
    EXPECT_TRUE(Resign(*first));

    EXPECT_TRUE(Leader());
    EXPECT_TRUE(Renew(*second));
}

// The database is restarted, then a leader is elected: workers compare epochs.
TEST_P(StoreConformance, TheEpochRisesAcrossACrash) {
    const Result<Term> first = Acquire("node-a", GetParam().ttl_min, 40);
    ASSERT_TRUE(first);
    ASSERT_TRUE(Commit(*first, 1, {}));

    Crash();
    LetTtlRunOut();
    const Result<Term> second = Acquire("node-b");

    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_GT(second->epoch, first->epoch);
    const Result<void> late = Commit(*first, 2, {});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
}

// Two partitions have two leaders that know nothing of each other.
TEST_P(StoreConformance, PartitionsHaveLeadersOfTheirOwn) {
    ASSERT_TRUE(Acquire("node-a"));
    const Candidate other{.partition = 1, .node = NodeId("node-b"), .address = "http://node-b"};

    const Result<Term> term =
        Await<Term>([&](Done<Term> done) { store().Acquire(other, std::move(done)); });

    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(term->partition, 1);
    EXPECT_EQ(Leader()->node.view(), "node-a");
    EXPECT_TRUE(Commit(*term, 1, {SettingPut{"key", "of partition 1"}}));
    EXPECT_TRUE(LoadAll(0).settings.empty());
    EXPECT_EQ(LoadAll(1).settings.size(), 1u);
}

// The console lists the schedulers of the cluster.
TEST_P(StoreConformance, AnnouncedNodesAreListedUntilTheirTtlOrTheirWithdrawal) {
    const auto announce = [&](std::string_view id, Duration ttl) {
        const NodeRow row{NodeId(Text(id)), Text("http://" + std::string(id)), "0.1.0",
                          make_.now()};
        const Result<void> done =
            Await<void>([&](Done<void> d) { store().Announce(row, ttl, std::move(d)); });
        EXPECT_TRUE(done) << done.error().detail;
    };
    const auto nodes = [&] {
        using Rows = std::vector<NodeRow>;
        const auto found = Await<Rows>([&](Done<Rows> done) { store().Nodes(std::move(done)); });
        EXPECT_TRUE(found) << found.error().detail;
        std::vector<std::string> ids;
        for (const NodeRow& row : *found) {
            EXPECT_EQ(row.address.view(), "http://" + row.node.text().str());
            EXPECT_EQ(row.version.view(), "0.1.0");
            EXPECT_EQ(row.started_at, make_.now());
            ids.push_back(row.node.text().str());
        }
        std::ranges::sort(ids);
        return ids;
    };
    using Ids = std::vector<std::string>;
    announce("node-a", GetParam().ttl_min);
    announce("node-b", GetParam().ttl_min);
    announce("node-c", kLong);
    EXPECT_EQ(nodes(), (Ids{"node-a", "node-b", "node-c"}));

    announce("node-b", kLong);
    LetTtlRunOut();
    EXPECT_EQ(nodes(), (Ids{"node-b", "node-c"}));

    announce("node-b", Duration(0));
    EXPECT_EQ(nodes(), (Ids{"node-c"}));
}

}  // namespace takt::internal::conformance
