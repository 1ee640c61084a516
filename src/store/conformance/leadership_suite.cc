// Leadership: one leader of a partition at a time, a rising epoch, and nothing that depends on a node
// being polite. Presence: who is announced, and with whom all of its terms stand and fall.
#include <algorithm>
#include <map>

#include "store/conformance/suite.h"

namespace takt::internal::conformance {
namespace {

Candidate CandidateOf(std::string_view node, const std::optional<LeaderRow>& replaced,
                      Partition partition = 0) {
    return {.partition = partition,
            .node = NodeId(Text(node)),
            .address = Text("http://" + std::string(node)),
            .replaced = replaced};
}

}  // namespace

// The first scheduler of a new installation starts.
TEST_P(StoreConformance, TheFirstCandidateLeads) {
    EXPECT_TRUE(Leaders().empty());

    const Result<Term> term = Acquire("node-a");

    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_GE(term->epoch, 1u);
    const std::optional<LeaderRow> leader = Leader();
    ASSERT_TRUE(leader);
    EXPECT_EQ(leader->node.view(), "node-a");
    EXPECT_EQ(leader->address.view(), "http://node-a");
    EXPECT_TRUE(leader->Is(*term));
}

// A second scheduler starts beside a healthy leader.
TEST_P(StoreConformance, ASecondCandidateIsTurnedAwayWhileTheLeaderHolds) {
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first);

    const Result<Term> second = Acquire("node-b");

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_TRUE(Leader()->Is(*first));
    EXPECT_TRUE(Commit(*first, 1, {}));
}

// A process that nobody knows of, or that was taken for dead, cannot lead: its term would be over as
// it begins.
TEST_P(StoreConformance, ANodeThatIsNotAnnouncedCannotLead) {
    const Result<Term> term = Acquire(CandidateOf("node-a", std::nullopt));

    ASSERT_FALSE(term);
    EXPECT_EQ(term.error().code, ErrorCode::kConflict) << term.error().detail;
    EXPECT_FALSE(Leader());
}

// The leader's machine loses power; nobody resigns for it.
TEST_P(StoreConformance, AnotherNodeLeadsOnceTheTtlRanOut) {
    const Result<Term> first = Acquire("node-a", GetParam().ttl_min);
    ASSERT_TRUE(first);

    LetTtlRunOut();
    EXPECT_FALSE(Leader());
    ASSERT_TRUE(LastTerm()) << "whoever takes over must be able to name what it replaces";
    EXPECT_EQ(LastTerm()->epoch, first->epoch);
    const Result<Term> second = Acquire("node-b");

    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_GT(second->epoch, first->epoch);
    EXPECT_TRUE(Leader()->Is(*second));
}

// A healthy scheduler announces itself in time, again and again; that alone keeps all it leads.
TEST_P(StoreConformance, AnAnnouncementKeepsEveryTermOfItsNode) {
    constexpr Partition kCount = 20;
    std::vector<Term> terms;
    for (Partition p = 0; p < kCount; ++p) {
        const Result<Term> term = Acquire("node-a", GetParam().ttl_min, 0, p);
        ASSERT_TRUE(term) << term.error().detail;
        terms.push_back(*term);
    }

    ASSERT_TRUE(Announce("node-a", kLong));
    LetTtlRunOut();

    const std::vector<LeaderRow> rows = Leaders();
    ASSERT_EQ(rows.size(), kCount);
    for (Partition p = 0; p < kCount; ++p) {
        EXPECT_TRUE(rows[p].leads() && rows[p].Is(terms[p])) << "partition " << int(p);
    }
    EXPECT_FALSE(Acquire("node-b", kLong, 0, 7));
    EXPECT_TRUE(Commit(terms[7], 1, {}));
}

