// Things that one Redis server can do to its store: deaths, stalls and lost memory; its events and
// lists.
#include "store/redis/store_fixture.h"

#include <hiredis/hiredis.h>

namespace takt::internal::redis {
namespace {

constexpr auto kKeep = std::filesystem::copy_options::recursive;

// An operator empties the script cache, or the server was restarted without it.
TEST(RedisStoreFaults, AForgottenScriptIsLoadedAgain) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
        ASSERT_TRUE(server->Cli({"SCRIPT", "FLUSH"}));
        const auto done =
            Commit(*store, *term, sequence, Insert(make.OneOff("e-" + std::to_string(sequence))));
        EXPECT_TRUE(done) << done.error().detail;
    }
    EXPECT_EQ(List(*store)->size(), 3u);
}

// Commits are sent without waiting for each other. One that came back for want of the script could be
// overtaken by the next, which is then refused; so the server has it before the first.
TEST(RedisStoreFaults, NoCommitComesBackForWantOfItsScript) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    for (std::uint64_t sequence = 1; sequence <= 2; ++sequence) {
        ASSERT_TRUE(server->Cli({"CONFIG", "RESETSTAT"}));
        const Execution row = make.OneOff("e-" + std::to_string(sequence));
        ASSERT_TRUE(Commit(*store, *term, sequence, Insert(row)));

        const auto errors = server->Cli({"INFO", "errorstats"});
        EXPECT_EQ(errors->find("NOSCRIPT"), std::string::npos) << *errors;
        server->process().Kill();
        ASSERT_TRUE(server->process().Restart());
        ASSERT_TRUE(server->CliUntil({"PING"}, "PONG"));
    }
}

// The server dies with a commit in its hands. The node cannot know, asks again, and it is there
// once.
TEST(RedisStoreFaults, ACommitCutOffByADeathIsUnknownAndCanBeRepeated) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    const Execution row = make.OneOff("e-1");
    ASSERT_TRUE(Commit(*store, *term, 1, Insert(row)));

    server->process().Pause();
    std::promise<Result<void>> promise;
    const Execution second = make.OneOff("e-2");
    store->Commit(std::make_shared<const Batch>(Batch{*term, 2, 2, Insert(second)}),
                  [&](Result<void> result) { promise.set_value(std::move(result)); });
    // Calls are taken in order, and this one is refused without the server: the commit before it is
    // on its way.
    const Candidate impossible{.node = NodeId("node-a"), .epoch_floor = UINT64_MAX};
    EXPECT_FALSE(
        Await<Term>([&](Done<Term> done) { store->Acquire(impossible, std::move(done)); }));
    server->process().Kill();
    EXPECT_EQ(Code(promise.get_future().get()), "unknown");

    const auto down = Commit(*store, *term, 2, Insert(second));
    EXPECT_EQ(Code(down), "unavailable");
    ASSERT_TRUE(server->process().Restart());
    ASSERT_TRUE(server->CliUntil({"PING"}, "PONG"));
    EXPECT_EQ(Code(Commit(*store, *term, 2, Insert(second))), "success");
    EXPECT_EQ(Code(Commit(*store, *term, 2, Insert(second))), "success");
    EXPECT_EQ(List(*store)->size(), 2u);
}

// The server's machine swaps, or its disk hangs: every call ends in time, and all goes on
// afterwards.
TEST(RedisStoreFaults, AStalledServerIsGivenUpInTime) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url("?timeout=300ms"));
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    server->process().Pause();
    const auto begin = std::chrono::steady_clock::now();

    const auto commit = Commit(*store, *term, 1, Insert(make.OneOff("e-1")));
    const auto list = List(*store);
    const auto announced = Announce(*store, "node-a", Duration(200));

    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    EXPECT_EQ(Code(commit), "unknown");
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(Code(announced), "unavailable");

    server->process().Continue();
    ASSERT_TRUE(server->CliUntil({"PING"}, "PONG"));
    const auto again = Commit(*store, *term, 1, Insert(make.OneOff("e-1")));
    EXPECT_EQ(Code(again), "success");
    EXPECT_EQ(List(*store)->size(), 1u);
}

