// A planned failover: an operator asks Sentinel for another primary while everybody is well.
#include <gmock/gmock.h>

#include <fstream>

#include "store/redis/store_fixture.h"

namespace takt::internal::redis {
namespace {

using std::chrono::steady_clock;

// A primary, two replicas, three Sentinels.
class PlannedFailover : public testing::Test {
  protected:
    void SetUp() override {
        servers_.push_back(StartServer());
        const std::string primary = "127.0.0.1 " + std::to_string(servers_[0]->port());
        for (int i = 0; i < 2; ++i) servers_.push_back(StartServer({"--replicaof", primary}));
        for (const auto& server : servers_) ASSERT_TRUE(server);
        for (const char* replica : {"slave0", "slave1"}) {
            ASSERT_TRUE(servers_[0]->CliUntil({"INFO", "replication"}, replica));
        }
        for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(StartSentinel(primary));
        for (const std::uint16_t port : ports_) {
            ASSERT_TRUE(SaysSoon(port, "num-slaves\n2\n"));
            ASSERT_TRUE(SaysSoon(port, "num-other-sentinels\n2\n"));
        }
    }

    void StartSentinel(const std::string& primary) {
        const std::uint16_t port = FreePort();
        directories_.push_back(std::make_unique<TempDirectory>());
        const TempDirectory& directory = *directories_.back();
        std::ofstream(directory.File("sentinel.conf"))
            << "port " << port << "\nbind 127.0.0.1\ndir " << directory.path().string() << "\n"
            << "sentinel monitor mymaster " << primary << " 2\n"
            << "sentinel down-after-milliseconds mymaster 60000\n"
            << "sentinel failover-timeout mymaster 60000\n";
        auto sentinel = ServerProcess::Start(
            {.command = {"redis-server", directory.File("sentinel.conf"), "--sentinel"},
             .directory = directory.path(),
             .ready = [port] { return Accepts(port); }});
        ASSERT_TRUE(sentinel) << sentinel.error().detail;
        sentinels_.push_back(std::move(*sentinel));
        ports_.push_back(port);
    }

    static Result<std::string> Ask(std::uint16_t port, const char* what) {
        return RunProgram({"redis-cli", "-p", std::to_string(port), "SENTINEL", what, "mymaster"});
    }
    static bool SaysSoon(std::uint16_t port, const std::string& text) {
        const auto until = steady_clock::now() + std::chrono::seconds(40);
        while (steady_clock::now() < until) {
            const auto said = Ask(port, "master");
            if (said && said->find(text) != std::string::npos) return true;
        }
        return false;
    }

    // Whether a connection's last command was the second half of the store's question.
    static bool WasAsked(std::uint16_t port) {
        const auto clients =
            RunProgram({"redis-cli", "-p", std::to_string(port), "CLIENT", "LIST"});
        return clients && clients->find("cmd=sentinel") != std::string::npos;
    }

    std::string url(const std::string& rest = {}) const {
        std::string hosts;
        for (const std::uint16_t port : ports_) {
            hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
        }
        return "redis+sentinel://" + hosts + "/mymaster" + rest;
    }

    // The server that a Sentinel names, if it is another than the first.
    RedisServer* Promoted(std::uint16_t port) {
        const auto address = Ask(port, "get-master-addr-by-name");
        for (std::size_t i = 1; address && i < servers_.size(); ++i) {
            const std::string text = "\n" + std::to_string(servers_[i]->port()) + "\n";
            if (address->find(text) != std::string::npos) return servers_[i].get();
        }
        return nullptr;
    }