// A scheduler is stopped: it leaves, and its partitions go to others at once.
TEST_P(StoreConformance, AWithdrawnNodeLosesEveryTerm) {
    ASSERT_TRUE(Acquire("node-a"));
    const Result<Term> first = Acquire("node-a", kLong, 0, 3);
    ASSERT_TRUE(first);
    ASSERT_TRUE(Acquire("node-b", kLong, 0, 4));

    ASSERT_TRUE(Announce("node-a", Duration(0)));

    EXPECT_FALSE(Leader(0));
    EXPECT_FALSE(Leader(3));
    EXPECT_TRUE(Leader(4)) << "others are not touched";
    const Result<Term> second = Acquire("node-b", kLong, 0, 3);
    ASSERT_TRUE(second) << second.error().detail;
    const Result<void> late = Commit(*first, 1, {});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
    EXPECT_TRUE(Commit(*second, 1, {}));
}

// A scheduler was paused for longer than its ttl. It comes back and announces itself: what somebody
// took meanwhile is lost, and it sees that; what nobody took is still its own.
TEST_P(StoreConformance, ANodeThatComesBackHasLostWhatOthersTook) {
    const Result<Term> taken = Acquire("node-a", GetParam().ttl_min, 0, 1);
    const Result<Term> left = Acquire("node-a", GetParam().ttl_min, 0, 2);
    ASSERT_TRUE(taken && left);
    LetTtlRunOut();
    const Result<Term> second = Acquire("node-b", kLong, 0, 1);
    ASSERT_TRUE(second) << second.error().detail;

    ASSERT_TRUE(Announce("node-a", kLong));

    ASSERT_TRUE(Leader(1));
    EXPECT_TRUE(Leader(1)->Is(*second));
    ASSERT_TRUE(Leader(2));
    EXPECT_TRUE(Leader(2)->Is(*left));
    EXPECT_EQ(Commit(*taken, 1, {}).error().code, ErrorCode::kFenced);
    EXPECT_TRUE(Commit(*left, 1, {}));
}

// A scheduler is restarted at once under its own name; its old term has most of its ttl left.
TEST_P(StoreConformance, ANodeThatAsksAgainGetsANewTerm) {
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first);

    const Result<Term> second = Acquire("node-a");

    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_GT(second->epoch, first->epoch);
    EXPECT_NE(second->nonce, first->nonce);
    const Result<void> late = Commit(*first, 1, {});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
    EXPECT_TRUE(Commit(*second, 1, {}));
}

// A request for the lead was on its way for long: somebody has led since it was sent. It must take
// nothing from whoever is next.
TEST_P(StoreConformance, OnlyTheTermThatWasReadIsReplaced) {
    ASSERT_TRUE(Announce("node-a"));
    ASSERT_TRUE(Announce("node-b"));
    const Candidate never = CandidateOf("node-b", LastTerm());
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first && Resign(*first));
    const Candidate resigned = CandidateOf("node-b", LastTerm());
    const Result<Term> second = Acquire("node-a");
    ASSERT_TRUE(second);
    const Candidate standing = CandidateOf("node-b", LastTerm());
    ASSERT_TRUE(Resign(*second));

    for (const Candidate& late : {never, resigned, standing}) {
        const Result<Term> term = Acquire(late);
        ASSERT_FALSE(term) << "epoch " << (late.replaced ? late.replaced->epoch : 0);
        EXPECT_EQ(term.error().code, ErrorCode::kConflict) << term.error().detail;
    }
    EXPECT_TRUE(Acquire("node-b"));
}

