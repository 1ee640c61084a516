// Large things: payloads, results, many commits at once, long purges.
#include <algorithm>
#include <future>

#include "store/etcd/limits.h"
#include "store/etcd/purger.h"
#include "store/etcd/store_fixture.h"
#include "store/many_logs.h"

namespace takt::internal::etcd {
namespace {

using EtcdSizeTest = EtcdLeaderTest;

// Bytes that no compression makes smaller.
Text Noise(std::size_t size) {
    std::string bytes(size, '\0');
    std::uint64_t state = 1;
    for (char& c : bytes) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        c = static_cast<char>(state >> 56);
    }
    return bytes;
}

// The largest task there may be ends with the largest result there may be: two megabytes, and etcd
// takes one and a half in a request.
TEST_F(EtcdSizeTest, ALargePayloadAndALargeResultFitTogether) {
    Execution row = make_.Fire("t-1", "e-1");
    row.payload = Noise(1 << 20);
    ASSERT_TRUE(Commit(term_, 1, {ExecutionChange{Place::kNone, Place::kLive, row}}));
    Execution done = conformance::Finished(row);
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->data = Noise((1 << 20) + 7);
    done.outcome = outcome;

    const Result<void> finished =
        Commit(term_, 2, {ExecutionChange{Place::kLive, Place::kHistory, done}});

    ASSERT_TRUE(finished) << finished.error().detail;
    const auto list = List({});
    ASSERT_TRUE(list && list->size() == 1);
    EXPECT_EQ(conformance::Show(list->at(0)), conformance::Show(done));
    EXPECT_EQ(KeysUnder("0/payloads/"), 2u) << "the task's and what overrides it";
    ASSERT_TRUE(Commit(term_, 3, {Purge{done.finished_at + Duration(1), {}, 10}}));
    EXPECT_EQ(KeysUnder("0/payloads/"), 0u) << "it goes with its execution";
}

// A task with a large payload fires, is changed, changed to a small one, and deleted: of all the
// payloads that it had, etcd keeps the last.
TEST_F(EtcdSizeTest, APayloadOfATaskIsWrittenOnceAndGoesWhenItIsReplaced) {
    TaskRow row = make_.Recurring("t-1");
    const auto change = [&](Text payload) {
        NewTaskPtr task(new Task(*row.task));
        task->payload = std::move(payload);
        task->version = row.task->version + 1;
        row.task = task;
    };
    std::uint64_t sequence = 0;
    const auto put = [&](const Term& term) {
        ++row.state.fires;
        const Result<void> done = Commit(term, ++sequence, {TaskPut{row}});
        ASSERT_TRUE(done) << done.error().detail;
    };
    const auto bytes = [&] {
        const Result<std::string> keys =
            server_->Ctl({"get", "--prefix", "--keys-only", "/takt/0/task_payloads/"});
        return keys ? *keys : keys.error().detail;
    };
    change(Noise(kPayloadApartMin));
    put(term_);
    const std::string first = bytes();
    EXPECT_EQ(KeysUnder("0/task_payloads/"), 1u);
    put(term_);
    EXPECT_EQ(bytes(), first) << "a fire does not write it again";

    change(Noise(kPayloadApartMin + 1));
    put(term_);
    EXPECT_EQ(KeysUnder("0/task_payloads/"), 1u);
    EXPECT_NE(bytes(), first);

    // The next leader has not seen what is stored, and replaces it all the same.
    const Result<Term> next = Acquire();
    ASSERT_TRUE(next) << next.error().detail;
    sequence = 0;
    put(*next);
    EXPECT_EQ(KeysUnder("0/task_payloads/"), 1u);
    change("small");
    put(*next);
    EXPECT_EQ(KeysUnder("0/task_payloads/"), 0u);
    change(Noise(kPayloadApartMin));
    put(*next);
    EXPECT_EQ(KeysUnder("0/task_payloads/"), 1u);
    ASSERT_TRUE(Commit(*next, ++sequence, {TaskDelete{TaskId("t-1")}}));
    EXPECT_EQ(KeysUnder("0/task_payloads/"), 0u);
}

// The answer to a change of a payload is lost, and the node sends the same batch again. Then the
// owner takes the change back: the payload from before is gone, and must be written again.
TEST_F(EtcdSizeTest, ARepeatedChangeOfAPayloadLeavesNoTaskWithoutOne) {
    const auto row_with = [&](std::size_t size, std::uint32_t version) {
        TaskRow row = make_.Recurring("t-1");
        NewTaskPtr task(new Task(*row.task));
        task->payload = Noise(size);
        task->version = version;
        row.task = task;
        return row;
    };
    ASSERT_TRUE(Commit(term_, 1, {TaskPut{row_with(kPayloadApartMin, 1)}}));
    for (int copy = 0; copy < 2; ++copy) {
        const Result<void> done = Commit(term_, 2, {TaskPut{row_with(kPayloadApartMin + 1, 2)}});
        ASSERT_TRUE(done) << done.error().detail;
    }
    ASSERT_TRUE(Commit(term_, 3, {TaskPut{row_with(kPayloadApartMin, 3)}}));

    const auto found = Await<TaskRow>(
        [&](Done<TaskRow> d) { store_->FindTask(kDefaultPartition, TaskId("t-1"), std::move(d)); });
    ASSERT_TRUE(found) << found.error().detail;
    EXPECT_EQ(found->task->payload.size(), kPayloadApartMin);
    EXPECT_EQ(KeysUnder("0/task_payloads/"), 1u);
}

// Under full load the node has several full batches under way. They arrive as one transaction of
// more than etcd's 128 operations, in order.
TEST_F(EtcdSizeTest, FullBatchesInAPipelineAreAllApplied) {
    const StoreLimits limits = store_->limits();
    std::vector<Execution> rows;
    std::vector<std::future<Result<void>>> answers;
    for (std::size_t n = 1; n <= 2 * limits.pipeline_max; ++n) {
        auto batch = std::make_shared<Batch>();
        const bool inserts = n <= limits.pipeline_max;
        for (std::size_t i = 0; i < limits.changes_max; ++i) {
            const std::size_t at = (n - 1) % limits.pipeline_max * limits.changes_max + i;
            if (inserts) rows.push_back(make_.OneOff("e-" + std::to_string(at)));
            batch->changes.push_back(inserts ? ExecutionChange{Place::kNone, Place::kLive, rows[at]}
                                             : ExecutionChange{Place::kLive, Place::kHistory,
                                                               conformance::Finished(rows[at])});
        }
        batch->term = term_;
        batch->sequence = n;
        batch->last_serial = make_.last_serial();
        const auto answer = std::make_shared<std::promise<Result<void>>>();
        answers.push_back(answer->get_future());
        store_->Commit(std::move(batch),
                       [answer](Result<void> done) { answer->set_value(std::move(done)); });
    }
    for (auto& answer : answers) {
        const Result<void> done = answer.get();
        ASSERT_TRUE(done) << done.error().detail;
    }

    std::size_t found = 0;
    ExecutionFilter filter{.statuses = {Status::kSuccess}, .limit = 1000};
    for (auto page = List(filter); page && !page->empty(); page = List(filter)) {
        found += page->size();
        filter.before = page->back().serial;
    }
    EXPECT_EQ(found, limits.pipeline_max * limits.changes_max);
    EXPECT_EQ(KeysUnder("0/live/"), 0u);
    EXPECT_EQ(KeysUnder("0/pages/live/"), 0u);
}

// The rows that a purge finds may be more than a transaction takes: chosen ids, payloads apart,
// logs, packs that are empty. It stops where there is no room left, and the next one goes on.
TEST_F(EtcdSizeTest, APurgeStopsWhereItsTransactionIsFull) {
    std::vector<Change> changes;
    Time last{};
    for (std::size_t i = 0; i < 100; ++i) {
        const Execution row = conformance::Finished(make_.OneOff("e-" + std::to_string(i)));
        changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
        last = row.finished_at;
    }
    ASSERT_TRUE(Commit(term_, 1, changes));
    const Batch batch{term_, 2, make_.last_serial(), {Purge{last + Duration(1), {}, 1000}}};
    const Keys keys("/takt");
    Client client(*ParseEtcdUrl(server_->url("")), {});
    Tracker tracker;
    const auto planned = [&](Purger::Room room) {
        PurgeWindow window(client, keys, tracker, kDefaultPartition);
        window.Begin(term_);
        const auto answer = std::make_shared<std::promise<Result<Ops>>>();
        auto plan = answer->get_future();
        [](Purger purger, std::shared_ptr<std::promise<Result<Ops>>> to) -> Detached {
            to->set_value(co_await purger.Plan());
        }(Purger(client, keys, batch, room, window), answer);
        return plan.get();
    };

    const Result<Ops> few = planned({.ops = 60, .bytes = 1 << 20});
    const Result<Ops> short_of_bytes = planned({.ops = kOpsMax, .bytes = 8 << 10});
    const Result<Ops> all = planned({.ops = kOpsMax, .bytes = 1 << 20});

    ASSERT_TRUE(few && short_of_bytes && all);
    EXPECT_GT(few->size(), 0u);
    EXPECT_LE(few->size(), 60u);
    EXPECT_GT(short_of_bytes->size(), 0u);
    EXPECT_LE(short_of_bytes->bytes(), 8u << 10);
    EXPECT_EQ(all->size(), 201u) << "id and log of each, and the pack; their pointers are in pages";
}

// After a week without a leader there is much to clean away. One transaction must not hold etcd up
// for all of it.
TEST_F(EtcdSizeTest, APurgeDeletesNoMoreThanTheStoreSays) {
    const StoreLimits limits = store_->limits();
    const std::size_t many = limits.purge_max + 5;
    std::uint64_t sequence = 0;
    Time last{};
    for (std::size_t done = 0; done < many;) {
        std::vector<Change> changes;
        for (; done < many && changes.size() < limits.changes_max; ++done) {
            const Execution row = conformance::Finished(make_.OneOff("e-" + std::to_string(done)));
            changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
            last = row.finished_at;
        }
        ASSERT_TRUE(Commit(term_, ++sequence, std::move(changes)));
    }

    ASSERT_TRUE(Commit(term_, ++sequence, {Purge{last + Duration(1), {}, 1'000'000}}));

    EXPECT_EQ(List({.limit = 1000})->size(), 5u);
}

// A month of history goes in portions; nothing of it stays behind.
TEST_F(EtcdSizeTest, PurgingManyLeavesNoKeyBehind) {
    std::uint64_t sequence = 0;
    Time last{};
    for (int n = 0; n < 6; ++n) {
        std::vector<Change> changes;
        for (int i = 0; i < 50; ++i) {
            const Execution row = conformance::Finished(
                make_.OneOff("e-" + std::to_string(n) + "-" + std::to_string(i)));
            changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
            changes.push_back(LogAppend{LogChunk{row.id, 1, 1, make_.now(), "line\n"}});
            last = row.finished_at;
        }
        changes.push_back(EventAppend{make_.MakeEvent(EventType::kTaskCompleted)});
        ASSERT_TRUE(Commit(term_, ++sequence, changes));
        make_.Pass(Duration(60'000));
    }

    const Purge purge{last + Duration(1), make_.now(), 170};
    ASSERT_TRUE(Commit(term_, ++sequence, {purge}));
    EXPECT_EQ(List({.limit = 1000})->size(), 300u - 170u);
    EXPECT_EQ(KeysUnder("0/packs/"), 3u) << "the fourth is not empty yet";
    const Result<void> rest = Commit(term_, ++sequence, {purge});
    ASSERT_TRUE(rest) << rest.error().detail;

    EXPECT_TRUE(List({})->empty());
    for (const char* prefix : {"0/packs/", "0/history/", "0/events/", "logs/", "ids/"}) {
        EXPECT_EQ(KeysUnder(prefix), 0u) << prefix;
    }
}

// One partition commits as fast as it can. Its batches are merged into few transactions, but not while
// another one commits too, which would wait for each of them.
TEST_F(EtcdTest, BatchesAreNotMergedBesideAnotherPartition) {
    StartServer();
    OpenStore();
    const auto lead = [&](Partition partition) {
        return *TakeLead(
            *store_,
            {.node = {.node = NodeId("a")}, .ttl = Duration(600'000), .partition = partition});
    };
    // The nonce of a term is etcd's revision, which each transaction raises by one.
    const auto transactions = [&](const Term& term, std::uint64_t first, Partition next) {
        const std::uint64_t before = lead(next).nonce;
        std::vector<std::future<Result<void>>> done;
        for (std::uint64_t i = 0; i < 8; ++i) {
            std::vector<Change> changes;
            for (int k = 0; k < 100; ++k) {
                changes.emplace_back(SettingPut{Text("k" + std::to_string(k)), "v"});
            }
            auto answer = std::make_shared<std::promise<Result<void>>>();
            done.push_back(answer->get_future());
            store_->Commit(
                std::make_shared<const Batch>(Batch{term, first + i, 0, std::move(changes)}),
                [answer](Result<void> result) { answer->set_value(std::move(result)); });
        }
        for (auto& one : done) EXPECT_TRUE(one.get());
        return lead(Partition(next + 1)).nonce - before;
    };
    const Term flood = lead(1);
    const std::uint64_t alone = transactions(flood, 1, 10);
    ASSERT_TRUE(Commit(lead(2), 1, {SettingPut{"other", "v"}}));
    const std::uint64_t beside = transactions(flood, 9, 20);

    EXPECT_LT(alone, 8u);
    EXPECT_GE(beside, 8u);
}

// A backup of many executions: most have no log, some a short one, a few a long one.
TEST_F(EtcdSizeTest, BeginningsOfManyLogsAreThoseOfEach) {
    std::vector<ExecutionId> ids;
    std::uint64_t sequence = 0;
    for (int i = 0; i < 230; ++i) {
        ids.emplace_back(Text("e-" + std::to_string(i)));
        std::vector<Change> changes;
        for (int k = 1; k <= (i % 50 == 1 ? 7 : i % 9 == 0 ? 2 : 0); ++k) {
            changes.push_back(LogAppend{{.execution = ids.back(),
                                         .index = static_cast<Serial>(k),
                                         .attempt = 1,
                                         .lines = Text(std::to_string(k) + "\n")}});
        }
        if (!changes.empty()) ASSERT_TRUE(Commit(term_, ++sequence, std::move(changes)));
    }

    const auto read = Await<std::vector<LogBeginning>>([&](auto done) {
        dynamic_cast<ReadsManyLogs&>(*store_).ReadLogs(kDefaultPartition, ids, std::move(done));
    });

    ASSERT_TRUE(read) << read.error().detail;
    ASSERT_EQ(read->size(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const LogBeginning& log = (*read)[i];
        EXPECT_EQ(log.more, i % 50 == 1) << i;
        ASSERT_EQ(log.chunks.size(), i % 50 == 1 ? 4u : i % 9 == 0 ? 2u : 0u) << i;
        for (std::size_t k = 0; k < log.chunks.size(); ++k) {
            EXPECT_EQ(log.chunks[k].execution, ids[i]);
            EXPECT_EQ(log.chunks[k].index, k + 1);
        }
    }
}

}  // namespace
}  // namespace takt::internal::etcd
