// Opening a store on a server: who is let in, which settings are good enough,
// and a server that is not there yet.
#include "store/redis/store_fixture.h"

namespace takt::internal::redis {
namespace {

// A server with a password: nobody else gets in, and nobody reads it in a log.
TEST(RedisStoreDoor, APasswordIsNeededAndNeverShown) {
    const auto server = StartServer({"--requirepass", "s3cret"});
    const std::string place = "127.0.0.1:" + std::to_string(server->port());

    const auto without = TryStoreAt("redis://" + place);
    const auto wrong = TryStoreAt("redis://:wr0ng@" + place);
    const auto store = TryStoreAt("redis://:s3cret@" + place);

    ASSERT_FALSE(without);
    EXPECT_EQ(without.error().code, ErrorCode::kInvalid) << without.error().detail;
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kInvalid) << wrong.error().detail;
    EXPECT_EQ(wrong.error().detail.find("wr0ng"), std::string::npos);
    ASSERT_TRUE(store) << store.error().detail;
    EXPECT_EQ((*store)->Describe().find("s3cret"), std::string::npos);
    EXPECT_TRUE(Acquire(**store, "node-a"));
}

// The rights that docs/stores/redis.md names are enough; less is found out at the start, not in the
// middle of a commit.
TEST(RedisStoreDoor, AnAclUserNeedsTheDocumentedRights) {
    const auto server = StartServer();
    ASSERT_TRUE(server->Cli({"ACL", "SETUSER", "takt", "on", ">pw", "~{takt}:*", "~{takt:*}:*",
                             "&{takt:*}:*", "+@all", "-@dangerous", "+info", "+role"}));
    ASSERT_TRUE(server->Cli({"ACL", "SETUSER", "poor", "on", ">pw", "~*", "+@all", "-xadd"}));
    const std::string place = "127.0.0.1:" + std::to_string(server->port());

    const auto poor = TryStoreAt("redis://poor:pw@" + place);
    ASSERT_FALSE(poor);
    EXPECT_EQ(poor.error().code, ErrorCode::kInvalid) << poor.error().detail;
    EXPECT_NE(poor.error().detail.find("+@all"), std::string::npos) << poor.error().detail;

    // Who may run scripts and not keep them there gets on with fewer.
    ASSERT_TRUE(server->Cli({"ACL", "SETUSER", "spare", "on", ">pw", "~{takt}:*", "~{takt:*}:*",
                             "&{takt:*}:*", "+@all", "-@dangerous", "+info", "+role", "-script"}));
    RowMaker make;
    for (const std::string user : {"takt", "spare"}) {
        const auto store = OpenStoreAt("redis://" + user + ":pw@" + place);
        const auto term = Acquire(*store, user.c_str());
        ASSERT_TRUE(term);
        const auto done =
            Commit(*store, *term, 1, {EventAppend{make.MakeEvent(EventType::kAlert)}});
        EXPECT_TRUE(done) << done.error().detail;
        ASSERT_TRUE(Resign(*store, *term));
    }
}

// Two installations share a server: by database, or by namespace.
TEST(RedisStoreDoor, NamespacesAndDatabasesAreApart) {
    const auto server = StartServer();
    const auto first = OpenStoreAt(server->url());
    const auto other_name = OpenStoreAt(server->url("?prefix=other"));
    const auto other_database = OpenStoreAt(server->url("/1"));
    RowMaker make;

    for (const auto& store : {&first, &other_name, &other_database}) {
        const auto term = Acquire(**store, "node-a");
        ASSERT_TRUE(term);
        EXPECT_EQ(term->epoch, 1u);
        EXPECT_TRUE(Commit(**store, *term, 1, Insert(make.OneOff("e-1"))));
        EXPECT_EQ(List(**store)->size(), 1u);
    }
}

// Redis may throw keys away when it is full: not with our tasks, unless the operator says so.
TEST(RedisStoreSettings, AnEvictingServerIsRefused) {
    const auto server = StartServer({"--maxmemory-policy", "allkeys-lru"});

    const auto refused = TryStoreAt(server->url());
    const auto forced = TryStoreAt(server->url("?unsafe=1"));

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_NE(refused.error().detail.find("noeviction"), std::string::npos);
    ASSERT_TRUE(forced) << forced.error().detail;
    EXPECT_EQ(CheckServerAt(server->url("?unsafe=1")).warnings.size(), 1u);
}

// A shared Redis evicts what has a time to live. Of ours that is only what is written again at once.
TEST(RedisStoreSettings, AServerThatEvictsOnlyWhatExpiresIsTakenWithAWarning) {
    const auto server = StartServer({"--maxmemory-policy", "volatile-lru"});

    const Checked checked = CheckServerAt(server->url());

    EXPECT_TRUE(checked.verdict) << checked.verdict.error().detail;
    ASSERT_EQ(checked.warnings.size(), 1u);
    EXPECT_NE(checked.warnings[0].find("no task is lost"), std::string::npos);
}

// Debian's Redis keeps snapshots only, a container's often nothing.
TEST(RedisStoreSettings, AServerThatKeepsNothingOnDiskIsWarnedOf) {
    const auto nothing = StartServer({"--appendonly", "no"});
    const auto snapshots = StartServer({"--appendonly", "no", "--save", "3600 1"});
    const auto durable = StartServer();

    const Checked bad = CheckServerAt(nothing->url());
    const Checked weak = CheckServerAt(snapshots->url());
    const Checked good = CheckServerAt(durable->url());

    ASSERT_EQ(bad.warnings.size(), 1u);
    EXPECT_NE(bad.warnings[0].find("loses all tasks"), std::string::npos);
    ASSERT_EQ(weak.warnings.size(), 1u);
    EXPECT_NE(weak.warnings[0].find("snapshots only"), std::string::npos);
    EXPECT_TRUE(good.warnings.empty());
}

// The whole cluster was switched off, and the schedulers come up before their Redis.
TEST(RedisStoreAway, AServerThatIsNotThereYetIsFoundWhenItComes) {
    const auto server = StartServer({"--maxmemory-policy", "noeviction"});
    server->process().Kill();

    const auto store = OpenStoreAt(server->url("?timeout=500ms"));
    ASSERT_TRUE(store);
    const auto early = Acquire(*store, "node-a");
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, ErrorCode::kUnavailable) << early.error().detail;

