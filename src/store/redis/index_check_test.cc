// Somebody's script has deleted keys of ours, or an old backup was put over newer data: rows that
// no list shows, and lists that show what is not there.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "store/index_check.h"
#include "store/redis/store_fixture.h"

namespace takt::internal::redis {
namespace {

class RedisIndexCheck : public testing::Test {
  protected:
    void SetUp() override {
        term_ = *Acquire(*store_, "node-a");
        const Execution live = make_.Fire("report", "waits");
        const Execution run = make_.Fire("flow", "run");
        const Execution worked = make_.OneOff("worked");
        Put({ExecutionChange{Place::kNone, Place::kLive, live},
             ExecutionChange{Place::kNone, Place::kLive, run},
             ExecutionChange{Place::kNone, Place::kLive, worked},
             ExecutionChange{Place::kNone, Place::kLive, make_.Child(run, "part")},
             ExecutionChange{Place::kNone, Place::kHistory,
                             conformance::Finished(make_.Child(run, "part-done"))},
             ExecutionChange{Place::kNone, Place::kHistory,
                             conformance::Finished(make_.OneOff("came-finished"))},
             TaskPut{make_.Recurring("report")}, RecordPut{RecordKind::kRun, "run", "progress"}});
        Put({ExecutionChange{Place::kLive, Place::kHistory,
                             conformance::Finished(conformance::Scheduled(worked, "w"))}});
        std::vector<Change> old;
        for (int i = 0; i < kOld; ++i) {
            old.push_back(
                ExecutionChange{Place::kNone, Place::kHistory,
                                conformance::Finished(make_.OneOff("old" + std::to_string(i)))});
        }
        Put(std::move(old));
        other_ = *Acquire(*store_, "node-a", 7);
        RowMaker make(7);
        ASSERT_TRUE(Commit(*store_, other_, 1, Insert(make.OneOff("of-another"))));
    }
    void Put(std::vector<Change> changes) {
        ASSERT_TRUE(Commit(*store_, term_, ++sequence_, std::move(changes)));
    }

    // Redis has the clock of this machine.
    void MakeNow() {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        make_.Pass(std::chrono::duration_cast<Duration>(now) - make_.now().time_since_epoch());
    }

    ChecksIndexes& checks() { return dynamic_cast<ChecksIndexes&>(*store_); }
    std::vector<IndexFault> Faults() {
        const auto found = checks().CheckIndexes({0, 7});
        EXPECT_TRUE(found) << found.error().detail;
        return found ? *found : std::vector<IndexFault>();
    }
    std::vector<std::string> Texts() {
        std::vector<std::string> texts;
        for (const IndexFault& fault : Faults()) texts.push_back(fault.text);
        return texts;
    }
    void Mend() {
        std::map<Partition, std::vector<IndexFault>> faults;
        for (IndexFault& fault : Faults()) faults[fault.partition].push_back(fault);
        for (const auto& [partition, of] : faults) {
            const auto mended = checks().MendIndexes(partition == 0 ? term_ : other_, of);
            ASSERT_TRUE(mended) << mended.error().detail;
        }
    }
    std::string All(const std::string& key) {
        std::string all = *server_->Cli({"ZRANGE", "{takt:0}:" + key, "0", "-1", "WITHSCORES"});
        return all == "\n" ? "" : all;
    }

    // As the next leader reads them.
    std::vector<std::string> SettingsLoaded() {
        const auto page =
            Await<LoadPage>([&](Done<LoadPage> done) { store_->Load(0, {}, std::move(done)); });
        EXPECT_TRUE(page) << page.error().detail;
        std::vector<std::string> names;
        if (!page) return names;
        for (const SettingPut& row : page->settings) names.push_back(row.key.str());
        return names;
    }

    static constexpr int kOld = 900;  // More than are looked at in one call.