// Three schedulers see at the same time that nobody leads.
TEST_P(StoreConformance, OfManyCandidatesAtOnceOneLeads) {
    constexpr int kCandidates = 6;
    constexpr Partition kPartitions = 8;
    std::vector<std::future<Result<Term>>> answers;
    for (int i = 0; i < kCandidates; ++i) ASSERT_TRUE(Announce("node-" + std::to_string(i)));
    for (Partition p = 0; p < kPartitions; ++p) {
        for (int i = 0; i < kCandidates; ++i) {
            const Candidate candidate = CandidateOf("node-" + std::to_string(i), std::nullopt, p);
            answers.push_back(BeginAsk<Term>(
                [&](Done<Term> done) { store().Acquire(candidate, std::move(done)); }));
        }
    }
    std::map<Partition, std::vector<Term>> terms;
    for (auto& answer : answers) {
        ASSERT_EQ(answer.wait_for(kAnswerMax), std::future_status::ready);
        const Result<Term> term = answer.get();
        if (term) terms[term->partition].push_back(*term);
        if (!term) EXPECT_EQ(term.error().code, ErrorCode::kConflict) << term.error().detail;
    }

    ASSERT_EQ(Leaders().size(), kPartitions);
    for (Partition p = 0; p < kPartitions; ++p) {
        ASSERT_EQ(terms[p].size(), 1u) << "partition " << int(p);
        EXPECT_TRUE(Leader(p)->Is(terms[p].front()));
    }
}

// The leader is taken for dead while its commits are under way. Each of them comes before the new
// term or is refused; none is applied after Acquire has returned.
TEST_P(StoreConformance, CommitsThatRaceANewTermAreBeforeItOrRefused) {
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first);
    const std::size_t under_way = store().limits().pipeline_max;
    std::uint64_t sequence = 0;
    ASSERT_TRUE(Announce("node-b"));
    ASSERT_TRUE(Announce("node-a", Duration(0)));
    const Candidate candidate = CandidateOf("node-b", LastTerm());
    std::vector<std::future<Result<void>>> commits;
    const auto commit = [&] {
        const Text value(std::to_string(++sequence));
        const auto batch = std::make_shared<const Batch>(
            Batch{*first, sequence, 0, {SettingPut{"sequence", value}}});
        commits.push_back(
            BeginAsk<void>([&](Done<void> done) { store().Commit(batch, std::move(done)); }));
    };
    for (std::size_t i = 0; i < under_way; ++i) commit();

    const Result<Term> second = Acquire(candidate);

    ASSERT_TRUE(second) << second.error().detail;
    const auto seen = LoadAll(0).settings;
    commit();
    std::uint64_t applied = 0;
    for (std::size_t i = 0; i < commits.size(); ++i) {
        ASSERT_EQ(commits[i].wait_for(kAnswerMax), std::future_status::ready);
        const Result<void> result = commits[i].get();
        if (result) applied = i + 1;
        EXPECT_TRUE(result || i + 1 < commits.size() || result.error().code == ErrorCode::kFenced);
    }
    EXPECT_LT(applied, commits.size()) << "the last was sent after the new term had begun";
    const auto end = LoadAll(0).settings;
    EXPECT_EQ(end.size(), seen.size());
    if (!seen.empty()) EXPECT_EQ(end.front().value, seen.front().value);
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

// A scheduler is stopped in an orderly way; its follower takes over without waiting.
TEST_P(StoreConformance, AfterAResignationAnotherNodeLeadsAtOnce) {
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first);

    ASSERT_TRUE(Resign(*first));

    EXPECT_FALSE(Leader());
    ASSERT_TRUE(LastTerm());
    EXPECT_EQ(LastTerm()->nonce, 0u);
    EXPECT_TRUE(LastTerm()->node.empty());
    const Result<void> late = Commit(*first, 1, {});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
    const Result<Term> second = Acquire("node-b");
    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_GT(second->epoch, first->epoch);
}

// A leader hands a partition over: everybody can read to whom, and only the hint is new.
TEST_P(StoreConformance, AResignationNamesWhoIsToLeadNext) {
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first);

    ASSERT_TRUE(Resign(*first, "node-b"));

    const std::optional<LeaderRow> row = LastTerm();
    ASSERT_TRUE(row);
    EXPECT_FALSE(row->leads());
    EXPECT_EQ(row->nonce, 0u);
    EXPECT_EQ(row->node.view(), "node-b");
    EXPECT_EQ(row->epoch, first->epoch);
    EXPECT_TRUE(Acquire("node-c")) << "one who does not come must not keep others out";
}

