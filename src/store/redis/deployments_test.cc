// Redis as it stands in production: behind TLS, behind Sentinel, as a cluster.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "store/redis/keys.h"
#include "store/redis/store_fixture.h"
#include "store/testing/certificates.h"

namespace takt::internal::redis {
namespace {

// For 127.0.0.1.
class Certificates {
  public:
    Certificates() {
        const Result<void> made = MakeCertificates(directory_);
        EXPECT_TRUE(made) << made.error().detail;
    }
    std::string File(const std::string& name) const { return directory_.File(name); }

  private:
    TempDirectory directory_;
};

// A managed Redis that takes TLS only, and wants to know its clients by certificate.
TEST(RedisTls, CertificatesAreCheckedBothWays) {
    const Certificates files;
    const auto server =
        StartServer({"--port", "0", "--tls-port", "{port}", "--tls-cert-file",
                     files.File("server.pem"), "--tls-key-file", files.File("server.key"),
                     "--tls-ca-cert-file", files.File("ca.pem"), "--tls-auth-clients", "yes"});
    const std::string place = "rediss://127.0.0.1:" + std::to_string(server->port());
    const std::string ca = "ca=" + files.File("ca.pem");
    const std::string client =
        "cert=" + files.File("client.pem") + "&key=" + files.File("client.key");

    const auto store = OpenStoreAt(place + "?" + ca + "&" + client);
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    Execution large = make.Fire("t-1", "e-1");
    large.payload = Text(std::string(1 << 20, 'x'));
    ASSERT_TRUE(Commit(*store, *term, 1, Insert(large)));
    ASSERT_EQ(List(*store)->size(), 1u);
    EXPECT_EQ(Show(List(*store)->at(0)), Show(large));

    const auto stranger = TryStoreAt(place + "?" + client);
    ASSERT_FALSE(stranger) << "nobody vouches for the server";
    EXPECT_EQ(stranger.error().code, ErrorCode::kInvalid) << stranger.error().detail;
    const auto trusting = TryStoreAt(place + "?verify=0&" + client);
    EXPECT_TRUE(trusting) << trusting.error().detail;
    // Redis ends such a connection without a word: as good as away.
    const auto unknown = TryStoreAt(place + "?timeout=500ms&" + ca);
    ASSERT_TRUE(unknown) << unknown.error().detail;
    EXPECT_FALSE(Acquire(**unknown, "node-b")) << "without a client's certificate";
    const auto name = TryStoreAt("rediss://localhost:" + std::to_string(server->port()) + "?" + ca +
                                 "&" + client);
    EXPECT_FALSE(name) << "the certificate is for 127.0.0.1";
    const auto file = TryStoreAt(place + "?ca=/no/such/file");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::kInvalid);
}

// Certificates are renewed every few weeks, and here the authority with them. The server gets its
// new ones and is restarted; the scheduler finds the new files where the old ones were.
TEST(RedisTls, RenewedCertificatesAreUsedForTheNextConnection) {
    const Certificates before, after;
    const TempDirectory live;
    const auto put = [&](const Certificates& files) {
        for (const char* name :
             {"ca.pem", "server.pem", "server.key", "client.pem", "client.key"}) {
            // Renamed into place, as certificate tools do.
            std::filesystem::copy_file(files.File(name), live.File("new"));
            std::filesystem::rename(live.File("new"), live.File(name));
        }
    };
    put(before);
    const auto server =
        StartServer({"--port", "0", "--tls-port", "{port}", "--tls-cert-file",
                     live.File("server.pem"), "--tls-key-file", live.File("server.key"),
                     "--tls-ca-cert-file", live.File("ca.pem"), "--tls-auth-clients", "yes"});
    const auto store = OpenStoreAt("rediss://127.0.0.1:" + std::to_string(server->port()) +
                                   "?timeout=1s&tls_ca=" + live.File("ca.pem") + "&tls_cert=" +
                                   live.File("client.pem") + "&tls_key=" + live.File("client.key"));
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;

    server->process().Kill();
    put(after);
    ASSERT_TRUE(server->process().Restart());

    Result<void> done = Commit(*store, *term, 1, {});
    for (int i = 0; i < 20 && !done; ++i) done = Commit(*store, *term, 1, {});
    EXPECT_TRUE(done) << done.error().detail;
}

// A server behind TLS stalls in the middle of large commits. Each is given up in its time, while
// its bytes are still on their way; the sanitizers watch who holds them.
TEST(RedisTls, ACommitThatIsGivenUpKeepsItsBytesUntilTheWriteEnds) {
    const Certificates files;
    const auto server =
        StartServer({"--port", "0", "--tls-port", "{port}", "--tls-cert-file",
                     files.File("server.pem"), "--tls-key-file", files.File("server.key"),
                     "--tls-ca-cert-file", files.File("ca.pem"), "--tls-auth-clients", "no"});
    const auto store =
        OpenStoreAt("rediss://127.0.0.1:" + std::to_string(server->port()) +
                    "?timeout=300ms&connect_timeout=200ms&ca=" + files.File("ca.pem"));
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    std::vector<Change> changes;
    for (int i = 0; i < 7; ++i) {
        Execution row = make.Fire("t-1", "e-" + std::to_string(i));
        row.payload = Text(std::string(1 << 20, 'x'));
        changes.push_back(ExecutionChange{Place::kNone, Place::kLive, row});
    }

    server->process().Pause();
    for (int i = 0; i < 3; ++i) {
        const auto stalled = Commit(*store, *term, 1, changes);
        ASSERT_FALSE(stalled);
        EXPECT_NE(stalled.error().code, ErrorCode::kFenced) << stalled.error().detail;
    }
    server->process().Continue();

    Result<void> done;
    for (int i = 0; i < 100 && !(done = Commit(*store, *term, 1, changes)); ++i) {
        ASSERT_NE(done.error().code, ErrorCode::kFenced) << done.error().detail;
    }
    EXPECT_TRUE(done) << done.error().detail;
    EXPECT_EQ(List(*store)->size(), 7u);
}

// Somebody mistypes the name of the primary.
TEST(RedisSentinel, AMasterThatNobodyKnowsIsAWrongValue) {
    const TempDirectory directory;
    const std::uint16_t port = FreePort();
    std::ofstream(directory.File("sentinel.conf"))
        << "port " << port << "\nbind 127.0.0.1\ndir " << directory.path().string() << "\n";
    const auto sentinel = ServerProcess::Start(
        {.command = {"redis-server", directory.File("sentinel.conf"), "--sentinel"},
         .directory = directory.path(),
         .ready = [port] { return Accepts(port); }});
    ASSERT_TRUE(sentinel) << sentinel.error().detail;

    const auto store =
        TryStoreAt("redis+sentinel://127.0.0.1:" + std::to_string(port) + "/mymastre?timeout=1s");

    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(store.error().field, "store");
    EXPECT_THAT(store.error().detail, testing::HasSubstr("watches no master named 'mymastre'"));
}

// The primary dies, Sentinel promotes its replica, and the store finds it by itself.
TEST(RedisSentinel, AFailoverIsFollowed) {
    const auto primary = StartServer();
    const auto replica =
        StartServer({"--replicaof", "127.0.0.1 " + std::to_string(primary->port())});
    ASSERT_TRUE(primary->CliUntil({"INFO", "replication"}, "state=online"));
    const TempDirectory directory;
    const std::uint16_t port = FreePort();
    std::ofstream(directory.File("sentinel.conf"))
        << "port " << port << "\nbind 127.0.0.1\ndir " << directory.path().string()
        << "\nsentinel monitor mymaster 127.0.0.1 " << primary->port() << " 1\n"
        << "sentinel down-after-milliseconds mymaster 500\n"
        << "sentinel failover-timeout mymaster 5000\n";
    const auto sentinel = ServerProcess::Start(
        {.command = {"redis-server", directory.File("sentinel.conf"), "--sentinel"},
         .directory = directory.path(),
         .ready = [port] { return Accepts(port); }});
    ASSERT_TRUE(sentinel) << sentinel.error().detail;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto ask = [&](const char* what) {
        return *RunProgram({"redis-cli", "-p", std::to_string(port), "SENTINEL", what, "mymaster"});
    };
    while (ask("replicas").find(std::to_string(replica->port())) == std::string::npos) {
        ASSERT_LT(std::chrono::steady_clock::now(), until) << "Sentinel does not see the replica";
    }

    const auto store = OpenStoreAt(
        "redis+sentinel://127.0.0.1:1,127.0.0.1:" + std::to_string(port) + "/mymaster?timeout=1s");
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    ASSERT_TRUE(Commit(*store, *term, 1, Insert(make.OneOff("e-1"))));
    ASSERT_TRUE(replica->CliUntil({"HGET", "{takt:0}:fence", "sequence"}, "1"));

    primary->process().Kill();
    const Execution second = make.OneOff("e-2");
    const auto failover_max = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (true) {
        const auto done = Commit(*store, *term, 2, Insert(second));
        if (done) break;
        ASSERT_TRUE(done.error().code == ErrorCode::kUnavailable ||
                    done.error().code == ErrorCode::kUnknown)
            << done.error().detail;
        ASSERT_LT(std::chrono::steady_clock::now(), failover_max) << done.error().detail;
    }
    EXPECT_EQ(List(*store)->size(), 2u);
    EXPECT_EQ(*replica->Cli({"HGET", "{takt:0}:fence", "sequence"}), "2\n");
}

class RedisClusterTest : public testing::Test {
  protected:
    void SetUp() override {
        std::vector<std::string> command = {"redis-cli", "--cluster", "create"};
        for (int i = 0; i < 3; ++i) {
            nodes_.push_back(StartServer({"--cluster-enabled", "yes", "--cluster-config-file",
                                          "nodes.conf", "--cluster-node-timeout", "2000"}));
            command.push_back("127.0.0.1:" + std::to_string(nodes_.back()->port()));
        }
        command.push_back("--cluster-yes");
        const auto created = RunProgram(command);
        ASSERT_TRUE(created) << created.error().detail;
        for (const auto& node : nodes_) {
            ASSERT_TRUE(node->CliUntil({"CLUSTER", "INFO"}, "cluster_state:ok"));
        }
    }
    std::string IdOf(const RedisServer& node) {
        std::string id = *node.Cli({"CLUSTER", "MYID"});
        id.pop_back();
        return id;
    }
    // The node that has a key's slot.
    RedisServer& Owner(const std::string& key) {
        for (const auto& node : nodes_) {
            const auto answer = node->Cli({"EXISTS", key});
            if (answer && answer->find("MOVED") == std::string::npos) return *node;
        }
        ADD_FAILURE() << "nobody has " << key;
        return *nodes_[0];
    }