// The server stalls for a moment. One announcement is lost, and there is time left for another.
TEST(RedisStoreFaults, OneUnansweredAnnouncementDoesNotCostTheLead) {
    constexpr Duration kTtl{8'000};
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    const auto term = Acquire(*store, "node-a", 0, kTtl);
    ASSERT_TRUE(term);
    const auto announce = [&] { return Announce(*store, "node-a", kTtl); };
    ASSERT_TRUE(announce());
    server->process().Pause();
    const auto begin = std::chrono::steady_clock::now();
    const Result<void> lost = announce();
    const auto time = std::chrono::steady_clock::now() - begin;
    server->process().Continue();

    EXPECT_FALSE(lost);
    EXPECT_LT(time, kTtl / 2) << "there must be time left to ask again";
    const Result<void> announced = announce();
    EXPECT_TRUE(announced) << announced.error().detail;
}

// After a week without a leader there is much to clean away. One script must not hold Redis up for
// all of it.
TEST(RedisStoreFaults, APurgeDeletesNoMoreThanTheStoreSays) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    RowMaker make;
    std::uint64_t sequence = 0;
    Time last{};
    for (const std::size_t many : {store->limits().purge_max, std::size_t{5}}) {
        std::vector<Change> changes;
        for (std::size_t i = 0; i < many; ++i) {
            const Execution row = conformance::Finished(
                make.OneOff("e-" + std::to_string(sequence) + "-" + std::to_string(i)));
            changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
            last = row.finished_at;
        }
        ASSERT_TRUE(Commit(*store, *term, ++sequence, std::move(changes)));
    }

    ASSERT_TRUE(Commit(*store, *term, ++sequence, {Purge{last + Duration(1), {}, 1'000'000}}));

    EXPECT_EQ(List(*store)->size(), 5u);
}

// A failover went to a replica that had missed the last commits. The leader believes in rows that
// are gone: it must step down and load, not go on.
TEST(RedisStoreFaults, ATermWhoseWritesWereLostIsFenced) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    ASSERT_TRUE(Commit(*store, *term, 1, Insert(make.OneOff("e-1"))));
    const TempDirectory copy;
    std::filesystem::copy(server->directory().path() / "appendonlydir",
                          copy.path() / "appendonlydir", kKeep);
    ASSERT_TRUE(Commit(*store, *term, 2, Insert(make.OneOff("e-2"))));
    ASSERT_TRUE(Commit(*store, *term, 3, Insert(make.OneOff("e-3"))));

    server->process().Kill();
    std::filesystem::remove_all(server->directory().path() / "appendonlydir");
    std::filesystem::copy(copy.path() / "appendonlydir",
                          server->directory().path() / "appendonlydir", kKeep);
    ASSERT_TRUE(server->process().Restart());
    ASSERT_TRUE(server->CliUntil({"PING"}, "PONG"));

    const auto next = Commit(*store, *term, 4, Insert(make.OneOff("e-4")));
    EXPECT_EQ(Code(next), "fenced") << next.error().detail;
    EXPECT_EQ(List(*store)->size(), 1u);
}

// A partition: the old primary goes on with its leader while a replica is promoted and gives the
// same epoch to another. The nonce tells them apart.
TEST(RedisStoreFaults, AnEpochThatIsGivenTwiceIsToldApartByItsNonce) {
    const auto primary = StartServer();
    const auto replica =
        StartServer({"--replicaof", "127.0.0.1 " + std::to_string(primary->port())});
    const auto before = OpenStoreAt(primary->url());
    const auto first = Acquire(*before, "node-a");
    ASSERT_TRUE(first);
    ASSERT_TRUE(replica->CliUntil({"HGET", "{takt:0}:fence", "epoch"}, "1"));
    ASSERT_TRUE(replica->Cli({"REPLICAOF", "NO", "ONE"}));
    const auto lost = Acquire(*before, "node-a");
    ASSERT_TRUE(lost);
    ASSERT_TRUE(Commit(*before, *lost, 1, {SettingPut{"of", "the lost term"}}));

    const auto after = OpenStoreAt(replica->url());
    ASSERT_TRUE(replica->Cli({"DEL", "{takt}:node:node-a"}));
    const auto second = Acquire(*after, "node-b");

    ASSERT_TRUE(second) << second.error().detail;
    ASSERT_EQ(second->epoch, lost->epoch) << "the situation of this test";
    EXPECT_EQ(Code(Commit(*after, *lost, 1, {SettingPut{"of", "the lost term"}})), "fenced");
    EXPECT_EQ(Code(Commit(*after, *second, 1, {SettingPut{"of", "the second term"}})), "success");
}

