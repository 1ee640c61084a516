// Purges from a remembered place: what is due goes, what came back stays.
#include "store/etcd/purge_window.h"

#include <algorithm>
#include <future>

#include "base/failpoint.h"
#include "store/etcd/limits.h"
#include "store/etcd/store_fixture.h"

namespace takt::internal::etcd {
namespace {

class EtcdPurgeTest : public EtcdLeaderTest {
  protected:
    Execution Finish(const std::string& id, Duration ahead = {}) {
        make_.Pass(Duration(1'000));
        Execution row = conformance::Finished(make_.OneOff(id));
        row.finished_at += ahead;
        Put({ExecutionChange{Place::kNone, Place::kHistory, row},
             LogAppend{LogChunk{row.id, 1, 1, make_.now(), "line\n"}}});
        return row;
    }
    std::vector<std::string> Ids() {
        std::vector<std::string> ids;
        for (const Execution& row : *List({.limit = 1000})) ids.push_back(row.id.text().str());
        std::ranges::sort(ids);
        return ids;
    }
    // Somebody discards the state that the leader knows of.
    void Discard() {
        for (const char* value : {"1", "2"}) ASSERT_TRUE(server_->Ctl({"put", "/other", value}));
        const Result<std::string> now = server_->Ctl({"get", "/other", "-w", "json"});
        ASSERT_TRUE(now) << now.error().detail;
        const std::string name = "\"revision\":";
        const std::size_t at = now->find(name);
        ASSERT_NE(at, std::string::npos) << *now;
        ASSERT_TRUE(
            server_->Ctl({"compact", std::to_string(std::stoll(now->substr(at + name.size())))}));
    }

    Partition next_partition_ = 100;
};

using Names = std::vector<std::string>;

// Each purge goes on where the one before ended, and those between that have nothing to do leave all as
// it is.
TEST_F(EtcdPurgeTest, APurgeGoesOnWhereTheLastOneEnded) {
    std::vector<Execution> rows;
    for (int i = 0; i < 40; ++i) rows.push_back(Finish("e-" + std::to_string(10 + i)));
    for (std::size_t i = 0; i < rows.size(); i += 8) {
        Put({Purge{rows[i].finished_at, {}, 100}});
        Put({Purge{rows[i].finished_at, {}, 100}});
        EXPECT_EQ(Ids().size(), rows.size() - i);
        EXPECT_EQ(KeysUnder("0/packs/"), rows.size() - i);
    }
    Finish("later");
    Put({Purge{make_.now() + Duration(60'000), {}, 100}});
    EXPECT_EQ(Ids(), Names());
    for (const char* prefix : {"0/packs/", "0/history/", "logs/", "ids/"}) {
        EXPECT_EQ(KeysUnder(prefix), 0u) << prefix;
    }
}

// Others write into the same etcd, and discard the state that the leader knows of.
TEST_F(EtcdPurgeTest, APurgeOfAStateThatWasDiscardedIsPlannedAnew) {
    const Execution first = Finish("e-1"), second = Finish("e-2");
    Discard();

    Put({Purge{second.finished_at, make_.now(), 100}});

    EXPECT_EQ(Ids(), Names{"e-2"});
}

// An old execution is run again just before it would have been purged. The leader has read its pack
// long before; what belongs to the execution must stay.
TEST_F(EtcdPurgeTest, AnExecutionThatCameBackIsNotPurged) {
    const Execution first = Finish("e-1"), second = Finish("e-2"), third = Finish("e-3");
    Put({Purge{first.finished_at, {}, 100}});
    Execution again = second;
    again.status = Status::kPending;
    Put({ExecutionChange{Place::kHistory, Place::kLive, again}});

    Put({Purge{third.finished_at + Duration(1), {}, 100}});

    EXPECT_EQ(Ids(), (Names{"e-2"}));
    EXPECT_EQ(KeysUnder("ids/"), 1u);
    EXPECT_EQ(KeysUnder("logs/e-2"), 1u);
    EXPECT_EQ(KeysUnder("0/packs/"), 0u) << "it is in none any more";

    // And when it has ended once more, in the order of that end.
    make_.Pass(Duration(1'000));
    Execution done = conformance::Finished(again);
    done.finished_at = make_.now();
    Put({ExecutionChange{Place::kLive, Place::kHistory, done}});
    Put({Purge{done.finished_at, {}, 100}});
    EXPECT_EQ(Ids().size(), 1u);
    Put({Purge{done.finished_at + Duration(1), {}, 100}});
    EXPECT_TRUE(Ids().empty());
}

// Others of its page may end until it goes, and their pointers are then written anew with it.
TEST_F(EtcdPurgeTest, ThePageOfOneThatIsToGoCountsAsLargeAsItMayGrow) {
    std::vector<Change> changes;
    std::vector<Execution> rows;
    for (const char* id : {"e-1", "e-2", "e-3"}) {
        rows.push_back(make_.OneOff(id));
        changes.push_back(ExecutionChange{Place::kNone, Place::kLive, rows.back()});
    }
    Put(std::move(changes));
    Put({ExecutionChange{Place::kLive, Place::kHistory, conformance::Finished(rows[1])}});
    Finish("alone");

    const Keys keys("/takt");
    Client client(*ParseEtcdUrl(server_->url("")), {});
    Tracker tracker;
    PurgeWindow window(client, keys, tracker, kDefaultPartition);
    window.Begin(term_);
    window.NoteRead(sequence_, 0);
    std::vector<std::size_t> bytes;
    for (int i = 0; i < 2; ++i) {
        using Taken = Result<std::optional<PurgeWindow::Pack>>;
        const auto answer = std::make_shared<std::promise<Taken>>();
        auto taken = answer->get_future();
        [](PurgeWindow& from, Time before, std::shared_ptr<std::promise<Taken>> to) -> Detached {
            to->set_value(co_await from.TakeOldest(before));
        }(window, make_.now() + Duration(60'000), answer);
        const Taken pack = taken.get();
        ASSERT_TRUE(pack && *pack);
        ASSERT_EQ((*pack)->residents.size(), 1u);
        bytes.push_back((*pack)->residents[0].page_bytes);
    }
    EXPECT_EQ(bytes[0], kPageBytesMax);
    EXPECT_LT(bytes[1], 300u) << "its page is its own";
}

// A new leader knows nothing of what others have finished, and purges it in its order.
TEST_F(EtcdPurgeTest, ANewLeaderPurgesWhatOthersFinished) {
    std::vector<Execution> rows;
    for (int term = 0; term < 4; ++term) {
        if (term > 0) Lead();
        for (int i = 0; i < 3; ++i) {
            rows.push_back(Finish("e-" + std::to_string(term) + std::to_string(i)));
        }
    }
    Lead();
    for (std::size_t i = 2; i < rows.size(); i += 3) {
        Put({Purge{rows[i].finished_at, {}, 100}});
        EXPECT_EQ(Ids().size(), rows.size() - i);
    }
    Put({Purge{make_.now() + Duration(1'000), {}, 100}});
    EXPECT_TRUE(Ids().empty());
    EXPECT_EQ(KeysUnder("0/packs/"), 0u);
}

// Leaders whose clocks were minutes apart, and many that led for a moment only. Each purge takes what
// is due by its own time and nothing else, whoever wrote it, also when what was known of the epochs is
// forgotten.
TEST_F(EtcdPurgeTest, WhatIsDueGoesWhateverTheClocksOfItsLeadersWere) {
    constexpr Duration kMinute{60'000};
    std::vector<Execution> rows;
    for (const int minutes : {3, 0, 9, -4, 1}) {
        for (int i = 0; i < 20; ++i) Lead();
        for (int i = 0; i < 5; ++i) {
            const std::string id = "e-" + std::to_string(10 + rows.size());
            rows.push_back(Finish(id, minutes * kMinute));
        }
    }
    Lead();
    const Time begin = make_.now();
    for (int minute = -5; minute < 11; ++minute) {
        const Time before = begin + minute * kMinute;
        if (minute == 2) Lead();
        rows.push_back(Finish("new-" + std::to_string(minute + 20), minute * kMinute));
        if (minute % 4 == 0) Discard();
        Put({Purge{before, {}, 100}});
        Names left;
        std::erase_if(rows, [&](const Execution& row) { return row.finished_at < before; });
        for (const Execution& row : rows) left.push_back(row.id.text().str());
        std::ranges::sort(left);
        ASSERT_EQ(Ids(), left) << minute;
        EXPECT_EQ(KeysUnder("0/packs/"), left.size());
    }
}

// For a long time nothing finishes; then something does. The place from which the next purge reads is
// found all the same, before and after the silence, by this leader and the next.
TEST_F(EtcdPurgeTest, ALongSilenceIsSkipped) {
    const auto silence = [&](std::uint64_t commits) {
        std::vector<std::future<Result<void>>> answers;
        for (std::uint64_t i = 0; i < commits; ++i) {
            const auto answer = std::make_shared<std::promise<Result<void>>>();
            answers.push_back(answer->get_future());
            store_->Commit(
                std::make_shared<const Batch>(Batch{term_, ++sequence_, make_.last_serial(), {}}),
                [answer](Result<void> done) { answer->set_value(std::move(done)); });
        }
        for (auto& answer : answers) ASSERT_TRUE(answer.get());
    };
    Finish("e-1");
    silence(300);
    Finish("e-2");
    silence(9'000);
    const Execution third = Finish("e-3");
    Put({Purge{third.finished_at, {}, 100}});
    EXPECT_EQ(Ids(), (Names{"e-3"}));

    Lead();
    silence(9'000);
    const Execution fourth = Finish("e-4");
    Put({Purge{fourth.finished_at, {}, 100}});
    EXPECT_EQ(Ids(), (Names{"e-4"}));
}

// Events go up to the bound, however many there were in a commit, and a purge that stops at its count
// is gone on with.
TEST_F(EtcdPurgeTest, EventsGoInTheirOrder) {
    std::vector<Time> times;
    for (int i = 0; i < 6; ++i) {
        make_.Pass(Duration(600'000));
        times.push_back(make_.now());
        Put({EventAppend{make_.MakeEvent(EventType::kTaskCompleted)},
             EventAppend{make_.MakeEvent(EventType::kTaskCompleted)}});
    }
    const auto events = [&] {
        using Rows = std::vector<Event>;
        const auto rows = Await<Rows>(
            [&](Done<Rows> d) { store_->ReadEvents(kDefaultPartition, 0, 100, std::move(d)); });
        return rows ? rows->size() : 0;
    };
    Put({Purge{{}, times[2], 100}});
    EXPECT_EQ(events(), 8u);
    Put({Purge{{}, times[4], 3}});
    EXPECT_EQ(events(), 5u) << "half of a commit's";
    Put({Purge{{}, times[4], 3}});
    EXPECT_EQ(events(), 4u);
    Put({Purge{{}, make_.now() + Duration(1'000), 100}});
    EXPECT_EQ(events(), 0u);
    EXPECT_EQ(KeysUnder("0/events/"), 0u);
    make_.Pass(Duration(1'000));
    Put({EventAppend{make_.MakeEvent(EventType::kTaskCompleted)}});
    Put({Purge{{}, make_.now() + Duration(1'000), 100}});
    EXPECT_EQ(events(), 0u) << "those that came since";
}

// The answer to a commit with events is lost, and the leader finds out that it was applied. Its
// events go like others.
TEST_F(EtcdPurgeTest, EventsOfACommitWhoseAnswerWasLostGoToo) {
    const auto purge = [&] { return Purge{{}, make_.now() + Duration(1'000), 100}; };
    Put({EventAppend{make_.MakeEvent(EventType::kTaskCompleted)}});
    Put({purge()});
    make_.Pass(Duration(10'000));
    const std::vector<Change> changes = {EventAppend{make_.MakeEvent(EventType::kTaskCompleted)}};
    ASSERT_TRUE(SetFailPoints("store.etcd.answer:error:1"));
    const Result<void> lost = Commit(term_, ++sequence_, changes);
    ASSERT_TRUE(SetFailPoints(""));
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::kUnknown);
    ASSERT_TRUE(Commit(term_, sequence_, changes));
    EXPECT_EQ(KeysUnder("0/events/"), 1u);

    make_.Pass(Duration(10'000));
    Put({purge()});
    EXPECT_EQ(KeysUnder("0/events/"), 0u);
}

// Under load every second batch or so has a purge, and as a rule there is nothing to delete: then it
// costs no transaction of its own.
TEST_F(EtcdPurgeTest, APurgeWithNothingToDoGoesWithOtherBatches) {
    Finish("of a clock ahead", Duration(3'600'000));
    Lead();
    const Execution row = Finish("e-1");
    const Purge purge{row.finished_at, row.created_at, 100};
    Put({purge});
    const auto revision = [&] {
        const Result<Term> other =
            TakeLead(*store_, {.node = {.node = NodeId("node-a"), .address = "http://a"},
                               .ttl = Duration(600'000),
                               .partition = next_partition_++});
        return other->nonce;
    };
    const std::uint64_t before = revision();
    std::vector<std::future<Result<void>>> answers;
    for (int i = 0; i < 8; ++i) {
        const auto answer = std::make_shared<std::promise<Result<void>>>();
        answers.push_back(answer->get_future());
        std::vector<Change> changes = {SettingPut{Text("k" + std::to_string(i)), "v"}, purge};
        store_->Commit(std::make_shared<const Batch>(
                           Batch{term_, ++sequence_, make_.last_serial(), std::move(changes)}),
                       [answer](Result<void> done) { answer->set_value(std::move(done)); });
    }
    for (auto& answer : answers) ASSERT_TRUE(answer.get());
    EXPECT_LT(revision() - before, 8u);
    EXPECT_EQ(Settings()->size(), 8u);
    EXPECT_EQ(Ids().size(), 2u);
}

}  // namespace
}  // namespace takt::internal::etcd
