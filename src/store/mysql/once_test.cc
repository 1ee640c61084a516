// Executions of one-off tasks with generated ids, which have a live table of their own.
#include <map>
#include <random>

#include "store/mysql/schema.h"
#include "store/mysql/store_fixture.h"

namespace takt::internal::mysql {
namespace {

using conformance::Finished;
using conformance::Redriven;
using conformance::Retrying;
using conformance::Running;
using conformance::Scheduled;
using conformance::Show;

class MysqlOnceTest : public MysqlStoreTest {
  protected:
    static std::vector<std::optional<Execution>> Find(Store& store, std::vector<ExecutionId> ids) {
        using Found = std::vector<std::optional<Execution>>;
        auto found = Await<Found>([&](Done<Found> done) {
            store.FindExecutions(kDefaultPartition, std::move(ids), std::move(done));
        });
        EXPECT_TRUE(found) << found.error().detail;
        return found ? *found : Found();
    }
    static std::vector<Execution> Load(Store& store) {
        std::vector<Execution> rows;
        std::string cursor;
        do {
            auto page = Await<LoadPage>([&](Done<LoadPage> done) {
                store.Load(kDefaultPartition, cursor, std::move(done));
            });
            EXPECT_TRUE(page) << page.error().detail;
            if (!page) break;
            for (Execution& row : page->executions) rows.push_back(std::move(row));
            cursor = page->next;
        } while (!cursor.empty());
        return rows;
    }
    std::int64_t Count(const std::string& table) {
        Rows row = database_.Root().Query("SELECT COUNT(*) FROM " + table);
        return row.Next() ? row.Int(0) : -1;
    }
};

// A plain map beside the store: each execution as it was written last, and where.
struct Model {
    std::map<Serial, std::pair<Place, Execution>> rows;

    ExecutionChange Change(Place after, const Execution& row) {
        auto& [place, last] = rows[row.serial];
        const Place before = std::exchange(place, after);
        last = row;
        return {before, after, row};
    }
};

Execution WithOutcome(Execution row, std::size_t data_bytes) {
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    std::string data(data_bytes, 'x');
    // Bytes that neither JSON nor a literal of SQL has as they are.
    for (std::size_t i = 0; i < data.size(); i += 3) data[i] = "\"'\\\n\0\t"[i / 3 % 6];
    outcome->data = Text(data);
    row.outcome = outcome;
    return row;
}

// Executions are read back as they were written, in any mix of changes.
TEST_F(MysqlOnceTest, EachStepOfALifeIsKept) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    std::minstd_rand random(7);
    Model model;
    for (std::uint64_t sequence = 1; sequence <= 40; ++sequence) {
        std::vector<Change> changes;
        const auto next = [&](Place place, const Execution& row) -> std::optional<ExecutionChange> {
            const auto choice = random() % 7;
            if (place == Place::kHistory) {
                if (choice > 0) return std::nullopt;
                return model.Change(Place::kLive, Redriven(row));
            }
            Execution moved = row;
            if (choice == 0) return std::nullopt;
            if (row.attempt > 0 && choice < 3) {
                return model.Change(Place::kLive, choice == 1 ? Retrying(row) : Running(row));
            }
            if (row.attempt == 0 || choice == 3) {
                moved = Scheduled(row, "worker-" + std::to_string(random() % 3));
                for (std::uint8_t& byte : moved.token) byte = std::uint8_t(random());
                if (random() % 4 == 0) moved.progress = Text(std::string("\0p'", 3));
                return model.Change(Place::kLive, moved);
            }
            moved = Finished(row, choice == 4 ? Status::kFailed : Status::kSuccess);
            if (choice == 5) moved.outcome = {};
            if (choice == 6) moved = WithOutcome(moved, random() % 1000);
            return model.Change(Place::kHistory, moved);
        };
        for (const auto& [serial, there] : std::map(model.rows)) {
            if (auto change = next(there.first, there.second)) changes.push_back(*change);
        }
        for (std::uint32_t i = random() % 20; i > 0; --i) {
            const Execution row =
                random() % 5 == 0 ? make_.OneOff("own-" + std::to_string(random())) : MakeOnce();
            const bool ended = random() % 9 == 0;
            changes.push_back(
                model.Change(ended ? Place::kHistory : Place::kLive, ended ? Finished(row) : row));
        }

        const auto done = Commit(*store, MakeBatch(*term, sequence, changes));

        ASSERT_TRUE(done) << done.error().detail;
    }
    std::vector<ExecutionId> ids;
    std::string live, loaded;
    for (const auto& [serial, there] : model.rows) {
        ids.push_back(there.second.id);
        if (there.first == Place::kLive) live += Show(there.second);
    }
    const auto found = Find(*store, ids);
    ASSERT_EQ(found.size(), ids.size());
    auto expected = model.rows.begin();
    for (const auto& row : found) {
        ASSERT_TRUE(row) << (expected->first);
        EXPECT_EQ(Show(*row), Show(expected->second.second));
        ++expected;
    }
    for (const Execution& row : Load(*store)) loaded += Show(row);
    EXPECT_EQ(loaded, live);
    EXPECT_GT(Count("takt_once_live"), 20);
    EXPECT_GT(Count("takt_live"), 0);
    EXPECT_GT(Count("takt_history"), 20);
    const auto listed = List(*store);
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->size(), 100u);
    expected = std::prev(model.rows.end());
    for (const Execution& row : *listed) {
        EXPECT_EQ(Show(row), Show(expected->second.second));
        if (expected != model.rows.begin()) --expected;
    }
}

