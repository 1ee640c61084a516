// The store when etcd, its operators or the network between fail it.
#include <array>
#include <chrono>
#include <future>
#include <string>

#include "store/etcd/schema.h"
#include "store/etcd/snapshot.h"
#include "store/etcd/store_fixture.h"

namespace takt::internal::etcd {
namespace {

using EtcdFaultTest = EtcdTest;
using std::chrono::steady_clock;

ErrorCode CodeOf(const Result<void>& result) {
    EXPECT_FALSE(result);
    return result ? ErrorCode::kInvalid : result.error().code;
}

// The machine of etcd's own leader loses power. The others elect another one within a second or
// two; our term goes on.
TEST_F(EtcdFaultTest, LosingARaftLeaderLosesNeitherTermNorCommit) {
    StartServer({.members = 3});
    OpenStore();
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term) << term.error().detail;
    ASSERT_TRUE(Commit(*term, 1, {SettingPut{"before", "1"}}));
    const Result<std::size_t> leader = server_->RaftLeader();
    ASSERT_TRUE(leader) << leader.error().detail;

    server_->process(*leader).Kill();

    const Result<void> done = CommitUntilDone(*term, 2, {SettingPut{"after", "2"}});
    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_TRUE(Commit(*term, 3, {}));
    const Result<void> announced = Announce();
    EXPECT_TRUE(announced) << announced.error().detail;
    ASSERT_EQ(Leaders().size(), 1u);
    EXPECT_TRUE(Leaders()[0].leads() && Leaders()[0].Is(*term));
    ASSERT_TRUE(Settings());
    EXPECT_EQ(Settings()->size(), 2u);
}

// Two of three machines are gone for a while: nothing is promised, and afterwards nothing is lost
// or doubled.
TEST_F(EtcdFaultTest, WithoutQuorumNothingIsAnsweredAsDone) {
    StartServer({.members = 3});
    OpenStore("?timeout=2s");
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term) << term.error().detail;
    server_->process(0).Kill();
    server_->process(1).Kill();

    const std::vector<Change> changes = {SettingPut{"key", "value"}};
    const ErrorCode code = CodeOf(Commit(*term, 1, changes));
    EXPECT_TRUE(code == ErrorCode::kUnknown || code == ErrorCode::kUnavailable) << Name(code);
    const auto read = Settings();
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kUnavailable);

    ASSERT_TRUE(server_->process(0).Restart());
    ASSERT_TRUE(server_->process(1).Restart());
    const Result<void> done = CommitUntilDone(*term, 1, changes);
    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_TRUE(Commit(*term, 2, {}));
    ASSERT_TRUE(Settings());
    EXPECT_EQ(Settings()->size(), 1u);
}

// An operator revokes the lease, or etcd does so by mistake (a bug before 3.4.31). Whoever is quick
// may lead; the node itself is announced again by its next announcement.
TEST_F(EtcdFaultTest, ARevokedLeaseLetsOthersLead) {
    StartServer();
    OpenStore();
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term);
    ASSERT_TRUE(Announce());
    const Result<std::string> leases = server_->Ctl({"lease", "list"});
    ASSERT_TRUE(leases) << leases.error().detail;
    const std::string lease = leases->substr(leases->find('\n') + 1, 16);

    const Result<std::string> revoked = server_->Ctl({"lease", "revoke", lease});

    ASSERT_TRUE(revoked) << revoked.error().detail;
    EXPECT_FALSE(Leaders().at(0).leads());
    EXPECT_TRUE(Acquire("node-b"));
    EXPECT_EQ(CodeOf(Commit(*term, 1, {})), ErrorCode::kFenced);
    ASSERT_TRUE(Announce());
    EXPECT_TRUE(Leaders().at(0).leads());
    EXPECT_EQ(Leaders().at(0).node.view(), "node-b");
}

