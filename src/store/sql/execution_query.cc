#include "store/sql/execution_query.h"

#include <algorithm>
#include <optional>

#include "store/sql/execution_row.h"

namespace takt::internal::sql {
namespace {

// Puts one SELECT together; conditions and their parameters stay side by side.
class Select {
  public:
    Select(std::string_view columns, const std::string& table, const std::string& hint) {
        query_.sql = "SELECT " + std::string(columns) + " FROM " + table + hint;
    }

    Select& Where(std::string_view condition) {
        query_.sql += where_ ? " AND " : " WHERE ";
        query_.sql += condition;
        where_ = true;
        return *this;
    }

    Select& Where(std::string_view condition, Parameter parameter) {
        query_.parameters.push_back(std::move(parameter));
        return Where(condition);
    }

    // The conditions that no index is chosen by.
    Select& WhereRest(const ExecutionFilter& filter) {
        if (filter.before != 0) Where("serial < ?", static_cast<std::int64_t>(filter.before));
        if (filter.created_from != Time{}) {
            Where("serial >= ?", static_cast<std::int64_t>(SerialAt(filter.created_from)));
        }
        if (filter.created_to != Time{}) {
            Where("serial < ?", static_cast<std::int64_t>(SerialAt(filter.created_to)));
        }
        if (filter.worker) Where("worker = ?", filter.worker->text());
        if (filter.type) Where("type = ?", *filter.type);
        if (filter.queue) Where("queue = ?", *filter.queue);
        return *this;
    }

    Query Newest(std::size_t limit) {
        query_.sql += " ORDER BY serial DESC LIMIT ?";
        query_.parameters.emplace_back(static_cast<std::int64_t>(limit));
        return std::move(query_);
    }

  private:
    Query query_;
    bool where_ = false;
};

std::vector<Status> Those(const std::vector<Status>& statuses, bool terminal) {
    std::vector<Status> those;
    std::ranges::copy_if(statuses, std::back_inserter(those),
                         [&](Status status) { return IsTerminal(status) == terminal; });
    return those;
}

std::vector<Status> TerminalStatuses() {
    std::vector<Status> all;
    for (int i = 0; i < kStatusCount; ++i) all.push_back(static_cast<Status>(i));
    return Those(all, true);
}

void WhereStatus(Select& select, const std::vector<Status>& statuses) {
    if (statuses.empty()) return;
    std::string condition = "status IN (";
    for (std::size_t i = 0; i < statuses.size(); ++i) {
        // Names of our own: they need no parameter.
        condition += (i == 0 ? "'" : ", '") + std::string(Name(statuses[i])) + "'";
    }
    select.Where(condition + ")");
}

}  // namespace

std::string_view ListColumns(const ExecutionFilter& filter) {
    return filter.brief ? std::string_view(BriefExecutionColumns()) : kExecutionColumns;
}

namespace {

// Makes the queries for one table of executions.
class TableQueries {
  public:
    TableQueries(const Dialect& dialect, const ExecutionFilter& filter, std::string_view columns,
                 std::vector<Query>& to)
        : dialect_(dialect), filter_(filter), columns_(columns), to_(to) {}

    // `family`: of children. `history`: of finished ones.
    void Add(bool family, bool history) {
        const std::vector<Status> statuses = Those(filter_.statuses, history);
        if (!filter_.statuses.empty() && statuses.empty()) return;
        if (dialect_.once_live && !family && !history) AddOnce(statuses);
        table_ = std::string(family ? "child_" : "") + (history ? "history" : "live");
        if (filter_.parent) {
            AddQuery("_parent", [&](Select& select) { WhereFamily(select); }, statuses);
        } else if (filter_.task) {
            AddTask(family, history, statuses);
        } else if (history && filter_.worker) {
            AddQuery("_worker", [](Select&) {}, statuses);
        } else if (history && !statuses.empty()) {
            // One query for each: an IN over an index would have to sort all its rows.
            for (const Status status : statuses) AddQuery("_status", [](Select&) {}, {status});
        } else {
            AddQuery("", [](Select&) {}, statuses);
        }
    }

  private:
    // `index` is the end of its name; empty: the primary key.
    template <typename Conditions>
    void AddQuery(std::string_view index, Conditions conditions, const std::vector<Status>& of) {
        const std::string hint =
            dialect_.UseIndex(index.empty() ? std::string() : table_ + std::string(index));
        Finish(hint, conditions, of);
    }
    template <typename Conditions>
    void Finish(const std::string& hint, Conditions conditions, const std::vector<Status>& of) {
        Select select(columns_, dialect_.table_prefix + table_, hint);
        conditions(select);
        WhereStatus(select, of);
        to_.push_back(select.WhereRest(filter_).Newest(filter_.limit));
    }

    // The task of such a row has its id, which is the serial.
    void AddOnce(const std::vector<Status>& statuses) {
        table_ = "once_live";
        if (!filter_.task) return AddQuery("", [](Select&) {}, statuses);
        const std::optional<Serial> serial = ParseSerial(filter_.task->view());
        if (!serial) return;
        AddQuery(
            "",
            [&](Select& select) { select.Where("serial = ?", static_cast<std::int64_t>(*serial)); },
            statuses);
    }

    void AddTask(bool family, bool history, const std::vector<Status>& statuses) {
        const Text& task = filter_.task->text();
        const auto of_task = [&](Select& select) { select.Where("task_id = ?", task); };
        if (history) {
            // One query for each, as above: the index has them apart, so that what is rare in a task
            // that runs often is found as fast.
            for (const Status status : statuses.empty() ? TerminalStatuses() : statuses) {
                AddQuery("_task_status", of_task, {status});
            }
        } else {
            AddQuery("_task", of_task, statuses);
        }
        // The row of a one-off task has its id, and so have the children of its run as their parent.
        const auto implied = [&](std::string_view is_task) {
            return [&task, is_task](Select& select) {
                select.Where(is_task, task).Where("task_id IS NULL");
            };
        };
        if (family) return AddQuery("_parent", implied("parent = ?"), statuses);
        Finish("", implied("id = ?"), statuses);
    }

    void WhereFamily(Select& select) {
        select.Where("parent = ?", filter_.parent->text());
        if (filter_.task) select.Where("COALESCE(task_id, parent) = ?", filter_.task->text());
    }

    const Dialect& dialect_;
    const ExecutionFilter& filter_;
    const std::string_view columns_;
    std::vector<Query>& to_;
    std::string table_;
};

}  // namespace

std::vector<Query> ListQueries(const Dialect& dialect, const ExecutionFilter& filter,
                               std::string_view columns) {
    std::vector<Query> queries;
    TableQueries tables(dialect, filter, columns, queries);
    for (const bool history : {false, true}) {
        if (!filter.parent) tables.Add(false, history);
        if (filter.parent || filter.children) tables.Add(true, history);
    }
    return queries;
}

}  // namespace takt::internal::sql