// The resignation of a deposed leader arrives late.
TEST_P(StoreConformance, ResigningALostTermSucceedsAndDeposesNobody) {
    const Result<Term> first = Acquire("node-a");
    const Result<Term> second = Acquire("node-a");
    ASSERT_TRUE(first && second);

    EXPECT_TRUE(Resign(*first));
    EXPECT_TRUE(Resign(*first, "node-b"));

    ASSERT_TRUE(Leader());
    EXPECT_TRUE(Leader()->Is(*second));
    EXPECT_TRUE(Commit(*second, 1, {}));
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
    const Result<Term> first = Acquire("node-a");
    const Result<Term> second = Acquire("node-b", kLong, 0, 255);

    ASSERT_TRUE(first && second) << second.error().detail;
    EXPECT_EQ(second->partition, 255);
    const std::vector<LeaderRow> rows = Leaders();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_TRUE(rows[0].Is(*first));
    EXPECT_TRUE(rows[1].Is(*second));
    EXPECT_TRUE(Commit(*second, 1, {SettingPut{"key", "of partition 255"}}));
    EXPECT_TRUE(LoadAll(0).settings.empty());
    EXPECT_EQ(LoadAll(255).settings.size(), 1u);
    ASSERT_TRUE(Resign(*first));
    EXPECT_TRUE(Commit(*second, 2, {}));
}

// The console lists the schedulers of the cluster, and each tells what it may lead.
TEST_P(StoreConformance, AnnouncedNodesAreListedUntilTheirTtlOrTheirWithdrawal) {
    const auto nodes = [&] {
        using Rows = std::vector<NodeRow>;
        const auto found = Await<Rows>([&](Done<Rows> done) { store().Nodes(std::move(done)); });
        EXPECT_TRUE(found) << found.error().detail;
        std::vector<std::string> ids;
        for (const NodeRow& row : *found) {
            EXPECT_EQ(row.address.view(), "http://" + row.node.text().str());
            EXPECT_EQ(row.version.view(), "0.1.0");
            EXPECT_EQ(row.started_at, make_.now());
            EXPECT_TRUE(row.namespaces.empty());
            ids.push_back(row.node.text().str());
        }
        std::ranges::sort(ids);
        return ids;
    };
    using Ids = std::vector<std::string>;
    ASSERT_TRUE(Announce("node-a", GetParam().ttl_min));
    ASSERT_TRUE(Announce("node-b", GetParam().ttl_min));
    ASSERT_TRUE(Announce("node-c", kLong));
    EXPECT_EQ(nodes(), (Ids{"node-a", "node-b", "node-c"}));

    ASSERT_TRUE(Announce("node-b", kLong));
    LetTtlRunOut();
    EXPECT_EQ(nodes(), (Ids{"node-b", "node-c"}));

    ASSERT_TRUE(Announce("node-b", Duration(0)));
    EXPECT_EQ(nodes(), (Ids{"node-c"}));
}

TEST_P(StoreConformance, ANodeTellsWhichNamespacesItMayLead) {
    NodeRow row{.node = NodeId("node-a"), .address = "http://node-a"};
    const auto announced = [&] {
        const auto done =
            Await<void>([&](Done<void> d) { store().Announce(row, kLong, std::move(d)); });
        EXPECT_TRUE(done) << done.error().detail;
        using Rows = std::vector<NodeRow>;
        const auto found = Await<Rows>([&](Done<Rows> d) { store().Nodes(std::move(d)); });
        return found && found->size() == 1 ? found->front().namespaces : std::vector<Text>{"?"};
    };
    for (int i = 0; i < 100; ++i) row.namespaces.emplace_back("team-" + std::to_string(i));
    EXPECT_EQ(announced(), row.namespaces);

    row.namespaces.clear();
    EXPECT_EQ(announced(), row.namespaces) << "an announcement replaces the one before";
}

}  // namespace takt::internal::conformance
