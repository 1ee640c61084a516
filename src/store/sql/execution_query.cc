#include "store/sql/execution_query.h"

#include <algorithm>

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

std::vector<Query> ListQueries(const Dialect& dialect, const ExecutionFilter& filter,
                               std::string_view columns) {
    std::vector<Query> queries;
    for (const bool history : {false, true}) {
        const std::vector<Status> statuses = Those(filter.statuses, history);
        if (!filter.statuses.empty() && statuses.empty()) continue;
        const std::string table = history ? "history" : "live";
        const auto add = [&](const std::string& hint, auto&& conditions,
                             const std::vector<Status>& of) {
            Select select(columns, std::string(dialect.table_prefix) + table, hint);
            conditions(select);
            WhereStatus(select, of);
            queries.push_back(select.WhereRest(filter).Newest(filter.limit));
        };
        const auto nothing = [](Select&) {};
        if (filter.task) {
            add(
                dialect.use_index(table + "_task"),
                [&](Select& select) { select.Where("task_id = ?", filter.task->text()); },
                statuses);
            add(
                "",
                [&](Select& select) {
                    select.Where("id = ?", filter.task->text()).Where("task_id IS NULL");
                },
                statuses);
        } else if (history && filter.worker) {
            add(dialect.use_index("history_worker"), nothing, statuses);
        } else if (history && !statuses.empty()) {
            // One query for each: an IN over an index would have to sort all its rows.
            for (const Status status : statuses) {
                add(dialect.use_index("history_status"), nothing, {status});
            }
        } else {
            add(dialect.use_index(""), nothing, statuses);
        }
    }
    return queries;
}

}  // namespace takt::internal::sql
