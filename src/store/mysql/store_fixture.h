// Shared by the tests of the MySQL store: stores on a database of their own, and a second client
// that gets in their way.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "store/conformance/suite.h"
#include "store/lead.h"
#include "store/mysql/presence_sql.h"
#include "store/mysql/test_database.h"

namespace takt::internal::mysql {

using conformance::Await;

inline Change InsertLive(const Execution& row) {
    return ExecutionChange{Place::kNone, Place::kLive, row};
}

inline Change FinishLive(const Execution& row) {
    return ExecutionChange{Place::kLive, Place::kHistory, conformance::Finished(row)};
}

class MysqlStoreTest : public testing::Test {
  protected:
    static constexpr Duration kLong{3'600'000};

    std::unique_ptr<Store> Open(const MysqlOptions& options) {
        auto store = OpenMysql(options);
        EXPECT_TRUE(store) << store.error().detail;
        return store ? std::move(*store) : nullptr;
    }
    std::unique_ptr<Store> Open() { return Open(database_.options()); }
    std::unique_ptr<Store> OpenWithTimeout(std::chrono::seconds timeout) {
        MysqlOptions options = database_.options();
        options.timeout = timeout;
        return Open(options);
    }

    static Result<Term> Acquire(Store& store, std::string_view node, Duration ttl = kLong) {
        return TakeLead(
            store, {.node = {.node = NodeId(Text(node)), .address = "http://node"}, .ttl = ttl});
    }
    static Result<void> Announce(Store& store, std::string_view node, Duration ttl = kLong) {
        const NodeRow row{.node = NodeId(Text(node)), .address = "http://node"};
        return Await<void>([&](Done<void> done) { store.Announce(row, ttl, std::move(done)); });
    }
    // Of partition 0, as the store tells it.
    static std::optional<LeaderRow> LastTerm(Store& store) {
        using Rows = std::vector<LeaderRow>;
        const auto rows = Await<Rows>([&](Done<Rows> done) { store.Leaders(std::move(done)); });
        EXPECT_TRUE(rows) << rows.error().detail;
        return rows ? RowOf(*rows, 0) : std::nullopt;
    }
    static bool Leads(Store& store, const Term& term) {
        const auto row = LastTerm(store);
        return row && row->leads() && row->Is(term);
    }
    static BatchPtr MakeBatch(const Term& term, std::uint64_t sequence,
                              std::vector<Change> changes) {
        return std::make_shared<const Batch>(Batch{term, sequence, 0, std::move(changes)});
    }
    static Result<void> Commit(Store& store, BatchPtr batch) {
        return Await<void>([&](Done<void> done) { store.Commit(batch, std::move(done)); });
    }
    static std::future<Result<void>> BeginCommit(Store& store, BatchPtr batch) {
        return BeginAsk<void>(
            [&](Done<void> done) { store.Commit(std::move(batch), std::move(done)); });
    }
    static Result<std::vector<Execution>> List(Store& store, const ExecutionFilter& filter = {}) {
        using Many = std::vector<Execution>;
        return Await<Many>([&](Done<Many> done) { store.ListExecutions(filter, std::move(done)); });
    }

    // A pending execution whose id is the text of its serial, as a generated one is.
    Execution MakeOnce() {
        Execution row = make_.OneOff("replaced");
        boost::intrusive_ptr<Task> task(new Task(*row.task));
        row.id = ExecutionId(Text(SerialText(row.serial)));
        task->id = TaskId(row.id.text());
        row.task = task;
        return row;
    }

    // Commits a live execution as the first batch of the term.
    Execution CommitOneOff(Store& store, const Term& term, const std::string& id) {
        const Execution row = make_.OneOff(id);
        const Result<void> done = Commit(store, MakeBatch(term, 1, {InsertLive(row)}));
        EXPECT_TRUE(done) << done.error().detail;
        return row;
    }
    // Somebody's session with an open transaction that has changed every live row.
    Connection LockLiveRows() {
        Connection other = database_.Root();
        other.Run("START TRANSACTION;UPDATE takt_live SET losses = 7");
        return other;
    }

    // Asks the server until `query` returns a number other than 0, and returns it. The server gives
    // no signal when a session begins to wait, and renews its tables of transactions only for those
    // who have not asked for 100 ms.
    static std::int64_t Until(const std::string& query) {
        Connection root = Root();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (std::chrono::steady_clock::now() < end) {
            Rows rows = root.Query(query);
            if (rows.Next() && rows.Int(0) != 0) return rows.Int(0);
            std::this_thread::sleep_for(std::chrono::milliseconds(120));
        }
        ADD_FAILURE() << "never: " << query;
        return 0;
    }
    // The session that waits for a row lock, as a commit behind another client does.
    static std::int64_t WaitingSession() {
        return Until(
            "SELECT IFNULL(MAX(trx_mysql_thread_id), 0) FROM information_schema.innodb_trx WHERE "
            "trx_state = 'LOCK WAIT' AND trx_mysql_thread_id IN (SELECT id FROM "
            "information_schema.processlist)");  // innodb_trx is a copy that may be 0.1 s old.
    }
    // Calls until it is taken. After a lost connection the store refuses for up to a second by the
    // clock; nothing happens when that is over, it looks when it is asked. So there is no signal to
    // wait for, and the calls are only kept from following each other without a pause.
    template <typename Call>
    static auto WhenBack(Call call) {
        auto result = call();
        for (int i = 0; i < 400 && !result && result.error().code != ErrorCode::kFenced; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            result = call();
        }
        return result;
    }
    // As WhenBack, for calls that may well be refused for another reason.
    template <typename Call>
    static auto WhenConnected(Call call) {
        auto result = call();
        for (int i = 0; i < 400 && !result && result.error().code == ErrorCode::kUnavailable; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            result = call();
        }
        return result;
    }
    static std::string LockHolder(const std::string& database, std::string_view node) {
        const MysqlOptions options{.database = database, .prefix = "takt_"};
        return fmt::format("SELECT IFNULL(IS_USED_LOCK({}), 0)",
                           LockName(options, fmt::format("'{}'", node)));
    }

    TestDatabase database_;
    conformance::RowMaker make_;
};

}  // namespace takt::internal::mysql
