// Upgrades and downgrades: data of the layout before, of the next one, and the way between.
#include "store/redis/schema.h"

#include "store/redis/rows.h"
#include "store/redis/scripts.h"
#include "store/redis/store_fixture.h"

namespace takt::internal::redis {
namespace {

const std::string kNextText = std::to_string(kLayout + 1);

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
            call.keys.Arg(keys.Of("fence")).Arg(keys.Of("settings")).Arg(keys.Of("settings_next"));
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
    ASSERT_TRUE(Resign(*old, *term));

    const auto early = Acquire(*fresh, "node-b");
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(early.error().detail.find("node-a"), std::string::npos) << early.error().detail;
    EXPECT_EQ(next.runs, 0);
    const auto back = Acquire(*old, "node-a");
    ASSERT_TRUE(back) << "the old one goes on leading: " << back.error().detail;
    ASSERT_TRUE(Resign(*old, *back));

    ASSERT_TRUE(Announce(*old, "node-a", Duration(0)));
    const auto led = Acquire(*fresh, "node-b");
    ASSERT_TRUE(led) << led.error().detail;
    EXPECT_EQ(next.runs, 1);
    EXPECT_EQ(*server->Cli({"HGET", "{takt:0}:settings_next", "a"}), "1\n");
    EXPECT_EQ(Fence(), kNextText + "\n");
    EXPECT_TRUE(Commit(*fresh, *led, 1, {}));

    ASSERT_TRUE(Resign(*fresh, *led));
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
        ASSERT_TRUE(Announce(*old, "node-a", Duration(0)));
    }
    next.failures = 1;
    const auto fresh = OpenNext();
    ASSERT_FALSE(Acquire(*fresh, "node-b"));
    EXPECT_EQ(Fence(), RaisingText(kLayout, kLayout + 1) + "\n");

    const auto led = AcquireSoon(*fresh, "node-b");

    ASSERT_TRUE(led) << led.error().detail;
    EXPECT_EQ(next.runs, 2);
    EXPECT_EQ(Fence(), kNextText + "\n");
    EXPECT_EQ(*server->Cli({"HGET", "{takt:0}:settings_next", "a"}), "1\n");
}

