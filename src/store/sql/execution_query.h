// Lists of executions as SQL: which queries together answer a filter.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "store/sql/dialect.h"
#include "store/store.h"

namespace takt::internal::sql {

using Parameter = std::variant<std::int64_t, Text>;

struct Query {
    std::string sql;
    std::vector<Parameter> parameters;
};

// Queries for `columns` whose rows, merged by falling serial and cut to the filter's limit, are the
// answer. Each has its newest row first, reads one index from the cursor on and stops at the limit,
// so a page costs the same however far down the list it is. They must see the same state: run them
// in one transaction.
std::vector<Query> ListQueries(const Dialect& dialect, const ExecutionFilter& filter,
                               std::string_view columns);

// The columns that the filter's rows need: kExecutionColumns or BriefExecutionColumns.
std::string_view ListColumns(const ExecutionFilter& filter);

}  // namespace takt::internal::sql