// The scheduler and the tables are not of one opinion: nothing of the batch is written.
TEST_F(MysqlOnceTest, AChangeOfARowThatIsNotThereIsRefused) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const Execution there = MakeOnce();
    const Execution absent = MakeOnce();
    ASSERT_TRUE(Commit(*store, MakeBatch(*term, 1, {InsertLive(there)})));
    for (const Place after : {Place::kLive, Place::kHistory}) {
        const auto change = [&](const Execution& row) {
            Execution next = Scheduled(row, "w-1");
            if (after == Place::kHistory) next = WithOutcome(Finished(next), 10);
            return ExecutionChange{Place::kLive, after, next};
        };

        const auto refused = Commit(*store, MakeBatch(*term, 2, {change(there), change(absent)}));

        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    }
    // One that changes nothing is one all the same.
    const ExecutionChange same{Place::kLive, Place::kLive, there};
    EXPECT_TRUE(Commit(*store, MakeBatch(*term, 2, {same})));
    const auto again = Commit(*store, MakeBatch(*term, 3, {same}));
    EXPECT_TRUE(again) << again.error().detail;
    const auto found = Find(*store, {there.id, absent.id});
    ASSERT_TRUE(found.at(0));
    EXPECT_EQ(Show(*found[0]), Show(there));
    EXPECT_FALSE(found[1]);
}

// A task's page in the console lists the one execution of a one-off task by the task's id.
TEST_F(MysqlOnceTest, TheTaskOfAnExecutionListsIt) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    const Execution one = MakeOnce();
    const Execution other = MakeOnce();
    ASSERT_TRUE(Commit(*store, MakeBatch(*term, 1, {InsertLive(one), InsertLive(other)})));
    using Many = std::vector<Execution>;
    for (const bool brief : {false, true}) {
        ExecutionFilter filter;
        filter.task = TaskId(one.id.text());
        filter.brief = brief;

        const auto listed =
            Await<Many>([&](Done<Many> done) { store->ListExecutions(filter, std::move(done)); });

        ASSERT_TRUE(listed) << listed.error().detail;
        ASSERT_EQ(listed->size(), 1u);
        EXPECT_EQ(listed->at(0).id, one.id);
    }
}