// An upgrade was taken back. What the newer version wrote must not be led, nor written over.
TEST_F(RedisLayout, DataOfANewerLayoutIsRefused) {
    const auto running = OpenStoreAt(server->url());
    ASSERT_TRUE(Acquire(*running, "node-a"));
    EXPECT_TRUE(server->CliUntil({"HGET", "{takt}:meta", "layout"}, std::to_string(kLayout)));
    ASSERT_TRUE(server->CliUntil({"HSET", "{takt}:meta", "layout", kNextText}, "0"));

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

// What a scheduler wrote before there were namespaces and runs: a task that waits, one that was
// deleted and a recurring one. They are in the namespace `default`, where they stand.
TEST_F(RedisLayout, DataOfTheLayoutBeforeIsTheDefaultPartition) {
    const std::string waits = "0380465346328395776:waits", ended = "0380465346382921728:ended";
    const std::vector<std::vector<std::string>> commands = {
        {"HSET", "{takt}:meta", "layout", "2"},
        {"SADD", "{takt}:partitions", "0"},
        {"HSET", "{takt:0}:fence", "epoch", "7", "nonce", "", "sequence", "5", "node", "node-old",
         "address", "http://x", "layout", "2", "last_serial", "0380465346546499584"},
        {"SET", "{takt:0}:x:waits",
         "pending 380465346328395776 6 7 0 "
         "\nreportdefault\b\x80\x80\x80\xca\xf7\xe6\xeb\xa3\x05\x12"
         "\x05waits\x1aH\n\x05waits\x12\x05waits\x1a\x06report\"\adefault*\a{\"a\":1}0\x05"
         "8\x01P\xe5\xa3\xbb\x88\x9e\x34X\xe5\xa3\xbb\x88\x9e\x34"
         "b\x0c\x90\x01\x64\x98\x01\x64\xb0\x01\x80\xb8\x99)0\xe5\xa3\xbb\x88\x9e\x34"
         "8\xe5\xdb\xd4\xb1\x9e\x34"
         "B\a@\xe5\xdb\xd4\xb1\x9e\x34"},
        {"SET", "{takt:0}:x:ended",
         "pending 380465346382921728 6 7 0 "
         "\nreportdefault\b\x80\x80\x80\xe4\xf7\xe6\xeb\xa3\x05\x12"
         "\x05\x65nded\x1a?\n\x05\x65nded\x12\x05\x65nded\x1a\x06report\"\adefault0\x05"
         "8\x01P\xf2\xa3\xbb\x88\x9e\x34X\xf2\xa3\xbb\x88\x9e\x34"
         "b\x0c\x90\x01\x64\x98\x01\x64\xb0\x01\x80\xdb\xbd'0\xf2\xa3\xbb\x88\x9e\x34"
         "8\xf2\xfe\xf8\xaf\x9e\x34"
         "B\a@\xf2\xfe\xf8\xaf\x9e\x34"},
        {"SET", "{takt:0}:s:ended",
         "cancelled 0 0 0 0 - 1794860007282 0 1794777207296 \n\b\x04\x1a\x14its task was deleted"},
        {"ZADD", "{takt:0}:live", "0", waits},
        {"ZADD", "{takt:0}:history:cancelled", "0", ended},
        {"ZADD", "{takt:0}:finished", "1794777207296", ended},
        {"ZADD", "{takt:0}:task_ids", "0", "nightly"},
        {"HSET", "{takt:0}:tasks", "nightly",
         "\nJ\n\anightly\x12\anightly\x1a\x06report\"\adefault0\x05"
         "8\x01P\x99\xa4\xbb\x88\x9e\x34X\x99\xa4\xbb\x88\x9e\x34"
         "b\x13z\x0b\n\t0 3 * * *\x90\x01\x64\x98\x01\x64\x12\a\x10\x80\xaf\xb0\x92\x9e\x34"}};
    for (const auto& command : commands) ASSERT_TRUE(server->Cli(command));
    const auto store = OpenStoreAt(server->url());
    ASSERT_TRUE(store);

    const auto term = AcquireSoon(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(term->epoch, 8u);
    EXPECT_EQ(Fence(), std::to_string(kLayout) + "\n");
    const auto page =
        Await<LoadPage>([&](Done<LoadPage> done) { store->Load(0, {}, std::move(done)); });
    ASSERT_TRUE(page) << page.error().detail;
    EXPECT_EQ(page->last_serial, 380465346546499584u);
    ASSERT_EQ(page->tasks.size(), 1u);
    EXPECT_EQ(page->tasks[0].task->name.view(), "nightly");
    ASSERT_EQ(page->executions.size(), 1u);
    Execution waiting = page->executions[0];
    EXPECT_EQ(waiting.id.view(), "waits");
    EXPECT_EQ(waiting.task->payload.view(), "{\"a\":1}");
    EXPECT_TRUE(waiting.parent.empty());
    EXPECT_EQ(ExecutionText(waiting), commands[3][2]) << "and not a byte more than it had";
    const auto rows = List(*store);
    ASSERT_TRUE(rows && rows->size() == 2);
    EXPECT_EQ(rows->at(0).status, Status::kCancelled);
    EXPECT_EQ(rows->at(0).outcome->message.view(), "its task was deleted");
    EXPECT_EQ(StateText(rows->at(0)), commands[5][2]);

    // And all goes on: one ends, the retention takes the other.
    waiting = conformance::Finished(std::move(waiting));
    waiting.finished_at = Time(Duration(1794777209000));
    ASSERT_TRUE(
        Commit(*store, *term, 1, {ExecutionChange{Place::kLive, Place::kHistory, waiting}}));
    ASSERT_TRUE(
        Commit(*store, *term, 2, {Purge{.finished_before = Time(Duration(1794777208000))}}));
    const auto left = List(*store);
    ASSERT_TRUE(left && left->size() == 1);
    EXPECT_EQ(left->at(0).id.view(), "waits");
    EXPECT_EQ(*server->Cli({"EXISTS", "{takt:0}:x:ended", "{takt:0}:s:ended"}), "0\n");
}

// Data of layout 3: settings all in one hash, output in streams, ends in a sorted set. Everything is
// found, goes on where it was, and nothing of it stays for ever.
TEST_F(RedisLayout, DataOfLayout3IsReadAndGoesOn) {
    RowMaker make;
    const Execution first = conformance::Finished(make.OneOff("e-1"));
    make.Pass(Duration(60'000));
    const Execution second = make.OneOff("e-2");
    const auto member = [](const Execution& row) { return MemberOf(row.serial, row.id.view()); };
    const std::string ended = std::to_string(first.finished_at.time_since_epoch().count());
    std::vector<std::vector<std::string>> commands = {
        {"HSET", "{takt}:meta", "layout", "3"},
        {"SADD", "{takt}:partitions", "0"},
        {"HSET", "{takt:0}:fence", "epoch", "7", "nonce", "", "sequence", "5", "node", "node-old",
         "address", "http://x", "layout", "3", "last_serial", SerialDigits(second.serial)},
        {"HSET", "{takt}:leaders", "0", "7 0 - http://x"},
        {"HSET", "{takt:0}:settings", "strategy", "sticky", "token/a", "1", "token/b", "2"},
        {"SET", "{takt:0}:x:e-1", ExecutionText(first)},
        {"SET", "{takt:0}:x:e-2", ExecutionText(second)},
        {"ZADD", "{takt:0}:live", "0", member(second)},
        {"ZADD", "{takt:0}:history:success", "0", member(first)},
        {"ZADD", "{takt:0}:finished", ended, member(first)},
        {"ZADD", "{takt:0}:worker:" + first.worker.text().str(), "0", member(first)},
        {"XADD", "{takt:0}:log:e-1", "1-0", "attempt", "1", "at", "5", "lines", "old\n"},
        {"XADD", "{takt:0}:log:e-2", "1-0", "attempt", "1", "at", "5", "lines", "old\n"}};
    for (int i = 0; i < 500; ++i) {
        commands.push_back({"HSET", "{takt:0}:settings", "stats/" + std::to_string(i), "x"});
    }
    for (const auto& command : commands) ASSERT_TRUE(server->Cli(command));
    const auto store = OpenStoreAt(server->url());
    ASSERT_TRUE(store);
    const auto settings = [&](const Text& prefix) {
        using Rows = std::vector<SettingPut>;
        const auto rows =
            Await<Rows>([&](Done<Rows> done) { store->ListSettings(0, prefix, std::move(done)); });
        return rows ? rows->size() : 0;
    };
    EXPECT_EQ(settings("token/"), 2u) << "also while an older scheduler still leads";

    const auto term = AcquireSoon(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(Fence(), std::to_string(kLayout) + "\n");
    EXPECT_EQ(*server->Cli({"HLEN", "{takt:0}:settings"}), "1\n");
    EXPECT_EQ(*server->Cli({"HLEN", "{takt:0}:settings:stats/"}), "500\n");
    EXPECT_EQ(settings("token/"), 2u);
    EXPECT_EQ(settings("token/b"), 1u);
    EXPECT_EQ(settings("st"), 501u);
    EXPECT_EQ(settings(""), 503u);
    const auto page =
        Await<LoadPage>([&](Done<LoadPage> done) { store->Load(0, {}, std::move(done)); });
    ASSERT_TRUE(page) << page.error().detail;
    EXPECT_EQ(page->settings.size(), 503u);

    Execution done = conformance::Finished(second);
    make.Pass(Duration(60'000));
    done.finished_at = make.now();
    ASSERT_TRUE(Commit(*store, *term, 1,
                       {ExecutionChange{Place::kLive, Place::kHistory, done},
                        LogAppend{{.execution = done.id, .index = 2, .lines = "new\n"}},
                        SettingPut{"token/a", ""}, SettingPut{"token/c", "3"}}));
    EXPECT_EQ(settings("token/"), 2u);
    using Chunks = std::vector<LogChunk>;
    const auto log = [&](Serial after) {
        std::string text;
        for (const LogChunk& chunk : *Await<Chunks>(
                 [&](Done<Chunks> d) { store->ReadLog(0, done.id, after, 10, std::move(d)); })) {
            text += chunk.lines.view();
        }
        return text;
    };
    EXPECT_EQ(log(0), "old\nnew\n");
    EXPECT_EQ(log(1), "new\n");

    ASSERT_TRUE(Commit(*store, *term, 2, {Purge{.finished_before = done.finished_at}}));
    const auto left = List(*store);
    ASSERT_TRUE(left && left->size() == 1);
    EXPECT_EQ(left->at(0).id.view(), "e-2");
    ASSERT_TRUE(
        Commit(*store, *term, 3, {Purge{.finished_before = done.finished_at + Duration(1)}}));
    EXPECT_TRUE(List(*store)->empty());
    for (const char* key : {"{takt:0}:log:*", "{takt:0}:lines:*", "{takt:0}:finished",
                            "{takt:0}:ended", "{takt:0}:x:*", "{takt:0}:history:*"}) {
        EXPECT_EQ(*server->Cli({"KEYS", key}), "\n") << key;
    }
}

// Data of a version that did not note the layout in the fence, only for the installation. That one may
// be raised already: whoever did it died before it came to the fence.
TEST_F(RedisLayout, AFenceThatDoesNotSayIsOfLayout2) {
    for (const char* layout : {"2", "4"}) {
        ASSERT_TRUE(server->Cli({"FLUSHALL"}));
        ASSERT_TRUE(server->Cli({"HSET", "{takt}:meta", "layout", layout}));
        ASSERT_TRUE(server->Cli({"HSET", "{takt:0}:settings", "token/a", "1"}));
        ASSERT_TRUE(server->Cli({"HSET", "{takt:0}:fence", "epoch", "7", "nonce", "", "sequence",
                                 "9", "node", "node-a", "address", "http://x"}));
        const auto store = OpenStoreAt(server->url());

        const auto term = AcquireSoon(*store, "node-a");

        ASSERT_TRUE(term) << term.error().detail;
        EXPECT_EQ(term->epoch, 8u);
        EXPECT_EQ(Fence(), std::to_string(kLayout) + "\n") << "raised from 2";
        EXPECT_EQ(*server->Cli({"HLEN", "{takt:0}:settings:token/"}), "1\n") << "with its rows";
    }
}

// A rolling upgrade: a scheduler of the version before leads partition 0, by a key with a ttl, and is
// in no list of leaders. It is seen as the leader, and nobody takes its place while that key is there.
TEST_F(RedisLayout, ALeaderOfTheVersionBeforeIsRespected) {
    ASSERT_TRUE(server->Cli({"HSET", "{takt}:meta", "layout", "2"}));
    ASSERT_TRUE(server->Cli({"HSET", "{takt:0}:fence", "epoch", "7", "nonce", "99", "sequence", "9",
                             "node", "old", "address", "http://old", "layout", "2"}));
    ASSERT_TRUE(server->Cli({"SET", "{takt:0}:lease", "old", "PX", "3600000"}));
    const auto store = OpenStoreAt(server->url());

    const auto rows = Leaders(*store);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_TRUE(rows[0].leads() && rows[0].Is({0, 7, 99}));
    EXPECT_EQ(rows[0].node.view(), "old");
    EXPECT_EQ(rows[0].address.view(), "http://old");
    const auto early = AcquireSoon(*store, "node-b");
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, ErrorCode::kConflict) << early.error().detail;
    EXPECT_EQ(Code(Commit(*store, {0, 7, 99}, 10, {})), "success") << "its term is not touched";

    ASSERT_TRUE(server->Cli({"DEL", "{takt:0}:lease"}));
    const auto term = AcquireSoon(*store, "node-b");
    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(term->epoch, 8u);
    EXPECT_EQ(Code(Commit(*store, {0, 7, 99}, 11, {})), "fenced");
}

}  // namespace
}  // namespace takt::internal::redis
