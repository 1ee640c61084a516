// How the server answers the lists: by an index from the cursor on, whatever the table holds.
#include <sstream>

#include "store/mysql/batch_sql.h"
#include "store/mysql/reader.h"
#include "store/mysql/store_fixture.h"

namespace takt::internal::mysql {
namespace {

class MysqlQueryPlanTest : public MysqlStoreTest {
  protected:
    // Enough rows of few kinds that the server has a choice.
    void Fill() {
        Connection root = database_.Root();
        for (const char* table : {"takt_live", "takt_once_live", "takt_history", "takt_child_live",
                                  "takt_child_history"}) {
            root.Run(fmt::format(
                "INSERT INTO {0} (serial, id, task_id, task_name, type, queue, origin, status, "
                "worker, finished_at_ms, parent) SELECT seq << 22, CONCAT('e-', seq), IF(seq % 2, "
                "NULL, "
                "CONCAT('t-', seq % 5)), 'n', 'mail', 'default', 'once', ELT(seq % 3 + 1, "
                "'failed', "
                "'success', 'cancelled'), CONCAT('w-', seq % 4), seq, CONCAT('run-', seq % 9) FROM "
                "seq_1_to_3000;"
                "ANALYZE TABLE {0}",
                table));
        }
    }
};

// A history of a hundred million rows: a page of any list must not sort or read them all.
TEST_F(MysqlQueryPlanTest, NoListSortsAndEveryIndexedFilterUsesItsIndex) {
    ASSERT_TRUE(Open());
    Fill();
    Connection connection(database_.options());
    // Every combination of the filters, as bits.
    for (int bits = 0; bits < 512; ++bits) {
        ExecutionFilter filter;
        if (bits & 1) filter.task = TaskId("t-1");
        if (bits & 2) filter.statuses = {Status::kFailed, Status::kCancelled, Status::kRunning};
        if (bits & 4) filter.worker = WorkerId("w-1");
        if (bits & 8) filter.type = Text("mail");
        if (bits & 16) filter.before = Serial{1000} << 22;
        if (bits & 32) filter.created_from = TimeOf(Serial{10} << 22);
        filter.brief = (bits & 64) != 0;
        if (bits & 128) filter.parent = ExecutionId("run-1");
        filter.children = (bits & 256) != 0;
        for (const sql::Query& query :
             sql::ListQueries(sql::Mysql("takt_"), filter, sql::ListColumns(filter))) {
            const std::string text = Render(query);
            Rows plan = connection.Query("EXPLAIN " + text);
            ASSERT_TRUE(plan.Next());
            // The row of a one-off task is found by its id, or is not there.
            if (text.find(" id = ") != std::string::npos) continue;
            EXPECT_EQ(plan.Bytes(9).find("filesort"), std::string_view::npos) << text;
            const bool history = text.find("history") != std::string::npos;
            const bool child = text.find(" FROM takt_child_") != std::string::npos;
            const bool once = text.find(" FROM takt_once_live") != std::string::npos;
            const std::string table =
                std::string(child ? "child_" : "") + (history ? "history" : "live");
            std::string key = "PRIMARY";
            // Children of a one-off task's run are found by their run.
            if (filter.parent || text.find(" parent = ") != std::string::npos)
                key = table + "_parent";
            else if (filter.task)
                key = table + (history ? "_task_status" : "_task");
            else if (history && filter.worker)
                key = table + "_worker";
            else if (history && (bits & 2))
                key = table + "_status";
            if (once) key = "PRIMARY";
            EXPECT_EQ(plan.Bytes(5), key) << text;
            // One task, one status, and from there on by serial.
            if (key.ends_with("_task_status")) {
                const bool range = (bits & 48) != 0;
                EXPECT_EQ(plan.Bytes(3), range ? "range" : "ref") << text;
                if (!range) EXPECT_EQ(plan.Bytes(7), "const,const") << text;
                EXPECT_LT(plan.Int(8), 1000) << text;
            }
            EXPECT_FALSE(plan.Next()) << text;
        }
    }
}

// While a backup reads an old state, a table that looks small to the server holds all that was deleted
// since: no change may look through it.
TEST_F(MysqlQueryPlanTest, NoChangeOfAFewRowsScansATableHoweverSmallItLooks) {
    ASSERT_TRUE(Open());
    std::vector<Change> changes = {Purge{make_.now(), {}, 1000}};
    PurgePlan plan;
    for (int i = 0; i < 40; ++i) {
        const std::string id = std::to_string(i);
        changes.push_back(ExecutionChange{Place::kLive, Place::kLive,
                                          conformance::Scheduled(make_.OneOff("go-" + id), "w")});
        changes.push_back(ExecutionChange{Place::kLive, Place::kHistory,
                                          conformance::Finished(make_.OneOff("end-" + id))});
        changes.push_back(ExecutionChange{Place::kLive, Place::kLive, MakeOnce()});
        Execution ended = conformance::Finished(MakeOnce());
        ended.outcome = {};
        changes.push_back(ExecutionChange{Place::kLive, Place::kHistory, ended});
        plan.roots.push_back(Serial(i + 1) << 22);
        plan.children.push_back(Serial(i + 1) << 22);
    }
    Connection root = database_.Root();
    for (const char* table :
         {"takt_live", "takt_once_live", "takt_history", "takt_child_history"}) {
        root.Run(
            fmt::format("INSERT INTO {0} (serial, id, task_name, type, queue, origin, status) "
                        "SELECT seq << 22, CONCAT('e-', seq), 'n', 'mail', 'default', 'once', "
                        "'failed' FROM seq_1_to_50;ANALYZE TABLE {0}",
                        table));
    }
    const BatchSql sql = MakeBatchSql(*MakeBatch({0, 3, 77}, 5, changes), "takt_", 1 << 20, plan);
    Connection connection(database_.options());
    std::size_t explained = 0;
    std::istringstream statements(sql.packets.at(0));
    for (std::string text; std::getline(statements, text, ';');) {
        const bool copy = text.starts_with("INSERT") && text.find(" SELECT ") != std::string::npos;
        if (!copy && !text.starts_with("UPDATE") && !text.starts_with("DELETE")) continue;
        Rows rows = connection.Query("EXPLAIN " + text);
        while (rows.Next()) {
            if (rows.Bytes(2) == "named") continue;
            EXPECT_FALSE(rows.Bytes(5).empty()) << rows.Bytes(2) << " is scanned by " << text;
            EXPECT_NE(rows.Bytes(3), "index") << text;
            ++explained;
        }
    }
    EXPECT_EQ(explained, 11u) << sql.packets.at(0);
}

}  // namespace
}  // namespace takt::internal::mysql