// The tables as version 2 made them, with executions on their way, also in another namespace; and a
// scheduler of that version that slept and is not announced any more, but has its term.
TEST_F(MysqlOnceTest, WhatIsOnItsWayInTablesOfVersion2GoesOn) {
    const Execution before = MakeOnce();
    {
        const MysqlOptions options = database_.options();
        Connection old(options);
        const auto steps = Migrations(options.prefix);
        for (const auto& step : {steps[0], steps[1]}) {
            for (const std::string& statement : step) old.Run(statement);
        }
        old.Run(fmt::format(
            "CREATE TABLE takt_schema (only_row TINYINT NOT NULL PRIMARY KEY, version INT UNSIGNED "
            "NOT NULL);INSERT INTO takt_schema VALUES (1, 2);"
            "INSERT INTO takt_live (serial, id, task_name, type, queue, origin, status) VALUES "
            "({0}, '{1}', 'n', 'mail', 'default', 'once', 'pending');"
            "INSERT INTO takt_terms (partition_id, epoch, nonce, sequence, last_serial) VALUES "
            "(0, 41, 7, 3, {0}), (7, 2, 9, 1, 5), (9, 2, 9, 1, 5);"
            "CREATE TABLE takt_7_live LIKE takt_live;CREATE TABLE takt_7_history LIKE takt_history;"
            "CREATE TABLE takt_7_child_live LIKE takt_child_live;"
            "CREATE TABLE takt_7_child_history LIKE takt_child_history;"
            "INSERT INTO takt_7_live (serial, id, task_name, type, queue, origin, status) VALUES "
            "(5, 'seven', 'n', 'mail', 'default', 'once', 'pending'), "
            // The fence was restored from an older state than this.
            "({0}, '{1}', 'n', 'mail', 'default', 'once', 'pending')",
            before.serial, before.id.view()));
    }

    const auto store = Open();

    ASSERT_TRUE(store);
    const auto late = Commit(*store, MakeBatch({0, 41, 7}, 4, {SettingPut{"a", "1"}}));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
    const auto found = Find(*store, {before.id});
    ASSERT_TRUE(found.at(0)) << "it stays where it was";
    using Found = std::vector<std::optional<Execution>>;
    const auto seven = Await<Found>([&](Done<Found> done) {
        store->FindExecutions(7, {ExecutionId(Text("seven"))}, std::move(done));
    });
    ASSERT_TRUE(seven) << seven.error().detail;
    EXPECT_TRUE(seven->at(0));
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    const Execution after = MakeOnce();
    const Execution moved = Scheduled(*found[0], "w-1");
    const auto first = Commit(
        *store, MakeBatch(*term, 1,
                          {ExecutionChange{Place::kLive, Place::kLive, moved}, InsertLive(after)}));
    ASSERT_TRUE(first) << first.error().detail;
    EXPECT_EQ(Count("takt_live"), 1);
    EXPECT_EQ(Count("takt_once_live"), 1);
    EXPECT_EQ(Load(*store).size(), 2u);
    const auto second =
        Commit(*store, MakeBatch(*term, 2, {FinishLive(moved), FinishLive(Scheduled(after, "w"))}));
    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_EQ(Count("takt_history"), 2);
    // And back: it is the serial that says where.
    const Execution again = Redriven(Finished(moved));
    const auto third = Commit(
        *store, MakeBatch(*term, 3, {ExecutionChange{Place::kHistory, Place::kLive, again}}));
    ASSERT_TRUE(third) << third.error().detail;
    EXPECT_EQ(Count("takt_live"), 1);
    Rows after_seven =
        database_.Root().Query("SELECT once_after FROM takt_terms WHERE partition_id = 7");
    ASSERT_TRUE(after_seven.Next());
    EXPECT_EQ(after_seven.Unsigned(0), before.serial);
    Rows none = database_.Root().Query("SHOW TABLES LIKE 'takt\\_9\\_%'");
    EXPECT_FALSE(none.Next()) << "of one that has no tables none is made";
}

// Numbers at their limits, bytes of every kind, in columns that all differ from row to row.
TEST_F(MysqlOnceTest, ValuesAtTheirLimitsEndAsTheyAre) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    std::string bytes;
    for (int c = 0; c < 256; ++c) bytes += char(c);
    std::vector<Change> inserts, ends;
    std::vector<Execution> ended;
    for (std::int64_t i = 0; i < 2; ++i) {
        Execution row = MakeOnce();
        boost::intrusive_ptr<Task> task(new Task(*row.task));
        task->payload = Text(i == 0 ? bytes + bytes : std::string());
        task->type = Text("a ");
        row.task = task;
        inserts.push_back(InsertLive(row));
        row.status = i == 0 ? Status::kFailed : Status::kSuccess;
        row.attempt = row.failures = row.losses = UINT32_MAX - std::uint32_t(i);
        row.epoch = UINT64_MAX - std::uint64_t(i);
        row.token.fill(std::uint8_t(255 - i));
        row.worker = WorkerId(Text(std::string(64, i == 0 ? '~' : '-')));
        row.ready_at = Time(Duration(INT64_MAX - i));
        row.started_at = Time(Duration(INT64_MIN + i));
        row.finished_at = Time(Duration((std::int64_t(1) << 53) + 1 + i));
        boost::intrusive_ptr<Outcome> outcome(new Outcome);
        outcome->reason = kReasonLast;
        outcome->code = INT32_MIN;
        outcome->message = Text(i == 0 ? bytes : std::string());
        outcome->data = Text(bytes);
        row.outcome = outcome;
        ended.push_back(row);
        ends.push_back(ExecutionChange{Place::kLive, Place::kHistory, row});
    }
    ASSERT_TRUE(Commit(*store, MakeBatch(*term, 1, inserts)));

    const auto done = Commit(*store, MakeBatch(*term, 2, ends));

    ASSERT_TRUE(done) << done.error().detail;
    const auto found = Find(*store, {ended[0].id, ended[1].id});
    for (std::size_t i = 0; i < 2; ++i) {
        ASSERT_TRUE(found.at(i));
        EXPECT_EQ(Show(*found[i]), Show(ended[i]));
        EXPECT_EQ(found[i]->epoch, ended[i].epoch);
        EXPECT_EQ(found[i]->token, ended[i].token);
        EXPECT_EQ(found[i]->started_at, ended[i].started_at);
        EXPECT_EQ(found[i]->ready_at, ended[i].ready_at);
        EXPECT_EQ(found[i]->finished_at, ended[i].finished_at);
    }
}

