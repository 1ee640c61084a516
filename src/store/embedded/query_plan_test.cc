// How SQLite answers the lists: by an index from the cursor on, whatever the table holds.
#include <gtest/gtest.h>

#include "store/embedded/schema.h"
#include "store/embedded/temporary_directory.h"
#include "store/sql/execution_query.h"

namespace takt::internal::embedded {
namespace {

// The plan of a query, one line for each step.
std::string Plan(Connection& connection, const sql::Query& query) {
    Statement statement = connection.Prepare("EXPLAIN QUERY PLAN " + query.sql);
    std::string plan;
    while (statement.Step()) plan += std::string(statement.row().Bytes(3)) + "\n";
    return plan;
}

// A history of a hundred million rows: a page of any list must not sort or read them all.
TEST(QueryPlanTest, NoListSortsAndEveryIndexedFilterUsesItsIndex) {
    const TemporaryDirectory directory;
    Connection connection(directory.path() + "/x.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                          "");
    ASSERT_TRUE(Migrate(connection, "x.db", Migrations()));
    // Every combination of the filters, as bits.
    for (int bits = 0; bits < 512; ++bits) {
        ExecutionFilter filter;
        if (bits & 1) filter.task = TaskId("t-1");
        if (bits & 2) filter.statuses = {Status::kFailed, Status::kCancelled, Status::kRunning};
        if (bits & 4) filter.worker = WorkerId("w-1");
        if (bits & 8) filter.type = Text("mail");
        if (bits & 16) filter.before = 1000;
        if (bits & 32) filter.created_from = filter.created_to = Time(Duration(1'800'000'000'000));
        filter.brief = (bits & 64) != 0;
        if (bits & 128) filter.parent = ExecutionId("run");
        filter.children = (bits & 256) != 0;
        for (const sql::Query& query :
             sql::ListQueries(sql::Sqlite(""), filter, sql::ListColumns(filter))) {
            const std::string plan = Plan(connection, query);
            // The row of a one-off task is found by its id: sorting one row is no sorting.
            const bool by_id = query.sql.find(" id = ?") != std::string::npos;
            if (!by_id) EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << query.sql << plan;
            const bool history = query.sql.find("history") != std::string::npos;
            const bool by_index = filter.parent || filter.task || (history && (bits & 6));
            if (filter.parent) EXPECT_NE(plan.find("_parent"), std::string::npos) << plan;
            if (by_index)
                EXPECT_NE(plan.find("USING INDEX"), std::string::npos) << query.sql << plan;
            // One task, one status, and from there on by serial: neither others of the task are read
            // nor others with the status.
            if (history && query.sql.find(" task_id = ?") != std::string::npos) {
                EXPECT_NE(plan.find("_task_status (task_id=? AND status=?"), std::string::npos)
                    << query.sql << plan;
                EXPECT_EQ(plan.find("rowid") != std::string::npos, (bits & 48) != 0) << plan;
            }
            // Else it walks down the primary key from the cursor, if there is one.
            if (!by_index && (bits & 48)) {
                EXPECT_NE(plan.find("USING INTEGER PRIMARY KEY"), std::string::npos)
                    << query.sql << plan;
            }
        }
    }
}

}  // namespace
}  // namespace takt::internal::embedded