// Somebody deletes the node's key, while the lease behind it lives and says so. The next announcement
// after that was seen puts it back.
TEST_F(EtcdFaultTest, ADeletedNodeKeyIsPutBack) {
    StartServer();
    OpenStore();
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term);
    ASSERT_TRUE(server_->Ctl({"del", "/takt/nodes/node-a"}));
    EXPECT_FALSE(Leaders().at(0).leads());

    ASSERT_TRUE(Announce());

    EXPECT_TRUE(Leaders().at(0).leads());
    EXPECT_TRUE(Leaders().at(0).Is(*term));
}

// One lease for a node, whatever it leads and however often it is announced.
TEST_F(EtcdFaultTest, ANodeHasOneLease) {
    StartServer();
    OpenStore();
    for (Partition p = 0; p < 5; ++p) {
        ASSERT_TRUE(TakeLead(*store_, {.node = {.node = NodeId("node-a"), .address = "http://a"},
                                       .ttl = Duration(600'000),
                                       .partition = p}));
    }
    const Result<std::string> leases = server_->Ctl({"lease", "list"});
    ASSERT_TRUE(leases) << leases.error().detail;
    EXPECT_TRUE(leases->starts_with("found 1 leases")) << *leases;
}

// A rolling upgrade: a scheduler of the version before leads partition 0, by a key with a lease. It is
// seen as the leader, and nobody takes its place while that key is there.
TEST_F(EtcdFaultTest, ALeaderOfTheVersionBeforeIsRespected) {
    StartServer();
    OpenStore();
    const std::string row = R"({"node":"old","address":"http://old","epoch":41})";
    ASSERT_TRUE(server_->Ctl({"put", "/takt/0/leader", row}));
    ASSERT_TRUE(server_->Ctl({"put", "/takt/0/epoch", "0000000000000029"}));

    ASSERT_EQ(Leaders().size(), 1u);
    EXPECT_TRUE(Leaders()[0].leads());
    EXPECT_EQ(Leaders()[0].node.view(), "old");
    EXPECT_EQ(Leaders()[0].epoch, 41u);
    const Result<Term> early = Acquire("node-b");
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, ErrorCode::kConflict) << early.error().detail;

    ASSERT_TRUE(server_->Ctl({"del", "/takt/0/leader"}));
    const Result<Term> term = Acquire("node-b");
    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(term->epoch, 42u);
    EXPECT_TRUE(Commit(*term, 1, {}));
}

// The node is announced, but the key that counts is gone.
TEST_F(EtcdFaultTest, ADeletedLeaderKeyEndsTheTerm) {
    StartServer();
    OpenStore();
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term);

    ASSERT_TRUE(server_->Ctl({"del", "/takt/leaders/000"}));

    EXPECT_TRUE(Leaders().empty());
    EXPECT_EQ(CodeOf(Commit(*term, 1, {})), ErrorCode::kFenced);
    const Result<Term> next = Acquire();
    ASSERT_TRUE(next) << next.error().detail;
    EXPECT_GT(next->epoch, term->epoch);
}

// An upgrade was taken back. What the newer version wrote must not be led, nor written over.
TEST_F(EtcdFaultTest, DataOfANewerLayoutIsNotLed) {
    StartServer();
    OpenStore();
    ASSERT_TRUE(Acquire());
    const Result<std::string> stamp = server_->Ctl({"get", "--print-value-only", "/takt/layout"});
    ASSERT_TRUE(stamp) << stamp.error().detail;
    EXPECT_EQ(*stamp, std::to_string(kLayout) + "\n");
    ASSERT_TRUE(Acquire()) << "what is stamped is led on";

    ASSERT_TRUE(server_->Ctl({"put", "/takt/layout", std::to_string(kLayout + 1)}));
    const Result<Term> term = Acquire();

    ASSERT_FALSE(term);
    EXPECT_EQ(term.error().code, ErrorCode::kInvalid);
    EXPECT_NE(term.error().detail.find("newer"), std::string::npos) << term.error().detail;
}

