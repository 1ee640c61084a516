// Upgrades and downgrades: data of the layout before, of the next one, and the way between.
#include "store/redis/schema.h"

#include "store/redis/scripts.h"
#include "store/redis/store_fixture.h"

namespace takt::internal::redis {
namespace {

// A next layout that calls the hash of settings by another name.
const Script kRename(R"(
local row = redis.call('HMGET', KEYS[1], 'epoch', 'nonce')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return 0 end
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('RENAME', KEYS[2], KEYS[3]) end
return 1
)");

struct NextLayout {
    int runs = 0;
    int failures = 0;  // So many times the step ends half way.

    Schema MakeSchema() {
        const auto run = [this](Client& client, const PartitionKeys& keys, const Term& term,
                                Done<void> done) {
            ++runs;
            Call call{.lane = Lane::kLease, .slot = keys.slot, .script = &kRename};
            call.keys.Arg(keys.Of("fence")).Arg(keys.Of("settings")).Arg(keys.Of("settings3"));
            call.args.Arg(term.epoch).Arg(term.nonce);
            client.Send(std::move(call),
                        [this, done = std::move(done)](Result<Replies> replies) mutable {
                            if (!replies) return done(std::unexpected(replies.error()));
                            if (replies->front().view().number() != 1u) {
                                return done(Fail(ErrorCode::kFenced, "the term is over"));
                            }
                            if (runs <= failures)
                                return done(Fail(ErrorCode::kUnavailable, "cut off"));
                            done({});
                        });
        };
        return {.known = kLayout + 1, .steps = {{kLayout + 1, run}}};
    }
};

class RedisLayout : public testing::Test {
  protected:
    std::unique_ptr<Store> OpenNext() {
        auto store = OpenRedis(*ParseRedisUrl(server->url()), next.MakeSchema());
        EXPECT_TRUE(store) << store.error().detail;
        return store ? std::move(*store) : nullptr;
    }
    std::string Fence() { return *server->Cli({"HGET", "{takt:0}:fence", "layout"}); }

    const std::unique_ptr<RedisServer> server = StartServer();
    NextLayout next;
};

// A rolling upgrade: the new version waits as long as an old one is there, then raises the layout
// and leads over what the old one wrote. After that no old one leads or opens.
TEST_F(RedisLayout, TheNextVersionRaisesItWhenTheLastOldOneIsGone) {
    const auto old = OpenStoreAt(server->url());
    const auto term = Acquire(*old, "node-a");
    ASSERT_TRUE(term);
    ASSERT_TRUE(Commit(*old, *term, 1, {SettingPut{"a", "1"}}));
    ASSERT_TRUE(Announce(*old, "node-a", Duration(3'600'000)));
    const auto fresh = OpenNext();
    ASSERT_TRUE(Announce(*fresh, "node-b", Duration(3'600'000)));
    ASSERT_TRUE(Await<void>([&](Done<void> done) { old->Resign(*term, std::move(done)); }));

    const auto early = Acquire(*fresh, "node-b");
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(early.error().detail.find("node-a"), std::string::npos) << early.error().detail;
    EXPECT_EQ(next.runs, 0);
    const auto back = Acquire(*old, "node-a");
    ASSERT_TRUE(back) << "the old one goes on leading: " << back.error().detail;
    ASSERT_TRUE(Await<void>([&](Done<void> done) { old->Resign(*back, std::move(done)); }));

    ASSERT_TRUE(Announce(*old, "node-a", Duration(0)));
    const auto led = Acquire(*fresh, "node-b");
    ASSERT_TRUE(led) << led.error().detail;
    EXPECT_EQ(next.runs, 1);
    EXPECT_EQ(*server->Cli({"HGET", "{takt:0}:settings3", "a"}), "1\n");
    EXPECT_EQ(Fence(), "3\n");
    EXPECT_TRUE(Commit(*fresh, *led, 1, {}));

    ASSERT_TRUE(Await<void>([&](Done<void> done) { fresh->Resign(*led, std::move(done)); }));
    const auto late = Acquire(*old, "node-a");
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kInvalid) << late.error().detail;
    const auto opened = TryStoreAt(server->url());
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().detail.find("newer"), std::string::npos) << opened.error().detail;
}

// The scheduler that raises the layout dies half way. Nobody leads over half of it; the next one of
// the new version begins the step again.
TEST_F(RedisLayout, ARaiseThatWasCutOffIsDoneAgain) {
    {
        const auto old = OpenStoreAt(server->url());
        const auto term = Acquire(*old, "node-a");
        ASSERT_TRUE(term);
        ASSERT_TRUE(Commit(*old, *term, 1, {SettingPut{"a", "1"}}));
        ASSERT_TRUE(Await<void>([&](Done<void> done) { old->Resign(*term, std::move(done)); }));
    }
    next.failures = 1;
    const auto fresh = OpenNext();
    ASSERT_FALSE(Acquire(*fresh, "node-b"));
    EXPECT_EQ(Fence(), "2>3\n");

    const auto led = Acquire(*fresh, "node-b");

    ASSERT_TRUE(led) << led.error().detail;
    EXPECT_EQ(next.runs, 2);
    EXPECT_EQ(Fence(), "3\n");
    EXPECT_EQ(*server->Cli({"HGET", "{takt:0}:settings3", "a"}), "1\n");
}

// An upgrade was taken back. What the newer version wrote must not be led, nor written over.
TEST_F(RedisLayout, DataOfANewerLayoutIsRefused) {
    const auto running = OpenStoreAt(server->url());
    ASSERT_TRUE(Acquire(*running, "node-a"));
    EXPECT_TRUE(server->CliUntil({"HGET", "{takt}:meta", "layout"}, "2"));
    ASSERT_TRUE(server->CliUntil({"HSET", "{takt}:meta", "layout", "3"}, "0"));

    const auto opened = TryStoreAt(server->url());
    const auto led = Acquire(*running, "node-a");

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
    EXPECT_NE(opened.error().detail.find("newer"), std::string::npos) << opened.error().detail;
    ASSERT_FALSE(led);
    EXPECT_EQ(led.error().code, ErrorCode::kInvalid) << led.error().detail;
}

// Layout 1 was never in a release: there is no way from it, and the sentence says what to do.
TEST_F(RedisLayout, DataOfALayoutWithoutAWayIsRefused) {
    ASSERT_TRUE(server->CliUntil({"HSET", "{takt}:meta", "layout", "1"}, "1"));

    const auto opened = TryStoreAt(server->url());

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
    EXPECT_NE(opened.error().detail.find("older"), std::string::npos) << opened.error().detail;
}

// Data of a version that did not note the layout in the fence, only for the installation.
TEST_F(RedisLayout, AFenceThatDoesNotSayIsOfTheInstallationsLayout) {
    ASSERT_TRUE(server->Cli({"HSET", "{takt}:meta", "layout", "2"}));
    ASSERT_TRUE(server->Cli({"HSET", "{takt:0}:fence", "epoch", "7", "nonce", "", "sequence", "9",
                             "node", "node-a", "address", "http://x"}));
    const auto store = OpenStoreAt(server->url());

    const auto term = Acquire(*store, "node-a");

    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(term->epoch, 8u);
    EXPECT_EQ(Fence(), "2\n");
}

}  // namespace
}  // namespace takt::internal::redis