    std::vector<std::unique_ptr<RedisServer>> nodes_;
};

// Partitions live on different nodes; readers find each of them.
TEST_F(RedisClusterTest, PartitionsOnDifferentNodesAreOneStore) {
    const auto store = OpenStoreAt(nodes_[0]->url("?cluster=1"));
    RowMaker make;
    for (Partition partition = 0; partition < 4; ++partition) {
        const auto term = Acquire(*store, "node-a", partition);
        ASSERT_TRUE(term) << term.error().detail;
        const std::string id = "e-" + std::to_string(partition);
        const Execution row = make.OneOff(id);
        const auto done = Commit(*store, *term, 1, Insert(row));
        ASSERT_TRUE(done) << done.error().detail;
    }
    // Another node's handle, which has been told of other seeds and of no partition.
    const auto reader = OpenStoreAt(nodes_[2]->url("," + nodes_[1]->url().substr(8)));
    for (Partition partition = 0; partition < 4; ++partition) {
        const auto rows = List(*reader, {.partition = partition});
        ASSERT_TRUE(rows) << rows.error().detail;
        ASSERT_EQ(rows->size(), 1u);
        EXPECT_EQ(rows->front().id.view(), "e-" + std::to_string(partition));
    }
    using Found = std::vector<std::optional<Execution>>;
    const auto found = Await<Found>([&](Done<Found> done) {
        reader->FindExecutions(3, {ExecutionId("e-3"), ExecutionId("e-2")}, std::move(done));
    });
    ASSERT_TRUE(found) << found.error().detail;
    EXPECT_TRUE(found->at(0) && !found->at(1));
}

// An operator moves the partition's slot to another node while the scheduler works. In between a
// commit is refused whole; afterwards it finds its way.
TEST_F(RedisClusterTest, ASlotThatMovesIsFollowed) {
    const auto store = OpenStoreAt(nodes_[0]->url("?cluster=1"));
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    ASSERT_TRUE(Commit(*store, *term, 1, Insert(make.OneOff("e-1"))));

    const std::string slot = std::to_string(HashSlotOf("takt:0"));
    RedisServer& from = Owner("{takt:0}:fence");
    RedisServer& to = *(nodes_[0].get() == &from ? nodes_[1] : nodes_[0]);
    ASSERT_TRUE(to.Cli({"CLUSTER", "SETSLOT", slot, "IMPORTING", IdOf(from)}));
    ASSERT_TRUE(from.Cli({"CLUSTER", "SETSLOT", slot, "MIGRATING", IdOf(to)}));
    const Execution second = make.OneOff("e-2");
    const auto between = Commit(*store, *term, 2, Insert(second));
    EXPECT_EQ(Code(between), "unavailable");
    EXPECT_EQ(*from.Cli({"ZCARD", "{takt:0}:live"}), "1\n") << "nothing of it was applied";

    std::istringstream keys(*from.Cli({"CLUSTER", "GETKEYSINSLOT", slot, "100"}));
    std::vector<std::string> migrate = {"MIGRATE", "127.0.0.1", std::to_string(to.port()), "", "0",
                                        "5000",    "KEYS"};
    for (std::string key; std::getline(keys, key);) {
        if (!key.empty()) migrate.push_back(key);
    }
    const auto moved = from.Cli(migrate);
    ASSERT_TRUE(moved) << moved.error().detail;
    for (const auto& node : nodes_) {
        ASSERT_TRUE(node->Cli({"CLUSTER", "SETSLOT", slot, "NODE", IdOf(to)}));
    }

    EXPECT_EQ(Code(Commit(*store, *term, 2, Insert(second))), "success");
    EXPECT_EQ(List(*store)->size(), 2u);
    EXPECT_EQ(*to.Cli({"ZCARD", "{takt:0}:live"}), "2\n");
}

// The slot is moving, and the index of a worker's executions has gone ahead. A purge that needs it
// does nothing at all, so that nothing is left behind for ever when it is repeated.
TEST_F(RedisClusterTest, APurgeInAMovingSlotIsWholeOrNothing) {
    const auto store = OpenStoreAt(nodes_[0]->url("?cluster=1"));
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    const Execution live = make.OneOff("e-1");
    Execution row = conformance::Finished(live);
    row.worker = WorkerId("w-1");
    ASSERT_TRUE(Commit(*store, *term, 1, Insert(live)));
    ASSERT_TRUE(Commit(*store, *term, 2, {ExecutionChange{Place::kLive, Place::kHistory, row}}));
    const std::string slot = std::to_string(HashSlotOf("takt:0"));
    RedisServer& from = Owner("{takt:0}:fence");
    RedisServer& to = *(nodes_[0].get() == &from ? nodes_[1] : nodes_[0]);
    ASSERT_TRUE(to.Cli({"CLUSTER", "SETSLOT", slot, "IMPORTING", IdOf(from)}));
    ASSERT_TRUE(from.Cli({"CLUSTER", "SETSLOT", slot, "MIGRATING", IdOf(to)}));
    ASSERT_TRUE(from.Cli(
        {"MIGRATE", "127.0.0.1", std::to_string(to.port()), "{takt:0}:worker:w-1", "0", "5000"}));

    const auto between = Commit(*store, *term, 3, {Purge{row.finished_at + Duration(1), {}, 100}});

    EXPECT_EQ(Code(between), "unavailable");
    // An index that was emptied is gone, and so asked for elsewhere.
    for (const auto& [command, index] :
         {std::pair("LLEN", "{takt:0}:ended"), std::pair("ZCARD", "{takt:0}:history:success")}) {
        const auto left = from.Cli({command, index});
        ASSERT_TRUE(left) << index << " was changed: " << left.error().detail;
        EXPECT_EQ(*left, "1\n") << index;
    }
}

}  // namespace
}  // namespace takt::internal::redis
