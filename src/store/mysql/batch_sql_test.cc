#include "store/mysql/batch_sql.h"

#include <algorithm>

#include "store/mysql/store_fixture.h"

namespace takt::internal::mysql {
namespace {

class BatchSqlTest : public MysqlStoreTest {
  protected:
    static std::size_t CountOf(std::string_view word, const std::string& text) {
        std::size_t count = 0;
        for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++count;
        return count;
    }
};

// A scheduler at rest: one task is submitted, one is assigned, one ends.
TEST_F(BatchSqlTest, ABatchIsOnePacketWithOneStatementForEachKind) {
    std::vector<Change> changes;
    for (int i = 0; i < 3; ++i) {
        const std::string id = std::to_string(i);
        changes.push_back(InsertLive(make_.OneOff("new-" + id)));
        changes.push_back(ExecutionChange{Place::kLive, Place::kLive,
                                          conformance::Scheduled(make_.OneOff("go-" + id), "w")});
        changes.push_back(ExecutionChange{Place::kLive, Place::kHistory,
                                          conformance::Finished(make_.OneOff("end-" + id))});
    }

    const BatchSql sql = MakeBatchSql(*MakeBatch({0, 3, 77}, 5, changes), "p_", 1 << 20);

    ASSERT_EQ(sql.packets.size(), 1u);
    const std::string& packet = sql.packets[0];
    EXPECT_TRUE(packet.starts_with("START TRANSACTION;UPDATE p_terms SET sequence = 5,"));
    EXPECT_NE(packet.find("epoch = 3 AND nonce = 77 AND sequence = 4"), std::string::npos);
    EXPECT_TRUE(packet.ends_with(";COMMIT"));
    EXPECT_EQ(CountOf("INSERT INTO p_live", packet), 1u);
    EXPECT_EQ(CountOf("INSERT INTO p_history", packet), 1u);
    EXPECT_EQ(CountOf("UPDATE p_live", packet), 1u);
    EXPECT_EQ(CountOf("STRAIGHT_JOIN p_live AS gone", packet), 1u);
    // The fence, the update and the deletion are checked.
    EXPECT_EQ(CountOf("ROW_COUNT()=1,", packet), 1u);
    EXPECT_EQ(CountOf("ROW_COUNT()=3,", packet), 2u);
    EXPECT_EQ(sql.commit_statement, 9u);
}

// An execution is run again while the history is cleaned: it must be found there before it could be
// deleted.
TEST_F(BatchSqlTest, APurgeComesLast) {
    const Execution row = conformance::Redriven(make_.OneOff("e-1"));
    const PurgePlan plan{.roots = {1}, .events_begin = 5, .events_end = 9};
    const BatchSql sql =
        MakeBatchSql(*MakeBatch({0, 3, 77}, 5,
                                {Purge{make_.now(), make_.now(), 1'000'000},
                                 ExecutionChange{Place::kHistory, Place::kLive, row}}),
                     "p_", 1 << 20, plan);

    const std::string& packet = sql.packets.at(0);
    constexpr const char* kPurge = "STRAIGHT_JOIN p_history AS old";
    EXPECT_LT(packet.find("INSERT INTO p_live"), packet.find(kPurge));
    EXPECT_EQ(CountOf(kPurge, packet), 1u);
    EXPECT_EQ(CountOf("DELETE FROM p_events WHERE serial >= 5 AND serial < 9", packet), 1u);
}

// Runs have children: which go was decided before, and so many statements as are needed delete them.
TEST_F(BatchSqlTest, APlannedPurgeDeletesWhatThePlanNames) {
    PurgePlan plan{.roots = {1, 2}, .children = {}};
    for (Serial serial = 1000; serial < 1600; ++serial) plan.children.push_back(serial);
    const BatchSql sql = MakeBatchSql(*MakeBatch({7, 3, 77}, 5, {Purge{make_.now(), {}, 1000}}),
                                      "p_", 1 << 20, plan);

    const std::string& packet = sql.packets.at(0);
    EXPECT_EQ(CountOf("STRAIGHT_JOIN p_7_child_history AS gone", packet), 2u);
    EXPECT_EQ(CountOf("STRAIGHT_JOIN p_7_history AS gone", packet), 1u);
    EXPECT_EQ(CountOf("p_7_logs", packet), 3u);
    EXPECT_EQ(CountOf("finished_at_ms <", packet), 0u);
    EXPECT_EQ(CountOf("UPDATE p_terms", packet), 1u) << "the fence is everybody's";
}

// More than a packet takes is sent as several, still one transaction.
TEST_F(BatchSqlTest, ALargeBatchIsCutIntoPacketsThatApplyItWhole) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    std::vector<Execution> rows;
    std::vector<Change> inserts;
    std::vector<Change> moves;
    for (int i = 0; i < 1200; ++i) {
        rows.push_back(make_.OneOff("e-" + std::to_string(i)));
        inserts.push_back(InsertLive(rows.back()));
        const Execution next = conformance::Scheduled(rows.back(), "w-" + std::to_string(i % 7));
        const Place after = i % 2 == 0 ? Place::kLive : Place::kHistory;
        moves.push_back(ExecutionChange{
            Place::kLive, after, after == Place::kLive ? next : conformance::Finished(next)});
    }
    constexpr std::size_t kPacket = 300'000;
    Connection connection(database_.options());
    for (const auto& [sequence, changes] : {std::pair(1, inserts), std::pair(2, moves)}) {
        const BatchSql sql = MakeBatchSql(*MakeBatch(*term, sequence, changes), "takt_", kPacket);

        ASSERT_GT(sql.packets.size(), 1u);
        for (const std::string& packet : sql.packets) {
            EXPECT_LE(packet.size(), kPacket);
            EXPECT_EQ(packet.find("COMMIT") != std::string::npos, &packet == &sql.packets.back());
            connection.Run(packet);
        }
    }

    using Rows = std::vector<std::optional<Execution>>;
    std::vector<ExecutionId> ids;
    for (const Execution& row : rows) ids.push_back(row.id);
    const auto found = Await<Rows>(
        [&](Done<Rows> done) { store->FindExecutions(kDefaultPartition, ids, std::move(done)); });
    ASSERT_TRUE(found) << found.error().detail;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_TRUE(found->at(i));
        EXPECT_EQ(conformance::Show(*found->at(i)),
                  conformance::Show(std::get<ExecutionChange>(moves[i]).row));
    }
}

}  // namespace
}  // namespace takt::internal::mysql