// An older state of the database is put back beside schedulers that go on, and one of them brings it
// to this version: what is in the one table, and what in the other, is the new term's to ask.
TEST_F(MysqlOnceTest, WhereAnExecutionIsIsAskedInEachTerm) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    ASSERT_TRUE(Commit(*store, MakeBatch(*term, 1, {SettingPut{"a", "1"}})));
    const Execution before = MakeOnce();
    database_.Root().Run(fmt::format(
        "INSERT INTO takt_live (serial, id, task_name, type, queue, origin, status) VALUES "
        "({0}, '{1}', 'n', 'mail', 'default', 'once', 'pending');"
        "UPDATE takt_terms SET once_after = {0}, last_serial = {0}, nonce = 0",
        before.serial, before.id.view()));

    const Result<Term> next = Acquire(*store, "node-a");

    ASSERT_TRUE(next);
    const auto found = Find(*store, {before.id});
    ASSERT_TRUE(found.at(0));
    const auto done = Commit(*store, MakeBatch(*next, 1, {FinishLive(Scheduled(*found[0], "w"))}));
    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_EQ(Count("takt_history"), 1);
    EXPECT_EQ(Count("takt_live"), 0);
}

// A scheduler of version 2 made a namespace's tables after the others had got theirs and its term had
// ended; or one of this version died in the middle of it.
TEST_F(MysqlOnceTest, ANamespaceWithSomeOfItsTablesGetsTheRest) {
    const auto store = Open();
    const auto acquire = [&] {
        return TakeLead(*store, {.node = {.node = NodeId("node-a"), .address = "http://node"},
                                 .ttl = kLong,
                                 .partition = 7});
    };
    const auto commit = [&](const Term& term, std::vector<Change> changes) {
        const auto done = Commit(*store, MakeBatch(term, 1, std::move(changes)));
        EXPECT_TRUE(done) << done.error().detail;
    };
    for (const std::string_view missing : {"once_live", "records"}) {
        const Result<Term> first = acquire();
        ASSERT_TRUE(first);
        commit(*first, {SettingPut{"a", "1"}});
        database_.Root().Run(fmt::format("DROP TABLE takt_7_{}", missing));
        const Result<Term> term = acquire();
        ASSERT_TRUE(term);
        const Execution row = make_.OneOff("own-" + std::string(missing));

        commit(*term, {InsertLive(row)});

        using Found = std::vector<std::optional<Execution>>;
        const auto found = Await<Found>(
            [&](Done<Found> done) { store->FindExecutions(7, {row.id}, std::move(done)); });
        ASSERT_TRUE(found) << found.error().detail;
        EXPECT_TRUE(found->at(0)) << missing;
        std::size_t loaded = 0;
        std::string cursor;
        do {
            auto page = Await<LoadPage>(
                [&](Done<LoadPage> done) { store->Load(7, cursor, std::move(done)); });
            ASSERT_TRUE(page) << page.error().detail;
            loaded += page->executions.size();
            cursor = page->next;
        } while (!cursor.empty());
        EXPECT_GT(loaded, 0u) << missing;
    }
}

}  // namespace
}  // namespace takt::internal::mysql
