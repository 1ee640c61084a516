#include "store/mysql/purge_plan.h"

#include <fmt/format.h>
#include <mysqld_error.h>

#include <algorithm>
#include <utility>

#include "store/mysql/values.h"
#include "store/sql/execution_row.h"

namespace takt::internal::mysql {
namespace {

// Runs whose children one purge looks for: each is a query or two, and commits wait meanwhile.
constexpr int kFamiliesMax = 50;
// MariaDB turns an IN list of 1000 into a subquery, whose plan may be a scan.
constexpr std::size_t kParentsMax = 500;

struct Old {
    Serial serial = 0;
    std::string id;
};

class Planner {
  public:
    Planner(Connection& connection, const std::string& prefix, std::size_t count_max)
        : connection_(connection), prefix_(prefix), left_(count_max) {}

    void AddRoots(Time before, const std::set<Serial>& kept) {
        const std::vector<Old> roots =
            Read(fmt::format("SELECT serial, id FROM {}history FORCE INDEX (history_finished) "
                             "WHERE finished_at_ms < {} ORDER BY finished_at_ms, serial LIMIT {}",
                             prefix_, sql::Ms(before), left_));
        const std::set<std::string> runs = Runs(roots);
        for (const Old& root : roots) {
            if (kept.contains(root.serial)) continue;
            if (runs.contains(root.id)) AddChildren(root.id);
            if (left_ == 0) return;
            plan_.roots.push_back(root.serial);
            --left_;
        }
    }

    PurgePlan TakePlan() { return std::move(plan_); }

  private:
    // Children may be runs themselves: theirs go before them.
    void AddChildren(const std::string& run) {
        // No more is planned, so that whatever is above in the family stays.
        if (++families_ > kFamiliesMax) left_ = 0;
        if (left_ == 0) return;
        const std::vector<Old> children = Read(
            fmt::format("SELECT serial, id FROM {}child_history FORCE INDEX (child_history_parent) "
                        "WHERE parent = {} ORDER BY serial LIMIT {}",
                        prefix_, TextLiteral(run), left_));
        const std::set<std::string> runs = Runs(children);
        for (const Old& child : children) {
            if (runs.contains(child.id)) AddChildren(child.id);
            if (left_ == 0) return;
            plan_.children.push_back(child.serial);
            --left_;
        }
    }

    // The ids of the rows that have finished children.
    std::set<std::string> Runs(const std::vector<Old>& rows) {
        std::set<std::string> runs;
        for (std::size_t begin = 0; begin < rows.size(); begin += kParentsMax) {
            std::string list;
            for (std::size_t i = begin; i < std::min(begin + kParentsMax, rows.size()); ++i) {
                if (!list.empty()) list += ',';
                AppendText(list, rows[i].id);
            }
            Rows found = connection_.Query(fmt::format(
                "SELECT DISTINCT parent FROM {}child_history FORCE INDEX (child_history_parent) "
                "WHERE parent IN ({})",
                prefix_, list));
            while (found.Next()) runs.emplace(found.Bytes(0));
        }
        return runs;
    }

    std::vector<Old> Read(const std::string& query) {
        std::vector<Old> old;
        Rows rows = connection_.Query(query);
        while (rows.Next()) old.push_back({rows.Unsigned(0), std::string(rows.Bytes(1))});
        return old;
    }

    Connection& connection_;
    const std::string& prefix_;
    std::size_t left_;
    int families_ = 0;
    PurgePlan plan_;
};

}  // namespace

bool HasFinishedChildren(Connection& connection, const std::string& prefix) {
    try {
        return connection.Query(fmt::format("SELECT 1 FROM {}child_history LIMIT 1", prefix))
            .Next();
    } catch (const MysqlError& error) {
        if (error.code() != ER_NO_SUCH_TABLE) throw;
        return false;  // Nothing of the partition is there yet.
    }
}

PurgePlan PlanPurge(Connection& connection, const std::string& prefix, const Purge& purge,
                    const std::set<Serial>& kept) {
    Planner planner(connection, prefix, std::min(purge.count_max, kPurgeMax));
    planner.AddRoots(purge.finished_before, kept);
    return planner.TakePlan();
}

}  // namespace takt::internal::mysql