// etcd hangs for a moment. One announcement is lost, and there is time left for another.
TEST_F(EtcdFaultTest, OneUnansweredAnnouncementDoesNotCostTheLead) {
    constexpr Duration kTtl{8'000};
    StartServer();
    OpenStore();
    const Result<Term> term = Acquire("node-a", kTtl);
    ASSERT_TRUE(term);
    ASSERT_TRUE(Announce("node-a", kTtl));
    server_->process().Pause();

    const auto begin = steady_clock::now();
    const Result<void> lost = Announce("node-a", kTtl);
    const auto took = steady_clock::now() - begin;
    server_->process().Continue();

    EXPECT_FALSE(lost);
    EXPECT_LT(took, kTtl / 2) << "there must be time left to ask again";
    const Result<void> announced = Announce("node-a", kTtl);
    EXPECT_TRUE(announced) << announced.error().detail;
    EXPECT_TRUE(Leaders().at(0).leads());
}

// etcd hangs: a stalled disk, a paused machine. Its connections stay open and nothing comes.
TEST_F(EtcdFaultTest, AStalledServerIsGivenUpAtTheDeadline) {
    StartServer();
    OpenStore("?timeout=1s");
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term);
    ASSERT_TRUE(Commit(*term, 1, {}));
    server_->process().Pause();

    const auto begin = steady_clock::now();
    const ErrorCode write = CodeOf(Commit(*term, 2, {SettingPut{"key", "value"}}));
    const auto read = Settings();
    const auto took = steady_clock::now() - begin;

    EXPECT_EQ(write, ErrorCode::kUnknown);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kUnavailable);
    EXPECT_LT(took, std::chrono::seconds(10));
    server_->process().Continue();
    const Result<void> done = CommitUntilDone(*term, 2, {SettingPut{"key", "value"}});
    EXPECT_TRUE(done) << done.error().detail;
    EXPECT_TRUE(Commit(*term, 3, {}));
}

// The scheduler is started before etcd, or with a wrong port.
// A commit that was not answered may still be on its way. The one behind it is not even begun: whatever
// it read now would be from before the other.
TEST_F(EtcdFaultTest, NothingIsBegunBehindACommitWhoseFateIsUnknown) {
    StartServer();
    OpenStore("?timeout=1s");
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term) << term.error().detail;
    // Too large to go together.
    const std::string filling(700 << 10, 'x');
    const auto batch = [&](std::uint64_t sequence) {
        return std::make_shared<const Batch>(Batch{
            *term, sequence, 0, {SettingPut{"last", Text(std::to_string(sequence) + filling)}}});
    };
    ASSERT_TRUE(Commit(*term, 1, {}));
    server_->process().Pause();
    std::array<std::promise<Result<void>>, 2> answers;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        store_->Commit(batch(2 + i), [&answers, i](Result<void> result) {
            answers[i].set_value(std::move(result));
        });
    }
    const Result<void> first = answers[0].get_future().get();
    const Result<void> second = answers[1].get_future().get();
    server_->process().Continue();

    ASSERT_FALSE(first || second);
    EXPECT_EQ(first.error().code, ErrorCode::kUnknown);
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable) << second.error().detail;
    EXPECT_TRUE(CommitUntilDone(*term, 2, batch(2)->changes));
    EXPECT_TRUE(CommitUntilDone(*term, 3, batch(3)->changes));
    ASSERT_EQ(Settings()->size(), 1u);
    EXPECT_EQ(Settings()->front().value.view().front(), '3');
}

TEST_F(EtcdFaultTest, AnEtcdThatIsNotThereIsUnavailable) {
    store_ = MakeStore("etcd://127.0.0.1:" + std::to_string(FreePort()) + "?timeout=500ms");

    const Result<Term> term = Acquire();

    ASSERT_FALSE(term);
    EXPECT_EQ(term.error().code, ErrorCode::kUnavailable) << term.error().detail;
    EXPECT_EQ(CodeOf(Commit(Term{0, 1, 1}, 1, {})), ErrorCode::kUnavailable)
        << "refused, so surely not applied";
}