// A scheduler dies after its term has begun and before it was in the list of leaders, in a cluster of
// which each part may fail alone. The next candidate finds out and puts the list right.
TEST(RedisStoreFaults, AListOfLeadersThatIsBehindIsPutRight) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    const auto first = Acquire(*store, "node-a");
    ASSERT_TRUE(first);
    const std::string row = *server->Cli({"HGET", "{takt}:leaders", "0"});
    const auto second = Acquire(*store, "node-a");
    ASSERT_TRUE(second);
    ASSERT_TRUE(server->Cli({"HSET", "{takt}:leaders", "0", row.substr(0, row.size() - 1)}));
    ASSERT_TRUE(Announce(*store, "node-a", Duration(0)));

    const auto early = Acquire(*store, "node-b");

    ASSERT_FALSE(early) << "what it read was not the last term";
    EXPECT_EQ(early.error().code, ErrorCode::kConflict);
    ASSERT_EQ(Leaders(*store).size(), 1u);
    EXPECT_TRUE(Leaders(*store)[0].Is(*second));
    const auto third = Acquire(*store, "node-b");
    ASSERT_TRUE(third) << third.error().detail;
    EXPECT_GT(third->epoch, second->epoch);
}

// ?wait=1: a commit that no replica has may be lost with the primary, so it is not called done.
TEST(RedisStoreFaults, ACommitWaitsForItsReplicas) {
    const auto primary = StartServer();
    const auto replica =
        StartServer({"--replicaof", "127.0.0.1 " + std::to_string(primary->port())});
    // The primary calls it online when all was sent; only the replica knows that all is loaded.
    ASSERT_TRUE(primary->CliUntil({"INFO", "replication"}, "state=online"));
    ASSERT_TRUE(replica->CliUntil({"INFO", "replication"}, "master_link_status:up"));
    const auto store = OpenStoreAt(primary->url("?wait=1&wait_timeout=5s&timeout=10s"));
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(Code(Commit(*store, *term, 1, {SettingPut{"a", "1"}})), "success");
    EXPECT_EQ(*replica->Cli({"HGET", "{takt:0}:settings", "a"}), "1\n");

    replica->process().Kill();
    const auto hasty = OpenStoreAt(primary->url("?wait=1&wait_timeout=200ms"));
    EXPECT_EQ(Code(Commit(*hasty, *term, 2, {SettingPut{"a", "2"}})), "unknown");
    EXPECT_EQ(Code(Commit(*hasty, *term, 2, {SettingPut{"a", "2"}})), "unknown");

    ASSERT_TRUE(replica->process().Restart());
    ASSERT_TRUE(primary->CliUntil({"INFO", "replication"}, "state=online"));
    ASSERT_TRUE(replica->CliUntil({"INFO", "replication"}, "master_link_status:up"));
    const Result<void> done = Commit(*store, *term, 2, {SettingPut{"a", "2"}});
    EXPECT_TRUE(done) << done.error().detail;
    EXPECT_EQ(*replica->Cli({"HGET", "{takt:0}:settings", "a"}), "2\n");
}

