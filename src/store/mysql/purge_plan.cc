#include "store/mysql/purge_plan.h"

#include <fmt/format.h>
#include <mysqld_error.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

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
    std::int64_t ended_ms = 0;
};

std::vector<Old> ReadOld(Rows rows) {
    std::vector<Old> old;
    while (rows.Next()) old.push_back({rows.Unsigned(0), std::string(rows.Bytes(1)), rows.Int(2)});
    return old;
}

const Purge* PurgeIn(const Batch& batch) {
    for (const Change& change : batch.changes) {
        if (const auto* purge = std::get_if<Purge>(&change)) return purge;
    }
    return nullptr;
}

// Whether any finished execution of the partition has a parent.
bool HasFinishedChildren(Connection& connection, const std::string& prefix) {
    return connection.Query(fmt::format("SELECT 1 FROM {}child_history LIMIT 1", prefix)).Next();
}

// Chooses among the oldest roots and their families.
class Chooser {
  public:
    Chooser(Connection& connection, const std::string& prefix, std::size_t count_max)
        : connection_(connection), prefix_(prefix), left_(count_max) {}

    // Returns when the first that is left ended; nothing if all are planned.
    std::optional<std::int64_t> AddRoots(const std::vector<Old>& roots, bool families,
                                         const std::set<Serial>& kept) {
        const std::set<std::string> runs = families ? Runs(roots) : std::set<std::string>();
        for (const Old& root : roots) {
            if (kept.contains(root.serial)) continue;
            if (runs.contains(root.id)) AddChildren(root.id);
            if (left_ == 0) return root.ended_ms;
            plan_.roots.push_back(root.serial);
            --left_;
        }
        return std::nullopt;
    }

    PurgePlan TakePlan() { return std::move(plan_); }

  private:
    // Children may be runs themselves: theirs go before them.
    void AddChildren(const std::string& run) {
        // No more is planned, so that whatever is above in the family stays.
        if (++families_ > kFamiliesMax) left_ = 0;
        if (left_ == 0) return;
        const std::vector<Old> children = Read(fmt::format(
            "SELECT serial, id, 0 FROM {}child_history FORCE INDEX (child_history_parent) "
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

    std::vector<Old> Read(const std::string& query) { return ReadOld(connection_.Query(query)); }

    Connection& connection_;
    const std::string& prefix_;
    std::size_t left_;
    int families_ = 0;
    PurgePlan plan_;
};

}  // namespace

void PurgePlanner::Begin(Connection& connection, const Term& term) {
    if (term_ == term) return;
    place_ = next_ = Place();
    families_ = HasFinishedChildren(connection, prefix_);
    term_ = term;
}

PurgePlan PurgePlanner::Plan(Connection& connection, const Batch& batch) {
    const Purge* purge = PurgeIn(batch);
    next_ = place_;
    if (!purge) return {};
    try {
        Begin(connection, batch.term);
    } catch (const MysqlError& error) {
        if (error.code() != ER_NO_SUCH_TABLE) throw;
        return {};  // Nothing of the partition is there yet.
    }
    const std::size_t count_max = std::min(purge->count_max, kPurgeMax);
    const std::int64_t before = sql::Ms(purge->finished_before);
    const Serial events_before = SerialAt(purge->events_before);
    const bool roots_due = count_max > 0 && (!place_.due_ms || *place_.due_ms < before);
    const bool events_due = count_max > 0 && place_.events_from < events_before;
    std::string queries;
    if (roots_due) {
        const std::string history =
            fmt::format("FROM {}history FORCE INDEX (history_finished) WHERE ", prefix_);
        const std::string from =
            place_.from_ms ? fmt::format("finished_at_ms >= {} AND ", *place_.from_ms) : "";
        queries = fmt::format(
            "SELECT serial, id, finished_at_ms {0}{1}finished_at_ms < {2} ORDER BY finished_at_ms, "
            "serial LIMIT {3};SELECT finished_at_ms {0}finished_at_ms >= {2} ORDER BY "
            "finished_at_ms, serial LIMIT 1",
            history, from, before, count_max);
    }
    if (events_due) {
        queries += fmt::format(
            "{}SELECT MIN(serial), MAX(serial), COUNT(*) FROM (SELECT serial FROM {}events WHERE "
            "serial >= {} AND serial < {} ORDER BY serial LIMIT {}) AS old",
            queries.empty() ? "" : ";", prefix_, place_.events_from, events_before, count_max);
    }
    if (queries.empty()) return {};
    std::vector<Rows> answers = connection.Run(queries);
    PurgePlan plan;
    if (roots_due) {
        const std::vector<Old> roots = ReadOld(std::move(answers.at(0)));
        std::set<Serial> kept;  // Old ones that the batch takes out of the history.
        bool children = false;
        for (const Change& change : batch.changes) {
            const auto* execution = std::get_if<ExecutionChange>(&change);
            if (!execution) continue;
            if (execution->before == internal::Place::kHistory) kept.insert(execution->row.serial);
            children = children || !execution->row.parent.empty();
        }
        Chooser chooser(connection, prefix_, count_max);
        std::optional<std::int64_t> left = chooser.AddRoots(roots, families_ || children, kept);
        plan = chooser.TakePlan();
        if (!left && roots.size() == count_max) left = roots.back().ended_ms;
        next_.from_ms = left.value_or(before);
        next_.due_ms = left;
        if (!left) {
            Rows& next = answers.at(1);
            next_.due_ms = next.Next() ? next.Int(0) : INT64_MAX;
        }
    }
    if (events_due) {
        Rows& old = answers.back();
        if (old.Next() && old.Unsigned(2) > 0) {
            plan.events_begin = old.Unsigned(0);
            plan.events_end = old.Unsigned(1) + 1;
        }
        next_.events_from = old.Unsigned(2) == count_max ? plan.events_end : events_before;
    }
    return plan;
}

void PurgePlanner::NoteApplied(const Batch& batch) {
    if (term_ != batch.term) return;
    place_ = next_;
    for (const Change& change : batch.changes) {
        if (const auto* event = std::get_if<EventAppend>(&change)) {
            place_.events_from = std::min(place_.events_from, event->row.serial);
        }
        const auto* execution = std::get_if<ExecutionChange>(&change);
        if (!execution || execution->after != internal::Place::kHistory) continue;
        if (!execution->row.parent.empty()) {
            families_ = true;
            continue;
        }
        const std::int64_t ended = sql::Ms(execution->row.finished_at);
        if (place_.from_ms) place_.from_ms = std::min(*place_.from_ms, ended);
        if (place_.due_ms) place_.due_ms = std::min(*place_.due_ms, ended);
    }
    next_ = place_;
}

}  // namespace takt::internal::mysql