    ASSERT_TRUE(server->process().Restart());
    ASSERT_TRUE(server->CliUntil({"PING"}, "PONG"));
    Result<Term> term = Acquire(*store, "node-a");
    for (int i = 0; i < 50 && !term; ++i) term = Acquire(*store, "node-a");
    EXPECT_TRUE(term) << term.error().detail;
}

// It comes up with settings that lose tasks: nobody leads there, although the store was opened.
TEST(RedisStoreAway, AServerThatComesLaterIsCheckedBeforeAnybodyLeads) {
    const auto server = StartServer({"--maxmemory-policy", "allkeys-lru"});
    server->process().Kill();
    const auto store = OpenStoreAt(server->url("?timeout=500ms"));
    ASSERT_TRUE(store);
    ASSERT_TRUE(server->process().Restart());
    ASSERT_TRUE(server->CliUntil({"PING"}, "PONG"));

    Result<Term> term = Acquire(*store, "node-a");
    for (int i = 0; i < 50 && !term && term.error().code == ErrorCode::kUnavailable; ++i) {
        term = Acquire(*store, "node-a");
    }

    ASSERT_FALSE(term);
    EXPECT_EQ(term.error().code, ErrorCode::kInvalid) << term.error().detail;
    EXPECT_NE(term.error().detail.find("noeviction"), std::string::npos);
}

}  // namespace
}  // namespace takt::internal::redis