// A candidate waits for replicas that are away. Its announcements are answered meanwhile:
// else the reason would be said to be a Redis that does not answer.
TEST(RedisStoreFaults, AnAnnouncementDoesNotWaitForReplicas) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url("?wait=1&wait_timeout=8s&timeout=10s"));
    ASSERT_TRUE(Announce(*store, "node-a", Duration(20'000)));
    std::promise<Result<Term>> asked;
    store->Acquire(Candidate{.node = NodeId(Text("node-a"))},
                   [&](Result<Term> term) { asked.set_value(std::move(term)); });
    const Result<void> again = Announce(*store, "node-a", Duration(20'000));
    EXPECT_TRUE(again) << again.error().detail;
    const Result<Term> term = asked.get_future().get();
    ASSERT_FALSE(term);
    EXPECT_THAT(term.error().detail, testing::HasSubstr("0 of 1 replicas"));
}

// Programs follow along by Pub/Sub, and catch up from the stream.
TEST(RedisStoreEvents, EventsArePublishedAndKeptInABoundedStream) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url("?events_max=100"));
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    redisContext* listener = redisConnect("127.0.0.1", server->port());
    ASSERT_TRUE(listener && listener->err == 0);
    const Reply subscribed(
        static_cast<redisReply*>(redisCommand(listener, "SUBSCRIBE {takt:0}:events")));

    const Event event = make.MakeEvent(EventType::kTaskCompleted);
    ASSERT_TRUE(Commit(*store, *term, 1, {EventAppend{event}}));

    void* raw = nullptr;
    ASSERT_EQ(redisGetReply(listener, &raw), REDIS_OK);
    const Reply message(static_cast<redisReply*>(raw));
    const std::string text(message.view()[2].text());
    EXPECT_NE(text.find(R"("type":"task.completed")"), std::string::npos) << text;
    EXPECT_NE(text.find(R"("execution":"e-1")"), std::string::npos) << text;
    redisFree(listener);

    for (std::uint64_t sequence = 2; sequence <= 11; ++sequence) {
        std::vector<Change> changes;
        for (int i = 0; i < 100; ++i) {
            changes.push_back(EventAppend{make.MakeEvent(EventType::kTaskStarted)});
        }
        ASSERT_TRUE(Commit(*store, *term, sequence, std::move(changes)));
    }
    const auto length = server->Cli({"XLEN", "{takt:0}:events"});
    // Redis cuts whole nodes of 100 entries.
    EXPECT_LE(std::stoi(*length), 300);
    EXPECT_GE(std::stoi(*length), 100);
}

// Clocks and leaders may hand out what is not above the last entry: it goes to the end, not away.
TEST(RedisStoreEvents, AnEventThatComesOutOfOrderIsNotLost) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    Event early = make.MakeEvent(EventType::kTaskStarted);
    const Event late = make.MakeEvent(EventType::kTaskFailed);
    ASSERT_TRUE(Commit(*store, *term, 1, {EventAppend{late}}));
    ASSERT_TRUE(Commit(*store, *term, 2, {EventAppend{early}}));

    const auto events = Await<std::vector<Event>>([&](Done<std::vector<Event>> done) {
        store->ReadEvents(kDefaultPartition, 0, 10, std::move(done));
    });

    ASSERT_TRUE(events && events->size() == 2);
    EXPECT_EQ(events->at(0).type, EventType::kTaskFailed);
    EXPECT_EQ(events->at(1).type, EventType::kTaskStarted);
    EXPECT_GT(events->at(1).serial, events->at(0).serial);
}

// The console shows three hundred executions with payloads and results of a megabyte: what it does
// not show does not leave Redis.
TEST(RedisStoreLists, ABriefListDoesNotSendWhatItDoesNotShow) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    std::uint64_t sequence = 0;
    for (int i = 0; i < 6; ++i) {
        Execution row = make.Fire("t-1", "e-" + std::to_string(i));
        row.payload = Text(std::string(1 << 20, 'p'));
        ASSERT_TRUE(Commit(*store, *term, ++sequence, Insert(row)));
        Execution done = conformance::Finished(row);
        boost::intrusive_ptr<Outcome> outcome(new Outcome);
        outcome->message = "it broke";
        outcome->data = Text(std::string(1 << 20, 'r'));
        done.outcome = outcome;
        done.status = Status::kFailed;
        ASSERT_TRUE(Commit(*store, *term, ++sequence,
                           {ExecutionChange{Place::kLive, Place::kHistory, done}}));
    }
    const auto sent = [&] {
        const std::string info = *server->Cli({"INFO", "stats"});
        return std::stoull(info.substr(info.find("total_net_output_bytes:") + 23));
    };

    const std::uint64_t before = sent();
    const auto rows = List(*store, {.brief = true});
    const std::uint64_t after = sent();

    ASSERT_TRUE(rows && rows->size() == 6) << rows.error().detail;
    EXPECT_LT(after - before, 100'000u);
    EXPECT_EQ(rows->front().id.view(), "e-5");
    EXPECT_EQ(rows->front().status, Status::kFailed);
    EXPECT_EQ(rows->front().task->type.view(), "report");
    ASSERT_TRUE(rows->front().outcome);
    EXPECT_EQ(rows->front().outcome->message.view(), "it broke");
}

// The console asks for a rare kind among many executions: found, whatever the number of pages.
TEST(RedisStoreLists, AFilterLooksThroughMorePagesThanOne) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    RowMaker make;
    const auto term = Acquire(*store, "node-a");
    std::uint64_t sequence = 0;
    for (int batch = 0; batch < 5; ++batch) {
        std::vector<Change> changes;
        for (int i = 0; i < 1000; ++i) {
            const std::string id = std::to_string(batch) + "-" + std::to_string(i);
            Execution row = i == 7 ? make.Fire("t-1", id) : make.OneOff(id);
            const bool finished = i % 2 == 1;
            if (finished) row = conformance::Finished(std::move(row));
            changes.push_back(ExecutionChange{
                Place::kNone, finished ? Place::kHistory : Place::kLive, std::move(row)});
        }
        ASSERT_TRUE(Commit(*store, *term, ++sequence, std::move(changes)));
    }

    const auto rare = List(*store, {.type = Text("report")});
    const auto many = List(*store, {.limit = 1000});

    ASSERT_TRUE(rare) << rare.error().detail;
    ASSERT_EQ(rare->size(), 5u);
    EXPECT_EQ(rare->front().id.view(), "4-7");
    ASSERT_EQ(many->size(), 1000u);
    EXPECT_TRUE(std::ranges::is_sorted(*many, std::greater<>(), &Execution::serial));
    EXPECT_EQ(many->back().id.view(), "4-0");
}

}  // namespace
}  // namespace takt::internal::redis