// Of three members only the last one of the URL is up; the first call finds it.
TEST_F(EtcdFaultTest, DeadMembersAreSkipped) {
    StartServer();
    const std::string dead = "127.0.0.1:" + std::to_string(FreePort()) +
                             ",127.0.0.1:" + std::to_string(FreePort()) + ",";
    store_ = MakeStore("etcd://" + dead + server_->url().substr(7));

    const Result<Term> term = Acquire();

    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_TRUE(Commit(*term, 1, {}));
}

// Retention by an operator: everything but the present is discarded.
TEST_F(EtcdFaultTest, CompactionDisturbsNeitherCommitsNorReads) {
    StartServer();
    OpenStore();
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        ASSERT_TRUE(Commit(*term, i, {SettingPut{"key", Text(std::to_string(i))}}));
    }

    const Result<std::string> compacted =
        server_->Ctl({"compact", std::to_string(term->nonce + 5)});

    ASSERT_TRUE(compacted) << compacted.error().detail;
    EXPECT_TRUE(Commit(*term, 6, {SettingPut{"key", "6"}}));
    EXPECT_TRUE(Commit(*term, 3, {SettingPut{"key", "3"}})) << "an old copy still changes nothing";
    ASSERT_TRUE(Settings());
    EXPECT_EQ(Settings()->at(0).value.view(), "6");
    EXPECT_TRUE(Announce());
}

Async<Result<Rows>> ReadTwice(Snapshot& snapshot, KeyRange range, std::function<void()> between) {
    const Result<Rows> first = co_await snapshot.Range(range, 1);
    EXPECT_TRUE(first) << first.error().detail;
    between();
    co_return co_await snapshot.Range(range, 1);
}

Detached RunTo(Async<Result<Rows>> work, std::promise<Result<Rows>>& answer) {
    answer.set_value(co_await std::move(work));
}

// A long read is overtaken by compaction: it must notice, not mix two states.
TEST_F(EtcdFaultTest, ASnapshotThatWasCompactedAwayEndsWithConflict) {
    StartServer();
    OpenStore();
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term);
    const Result<EtcdOptions> options = ParseEtcdUrl(server_->url());
    Client client(*options, Security{});
    Snapshot snapshot(client);

    std::promise<Result<Rows>> answer;
    RunTo(ReadTwice(snapshot, WithPrefix("/takt/"),
                    [&] {
                        ASSERT_TRUE(Commit(*term, 1, {SettingPut{"key", "1"}}));
                        ASSERT_TRUE(Commit(*term, 2, {SettingPut{"key", "2"}}));
                        ASSERT_TRUE(server_->Ctl({"compact", std::to_string(term->nonce + 2)}));
                    }),
          answer);
    const Result<Rows> second = answer.get_future().get();

    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kConflict) << second.error().detail;
}

// Nobody watched the disk: etcd raises its alarm and refuses writes until an operator helps.
TEST_F(EtcdFaultTest, AFullEtcdRefusesWithASentenceThatHelps) {
    StartServer({.arguments = {"--quota-backend-bytes", std::to_string(12 << 20)}});
    OpenStore();
    const Result<Term> term = Acquire();
    ASSERT_TRUE(term);
    const Text megabyte(std::string(1 << 20, 'x'));
    Result<void> done;
    std::uint64_t sequence = 0;
    while (done && sequence < 50) done = Commit(*term, ++sequence, {SettingPut{"big", megabyte}});
    ASSERT_FALSE(done) << "the quota was not reached";
    EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(done.error().detail.find("alarm disarm"), std::string::npos) << done.error().detail;
    EXPECT_TRUE(Settings()) << "reading goes on";
    EXPECT_TRUE(Announce()) << "and so does the term";

    const std::string revision = std::to_string(term->nonce + sequence - 1);
    ASSERT_TRUE(server_->Ctl({"compact", "--physical", revision}));
    ASSERT_TRUE(server_->Ctl({"defrag"}));
    ASSERT_TRUE(server_->Ctl({"alarm", "disarm"}));
    const Result<void> again = Commit(*term, sequence, {SettingPut{"big", "small"}});
    EXPECT_TRUE(again) << again.error().detail;
}

}  // namespace
}  // namespace takt::internal::etcd
