// Lists that are searched: by words in names, ids and errors, and by metadata, which stores have no
// index for.
//
// The rows that the rest of the filter leaves are looked at from the newest on, in the brief form
// that stores read fast, so many and so long that a call stays short on every store. A search that
// ends early says how far it came, and its cursor goes on from there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/call_flow.h"
#include "api/query.h"

namespace takt::internal {

// One call looks at so many rows at most: some hundred milliseconds of a store's time.
constexpr std::size_t kSearchRowsMax = 20'000;
// No further page is read after this long, however slow the store is.
constexpr std::chrono::seconds kSearchTimeMax{2};

// Executions that fit, newest first, at most query.limit.
struct SearchedPage {
    std::vector<Execution> rows;
    Serial last = 0;    // Of the last row that was looked at, whether it fits or not.
    bool more = false;  // Rows behind it have not been looked at.
};

// The next page of a searched list. A query without a search gives a plain page. `query` is read in
// the brief form. REQUIRES: the call outlives the flow.
Flow<Result<SearchedPage>> SearchExecutions(const Call& call, ExecutionQuery query);

// The parameters behind the question mark that QueryExecutions reads, without limit and cursor.
std::vector<RouteQuery> ExecutionFilterParameters();

}  // namespace takt::internal