    std::unique_ptr<RedisServer> server_ = StartServer();
    std::unique_ptr<Store> store_ = OpenStoreAt(server_->url());
    RowMaker make_;
    Term term_;
    Term other_;
    std::uint64_t sequence_ = 0;
};

TEST_F(RedisIndexCheck, AWholeStoreHasNoFault) {
    EXPECT_THAT(Texts(), testing::IsEmpty());
}

// Each set by itself: its rows are found missing, and put where they were.
TEST_F(RedisIndexCheck, RowsThatASetHasLostAreFoundAndPutThere) {
    for (const std::string key :
         {"live", "child:live", "history:success", "child:history:success", "task:report",
          "child:task:flow", "worker:w", "children:run", "finished", "task_ids", "record_ids"}) {
        const std::string before = All(key);
        ASSERT_NE(before, "") << key;
        ASSERT_TRUE(server_->Cli({"DEL", "{takt:0}:" + key}));
        EXPECT_THAT(Texts(), testing::Each(testing::EndsWith("is missing from " + key))) << key;
        EXPECT_THAT(Texts(), testing::Not(testing::IsEmpty())) << key;
        Mend();
        EXPECT_EQ(All(key), before) << key;
        EXPECT_THAT(Texts(), testing::IsEmpty()) << key;
    }
}

// The order of retention: one that ended here is in a list, and without it nobody would delete it.
TEST_F(RedisIndexCheck, WhatRetentionHasLostIsPutInItsOrder) {
    ASSERT_TRUE(server_->Cli({"DEL", "{takt:0}:ended"}));
    EXPECT_EQ(Texts(), std::vector<std::string>{"execution worked is missing from finished"});
    Mend();
    EXPECT_THAT(All("finished"), testing::HasSubstr(":worked"));
    EXPECT_THAT(Texts(), testing::IsEmpty());
}

TEST_F(RedisIndexCheck, MembersWithoutTheirRowAreTakenOut) {
    ASSERT_TRUE(
        server_->Cli({"DEL", "{takt:0}:x:waits", "{takt:0}:x:worked", "{takt:0}:s:worked"}));
    ASSERT_TRUE(server_->Cli({"HDEL", "{takt:0}:tasks", "report"}));
    ASSERT_TRUE(server_->Cli({"DEL", "{takt:7}:x:of-another"}));
    const std::string gone = ", which is not there or belongs elsewhere";
    EXPECT_THAT(Texts(),
                testing::UnorderedElementsAre("live names execution waits" + gone,
                                              "task:report names execution waits" + gone,
                                              "history:success names execution worked" + gone,
                                              "worker:w names execution worked" + gone,
                                              "live names execution of-another" + gone,
                                              "ended names execution worked, which is not there",
                                              "task_ids names task report, which is not there"));
    Mend();
    EXPECT_THAT(Texts(), testing::IsEmpty());
    EXPECT_EQ(List(*store_, {.limit = 1'000})->size(), 2u + kOld);
}

// An execution that has ended is still among those that live: it would be run again.
TEST_F(RedisIndexCheck, MembersThatBelongElsewhereAreTakenOut) {
    const std::string member = All("worker:w").substr(0, 19 + 1 + 6);
    ASSERT_THAT(member, testing::EndsWith(":worked"));
    ASSERT_TRUE(server_->Cli({"ZADD", "{takt:0}:live", "0", member}));
    EXPECT_EQ(Texts(),
              std::vector<std::string>{"live names execution worked, which is not there or belongs "
                                       "elsewhere"});
    Mend();
    EXPECT_THAT(Texts(), testing::IsEmpty());
}

// Without its name in the set the next leader does not read the group: it forgets paused queues.
TEST_F(RedisIndexCheck, GroupsOfSettingsThatTheSetHasLostArePutThere) {
    Put({SettingPut{"queue/mail", "paused"}, SettingPut{"limit/api", "3"},
         SettingPut{"plain", "1"}});
    ASSERT_THAT(Texts(), testing::IsEmpty());
    ASSERT_TRUE(server_->Cli({"DEL", "{takt:0}:setting_groups"}));
    ASSERT_EQ(SettingsLoaded(), std::vector<std::string>{"plain"});
    EXPECT_THAT(Texts(), testing::UnorderedElementsAre(
                             "group of settings queue/ is missing from setting_groups",
                             "group of settings limit/ is missing from setting_groups"));
    Mend();
    EXPECT_THAT(Texts(), testing::IsEmpty());
    EXPECT_THAT(SettingsLoaded(),
                testing::UnorderedElementsAre("queue/mail", "limit/api", "plain"));
}

TEST_F(RedisIndexCheck, GroupsOfSettingsWithoutTheirHashAreTakenOut) {
    Put({SettingPut{"queue/mail", "paused"}, SettingPut{"limit/api", "3"}});
    ASSERT_TRUE(server_->Cli({"DEL", "{takt:0}:settings:queue/"}));
    EXPECT_EQ(Texts(), std::vector<std::string>{
                           "setting_groups names group of settings queue/, which is not there"});
    Mend();
    EXPECT_THAT(Texts(), testing::IsEmpty());
    EXPECT_EQ(SettingsLoaded(), std::vector<std::string>{"limit/api"});
}

// A queue that was paused and goes on again leaves nothing that looks like a loss.
TEST_F(RedisIndexCheck, AGroupWhoseLastSettingIsDeletedIsNoFault) {
    Put({SettingPut{"queue/mail", "paused"}, SettingPut{"queue/web", "paused"}});
    Put({SettingPut{"queue/mail", ""}});
    EXPECT_EQ(SettingsLoaded(), std::vector<std::string>{"queue/web"});
    Put({SettingPut{"queue/web", ""}});
    EXPECT_THAT(Texts(), testing::IsEmpty());
    EXPECT_EQ(*server_->Cli({"EXISTS", "{takt:0}:setting_groups"}), "0\n");
}

// Without its name in the hash a purge takes the run alone, and its parts stay for ever.
TEST_F(RedisIndexCheck, RunsThatTheHashHasLostArePutThere) {
    ASSERT_TRUE(server_->Cli({"DEL", "{takt:0}:runs"}));
    EXPECT_EQ(Texts(), std::vector<std::string>{"run run is missing from runs"});
    Mend();
    EXPECT_THAT(Texts(), testing::IsEmpty());
    EXPECT_EQ(*server_->Cli({"HKEYS", "{takt:0}:runs"}), "run\n");
}

TEST_F(RedisIndexCheck, RunsThatAreGoneAreTakenOutOfTheHash) {
    // One that is there and whose parts a purge has taken: its turn comes with the next commit.
    ASSERT_TRUE(server_->Cli({"HSET", "{takt:0}:runs", "ghost", "", "worked", ""}));
    EXPECT_EQ(Texts(), std::vector<std::string>{"runs names run ghost, which is not there"});
    Mend();
    EXPECT_THAT(Texts(), testing::IsEmpty());
    EXPECT_EQ(*server_->Cli({"HEXISTS", "{takt:0}:runs", "ghost"}), "0\n");
}

// The hash grows with the history; a server that answers with all of it answers nobody else meanwhile.
TEST_F(RedisIndexCheck, TheNamesOfRunsAreReadInPages) {
    ASSERT_TRUE(server_->Cli(
        {"EVAL", "for i = 1, 2000 do redis.call('HSET', KEYS[1], 'ghost' .. i, '') end", "1",
         "{takt:0}:runs"}));
    ASSERT_TRUE(server_->Cli({"CONFIG", "RESETSTAT"}));
    EXPECT_EQ(Texts().size(), 2000u);
    EXPECT_THAT(*server_->Cli({"INFO", "commandstats"}), testing::HasSubstr("cmdstat_hscan"));
}

// The order of retention, the other way.
TEST_F(RedisIndexCheck, EntriesOfTheOrderOfRetentionWithoutARowAreTakenOut) {
    const std::string before = *server_->Cli({"LRANGE", "{takt:0}:ended", "0", "-1"});
    for (const char* side : {"LPUSH", "RPUSH"}) {
        std::vector<std::string> command = {side, "{takt:0}:ended"};
        for (int i = 0; i < kOld; ++i) {
            command.push_back(fmt::format("{} {:019}:gone-{}{}", i, i, side, i));
        }
        ASSERT_TRUE(server_->Cli(command));
    }
    ASSERT_TRUE(server_->Cli({"LPUSH", "{takt:0}:ended", "what?"}));
    const auto texts = Texts();
    EXPECT_EQ(texts.size(), 2u * kOld + 1);
    EXPECT_THAT(texts, testing::Contains("ended names execution gone-LPUSH7, which is not there"));
    EXPECT_THAT(texts, testing::Contains("ended has an entry that cannot be read, number 1802 from "
                                         "its end"));
    Mend();
    EXPECT_THAT(Texts(), testing::IsEmpty());
    EXPECT_EQ(*server_->Cli({"LRANGE", "{takt:0}:ended", "0", "-1"}), before);
}

// The retention goes on, whatever somebody has put there.
TEST_F(RedisIndexCheck, APurgePassesOverEntriesThatCannotBeRead) {
    ASSERT_TRUE(server_->Cli({"LPUSH", "{takt:0}:ended", "what?", "7 short"}));
    Put({Purge{.finished_before = make_.now() + Duration(3'600'000), .count_max = 2'000}});
    EXPECT_EQ(*server_->Cli({"EXISTS", "{takt:0}:ended", "{takt:0}:x:worked"}), "0\n");
    EXPECT_THAT(Texts(), testing::IsEmpty());
}

// Its first end stays in the list, and does not stand for the second.
TEST_F(RedisIndexCheck, WhatWasRunAgainIsFoundByItsLastEnd) {
    Execution row = List(*store_, {.worker = WorkerId("w")})->front();
    ASSERT_EQ(row.id.view(), "worked");
    Put({ExecutionChange{Place::kHistory, Place::kLive, conformance::Redriven(row)}});
    EXPECT_THAT(Texts(), testing::IsEmpty());
    row = conformance::Finished(conformance::Scheduled(conformance::Redriven(row), "w"));
    row.finished_at += Duration(5'000);
    Put({ExecutionChange{Place::kLive, Place::kHistory, row}});
    EXPECT_THAT(Texts(), testing::IsEmpty());
    ASSERT_TRUE(server_->Cli({"RPOP", "{takt:0}:ended"}));
    EXPECT_EQ(Texts(), std::vector<std::string>{"execution worked is missing from finished"});
    Mend();
    EXPECT_THAT(Texts(), testing::IsEmpty());
}

TEST_F(RedisIndexCheck, ATermThatHasEndedMendsNothing) {
    ASSERT_TRUE(server_->Cli({"DEL", "{takt:0}:live"}));
    const auto faults = Faults();
    ASSERT_FALSE(faults.empty());
    ASSERT_TRUE(Acquire(*store_, "node-a"));
    EXPECT_EQ(Code(checks().MendIndexes(term_, faults)), "fenced");
    EXPECT_EQ(All("live"), "");
}

// The next leader's clock is an hour behind. What ends by it stands where it is sorted, is purged in
// its time, and is found there if it is run again.
TEST_F(RedisIndexCheck, WhatEndsByAClockThatIsBehindIsSortedIn) {
    const Duration hour{3'600'000};
    std::map<std::string, Execution> rows;
    const auto end = [&](const std::string& id, Duration ahead) {
        Execution row = conformance::Finished(rows.at(id));
        row.finished_at = make_.now() + ahead;
        return ExecutionChange{Place::kLive, Place::kHistory, row};
    };
    for (const char* id : {"ahead", "right", "again", "late"}) {
        Put({ExecutionChange{Place::kNone, Place::kLive, rows[id] = make_.OneOff(id)}});
    }
    const auto list = [&] { return *server_->Cli({"LRANGE", "{takt:0}:ended", "0", "-1"}); };

    Put({end("ahead", hour)});
    Put({end("right", Duration(0)), end("again", Duration(0)),
         end("late", hour - Duration(5'000))});
    EXPECT_THAT(All("finished"), testing::HasSubstr(":right"));
    EXPECT_THAT(All("finished"), testing::HasSubstr(":again"));
    EXPECT_THAT(list(), testing::Not(testing::HasSubstr(":right")));
    EXPECT_THAT(list(), testing::HasSubstr(":late")) << "as a report may be";
    EXPECT_EQ(Texts(), std::vector<std::string>());

    Put({ExecutionChange{Place::kHistory, Place::kLive, conformance::Redriven(rows.at("again"))}});
    EXPECT_THAT(All("finished"), testing::Not(testing::HasSubstr(":again")));
    Put({end("again", 2 * hour)});
    EXPECT_THAT(list(), testing::HasSubstr(":again"));
    EXPECT_EQ(Texts(), std::vector<std::string>());

    const auto left = [&] {
        return *server_->Cli({"EXISTS", "{takt:0}:x:ahead", "{takt:0}:x:right", "{takt:0}:x:again",
                              "{takt:0}:x:late"});
    };
    Put({Purge{.finished_before = make_.now() + Duration(1), .count_max = 2'000}});
    EXPECT_EQ(left(), "3\n");
    EXPECT_EQ(*server_->Cli({"EXISTS", "{takt:0}:x:right"}), "0\n");
    EXPECT_EQ(Texts(), std::vector<std::string>());
    Put({Purge{.finished_before = make_.now() + 2 * hour, .count_max = 2'000}});
    EXPECT_EQ(left(), "1\n");
    Put({Purge{.finished_before = make_.now() + 3 * hour, .count_max = 2'000}});
    EXPECT_EQ(left(), "0\n");
    EXPECT_EQ(*server_->Cli({"EXISTS", "{takt:0}:ended"}), "0\n");
}

// A leader whose clock is ahead runs one again and purges in the same batch.
TEST_F(RedisIndexCheck, WhatIsRunAgainBesideAPurgeTakesNoOtherEndWithIt) {
    const Duration hour{3'600'000};
    MakeNow();
    const Execution again = make_.OneOff("again");
    const Execution after = make_.OneOff("after");
    Put({ExecutionChange{Place::kNone, Place::kLive, again},
         ExecutionChange{Place::kNone, Place::kLive, after}});
    Execution first = conformance::Finished(again);
    first.finished_at = make_.now() + hour;
    Execution second = conformance::Finished(after);
    second.finished_at = make_.now() + 2 * hour;
    Put({ExecutionChange{Place::kLive, Place::kHistory, first},
         ExecutionChange{Place::kLive, Place::kHistory, second}});

    Put({ExecutionChange{Place::kHistory, Place::kLive, conformance::Redriven(again)},
         Purge{.finished_before = first.finished_at + Duration(1), .count_max = 2'000}});
    EXPECT_EQ(Texts(), std::vector<std::string>());
    Put({Purge{.finished_before = make_.now() + 3 * hour, .count_max = 2'000}});
    EXPECT_EQ(*server_->Cli({"EXISTS", "{takt:0}:x:after"}), "0\n");
}

// What ended under a leader whose clock was ahead is run again, ends by the right clock and is purged,
// long before its first end would be due: that one must not be left to name what is not there any more.
TEST_F(RedisIndexCheck, WhatIsRunAgainLeavesNoEndInTheFuture) {
    const Duration hour{3'600'000};
    MakeNow();
    const Execution row = make_.OneOff("again");
    Put({ExecutionChange{Place::kNone, Place::kLive, row}});
    Execution ahead = conformance::Finished(row);
    ahead.finished_at = make_.now() + hour;
    Put({ExecutionChange{Place::kLive, Place::kHistory, ahead}});
    Put({ExecutionChange{Place::kHistory, Place::kLive, conformance::Redriven(row)}});
    Execution right = conformance::Finished(row);
    right.finished_at = make_.now();
    Put({ExecutionChange{Place::kLive, Place::kHistory, right}});
    EXPECT_EQ(Texts(), std::vector<std::string>());

    Put({Purge{.finished_before = make_.now() + Duration(1), .count_max = 2'000}});
    EXPECT_EQ(*server_->Cli({"EXISTS", "{takt:0}:x:again"}), "0\n");
    EXPECT_EQ(Texts(), std::vector<std::string>());
    EXPECT_EQ(*server_->Cli({"EXISTS", "{takt:0}:ended"}), "0\n");
}

}  // namespace
}  // namespace takt::internal::redis
