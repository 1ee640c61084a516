// Purges from a remembered place, and a store of several servers.
#include "store/mysql/purge_plan.h"

#include "store/mysql/session.h"
#include "store/mysql/store_fixture.h"

namespace takt::internal::mysql {
namespace {

class MysqlPurgeTest : public MysqlStoreTest {
  protected:
    void SetUp() override {
        store_ = Open();
        const Result<Term> term = Acquire(*store_, "node-a");
        ASSERT_TRUE(term) << term.error().detail;
        term_ = *term;
    }
    void Put(std::vector<Change> changes) {
        const Result<void> done =
            Commit(*store_, MakeBatch(term_, ++sequence_, std::move(changes)));
        ASSERT_TRUE(done) << done.error().detail;
    }
    Change End(const std::string& id, Time at) {
        Execution row = conformance::Finished(make_.OneOff(id));
        row.finished_at = at;
        return ExecutionChange{Place::kNone, Place::kHistory, row};
    }
    std::string Left() {
        std::string ids;
        for (const Execution& row : *List(*store_)) ids = row.id.text().str() + " " + ids;
        return ids;
    }

    std::unique_ptr<Store> store_;
    Term term_;
    std::uint64_t sequence_ = 0;
};

// Each purge goes on where the last one ended; what ends before that place all the same, after a clock
// was set back, is not forgotten.
TEST_F(MysqlPurgeTest, APurgeGoesOnFromItsPlace) {
    const Time day = make_.now();
    const auto at = [&](int second) { return day + Duration(second * 1000); };
    for (int i = 1; i <= 6; ++i) Put({End("e-" + std::to_string(i), at(i))});
    Put({Purge{at(2), {}, 100}});
    EXPECT_EQ(Left(), "e-2 e-3 e-4 e-5 e-6 ");
    Put({Purge{at(6), {}, 2}});
    EXPECT_EQ(Left(), "e-4 e-5 e-6 ");
    Put({Purge{at(6), {}, 2}, End("early", at(1))});
    EXPECT_EQ(Left(), "e-6 early ");
    Put({Purge{at(6), {}, 2}});
    EXPECT_EQ(Left(), "e-6 ");
    Put({Purge{at(9), {}, 2}});
    EXPECT_EQ(Left(), "");
    Put({End("last", at(10))});
    Put({Purge{at(10), {}, 2}});
    EXPECT_EQ(Left(), "last ");
    Put({Purge{at(11), {}, 2}});
    EXPECT_EQ(Left(), "");
}

// A batch with a purge was applied, and nobody heard of it. Its repetition deletes nothing, so that
// what has to be deleted next is still there.
TEST_F(MysqlPurgeTest, ARepetitionMovesNoPlace) {
    const Time day = make_.now();
    const auto at = [&](int second) { return day + Duration(second * 1000); };
    for (int i = 1; i <= 6; ++i) Put({End("e-" + std::to_string(i), at(i))});
    const std::vector<Change> purge = {Purge{at(6), {}, 2}};
    Put(purge);
    EXPECT_EQ(Left(), "e-3 e-4 e-5 e-6 ");
    --sequence_;
    Put(purge);
    EXPECT_EQ(Left(), "e-3 e-4 e-5 e-6 ");
    Put(purge);
    EXPECT_EQ(Left(), "e-5 e-6 ");
    Put(purge);
    EXPECT_EQ(Left(), "e-6 ");
}

// The first server of the URL is not there, or it was the primary and is a replica now: a connection
// turns to the next.
TEST_F(MysqlStoreTest, OfSeveralServersTheOneThatTakesWritesIsUsed) {
    MysqlOptions options = database_.options();
    options.others = {{"127.0.0.1", options.port}};
    options.port = FreePort();
    const auto store = Open(options);
    ASSERT_TRUE(store);
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term) << term.error().detail;
    CommitOneOff(*store, *term, "e-1");
    EXPECT_EQ(List(*store)->size(), 1u);

    const auto other = MariadbServer::Start();
    ASSERT_TRUE(other) << other.error().detail;
    Connection their_root(
        {.socket = (*other)->socket(), .user = "root", .password = "", .database = "mysql"});
    their_root.Run("CREATE DATABASE " + database_.name());
    MysqlOptions pair = database_.options();
    pair.others = {{"127.0.0.1", (*other)->port()}};
    const auto port_of = [](Connection& connection) {
        Rows rows = connection.Query("SELECT @@port");
        return rows.Next() ? rows.Int(0) : 0;
    };
    Session session(pair, "");
    EXPECT_EQ(port_of(session.Get()), pair.port);
    Session reads(pair, "");
    EXPECT_EQ(port_of(reads.Get()), pair.port);
    Root().Run("SET GLOBAL read_only = 1");
    const auto refused = [&] {
        session.Retry([&](Connection& connection) {
            connection.Run("CREATE TABLE IF NOT EXISTS moved (n INT)");
            return 0;
        });
    };
    EXPECT_NO_THROW(refused());
    EXPECT_EQ(port_of(session.Get()), (*other)->port());
    EXPECT_EQ(port_of(reads.Get()), (*other)->port()) << "one that is open, and only reads, too";
    EXPECT_EQ(port_of(*std::make_unique<Connection>(pair)), (*other)->port()) << "and all others";
    their_root.Run("SET GLOBAL read_only = 1");
    EXPECT_THROW(Connection connection(pair), MysqlError);
    Root().Run("SET GLOBAL read_only = 0");
    EXPECT_EQ(port_of(*std::make_unique<Connection>(pair)), pair.port) << "and back";
}

}  // namespace
}  // namespace takt::internal::mysql