    // Commits without a pause from before the failover until some time after it. What was
    // acknowledged must be in the server that leads afterwards.
    void CommitThroughFailover(const std::string& url, std::size_t asked) {
        const auto store = OpenStoreAt(url);
        const auto term = Acquire(*store, "node-a");
        ASSERT_TRUE(term) << term.error().detail;
        RowMaker make;
        std::uint64_t acknowledged = 0;
        Execution row = make.OneOff("e-1");
        const auto commit = [&] {
            const auto done = Commit(*store, *term, acknowledged + 1, Insert(row));
            if (!done) {
                ASSERT_NE(done.error().code, ErrorCode::kFenced) << done.error().detail;
                return;
            }
            ++acknowledged;
            row = make.OneOff("e-" + std::to_string(acknowledged + 1));
        };
        // Until the Sentinel has been asked, too.
        const auto until = steady_clock::now() + std::chrono::seconds(40);
        while (acknowledged < 20 || !WasAsked(ports_[asked])) {
            ASSERT_LT(steady_clock::now(), until) << "nobody asks Sentinel " << asked;
            ASSERT_NO_FATAL_FAILURE(commit());
        }
        ASSERT_NO_FATAL_FAILURE(commit());

        ASSERT_TRUE(Ask(ports_[asked], "failover"));
        RedisServer* promoted = nullptr;
        while (!promoted) {
            ASSERT_LT(steady_clock::now(), until) << "Sentinel promotes nobody";
            for (int i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(commit());
            promoted = Promoted(ports_[asked]);
        }
        const std::uint64_t then = acknowledged;
        while (acknowledged < then + 20) {
            ASSERT_LT(steady_clock::now(), until) << "no commit is acknowledged any more";
            ASSERT_NO_FATAL_FAILURE(commit());
        }

        const auto kept = promoted->Cli({"HGET", "{takt:0}:fence", "sequence"});
        ASSERT_TRUE(kept) << kept.error().detail;
        EXPECT_EQ(std::stoull(*kept), acknowledged)
            << "batches were acknowledged that the new primary does not have";
        EXPECT_EQ(*promoted->Cli({"ZCARD", "{takt:0}:live"}), std::to_string(acknowledged) + "\n");
    }

    std::vector<std::unique_ptr<RedisServer>> servers_;
    std::vector<std::unique_ptr<TempDirectory>> directories_;
    std::vector<std::unique_ptr<ServerProcess>> sentinels_;
    std::vector<std::uint16_t> ports_;
};

TEST_F(PlannedFailover, LosesNothingThatWasAcknowledged) {
    ASSERT_NO_FATAL_FAILURE(CommitThroughFailover(url(), 0));
}

// The other replica acknowledges for the old primary until it is told to follow the new one. The
// Sentinel that the store asks first is told of the failover by the one that leads it.
TEST_F(PlannedFailover, LosesNothingWithOneReplicaOfTwo) {
    ASSERT_NO_FATAL_FAILURE(CommitThroughFailover(url("?wait=1"), 2));
}

// The URL names one Sentinel, another leads the failover.
TEST_F(PlannedFailover, OfASentinelThatTheUrlDoesNotNameLosesNothing) {
    const std::string one = "redis+sentinel://127.0.0.1:" + std::to_string(ports_[0]);
    ASSERT_NO_FATAL_FAILURE(CommitThroughFailover(one + "/mymaster", 2));
}

// The replicas are stalled, so that the failover neither ends nor fails. The old primary has the
// commit, the next one may not.
TEST_F(PlannedFailover, NothingIsAcknowledgedWhileItIsUnderWay) {
    const auto store = OpenStoreAt(url("?timeout=2s"));
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    RowMaker make;
    ASSERT_TRUE(Commit(*store, *term, 1, Insert(make.OneOff("e-1"))));
    for (std::size_t i = 1; i < servers_.size(); ++i) servers_[i]->process().Pause();
    ASSERT_TRUE(Ask(ports_[1], "failover"));
    ASSERT_TRUE(SaysSoon(ports_[1], "failover_in_progress"));

    const Execution second = make.OneOff("e-2");
    const auto held = Commit(*store, *term, 2, Insert(second));
    EXPECT_EQ(Code(held), "unknown");
    EXPECT_EQ(*servers_[0]->Cli({"HGET", "{takt:0}:fence", "sequence"}), "2\n");

    for (std::size_t i = 1; i < servers_.size(); ++i) servers_[i]->process().Continue();
    const auto until = steady_clock::now() + std::chrono::seconds(40);
    Result<void> done;
    while (!(done = Commit(*store, *term, 2, Insert(second)))) {
        ASSERT_LT(steady_clock::now(), until) << done.error().detail;
    }
    RedisServer* promoted = nullptr;
    while (!(promoted = Promoted(ports_[1]))) ASSERT_LT(steady_clock::now(), until);
    EXPECT_EQ(*promoted->Cli({"HGET", "{takt:0}:fence", "sequence"}), "2\n");
}

// Sentinels that hang or are gone start no failover: the store goes on.
TEST_F(PlannedFailover, CommitsGoOnWithoutSentinels) {
    const auto store = OpenStoreAt(url());
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    RowMaker make;
    std::uint64_t sequence = 0;
    const auto commit = [&] {
        const Execution row = make.OneOff("e-" + std::to_string(++sequence));
        const auto done = Commit(*store, *term, sequence, Insert(row));
        EXPECT_TRUE(done) << done.error().detail;
    };
    commit();
    sentinels_[0]->Pause();
    commit();
    sentinels_[1]->Kill();
    commit();
    sentinels_[2]->Kill();
    commit();
    sentinels_[0]->Continue();
    commit();
}

}  // namespace
}  // namespace takt::internal::redis
