// Lists that are searched: by words in names, ids, errors and parameters, and by metadata, which
// stores have no index for.
//
// The rows that the rest of the filter leaves are looked at from the newest on, so many and so long
// that a call stays short on every store. A search that ends early says how far it came, and its
// cursor goes on from there. Parameters may be large: once so much of them was read, words are looked
// for in the rest of each row only, in the brief form that stores read fast, and the answer says so.
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

// So much of parameters and results is read by one call.
constexpr std::size_t kSearchBytesMax = 32u << 20;

// Whether the rows of a search are read with their parameters.
class SearchBudget {
  public:
    SearchBudget(const SearchWords& words, std::chrono::milliseconds time_max)
        : text_(!words.text.empty()),
          parameters_(!words.parameter_path.empty()),
          until_(SteadyClock::now() + time_max),
          whole_until_(SteadyClock::now() + time_max / 2) {}

    bool brief() const { return !parameters_ && (!text_ || used_up_); }
    // Whether another page may be read: what is asked of parameters is not answered without them.
    bool goes_on() const { return SteadyClock::now() < until_ && !(parameters_ && used_up_); }
    // A page was read.
    void Read(std::size_t bytes) {
        bytes_ += bytes;
        used_up_ = bytes_ >= kSearchBytesMax || SteadyClock::now() >= whole_until_;
    }

  private:
    const bool text_;
    const bool parameters_;
    const Steady until_;
    const Steady whole_until_;
    std::size_t bytes_ = 0;
    bool used_up_ = false;
};

// Executions that fit, newest first, at most query.limit.
struct SearchedPage {
    std::vector<Execution> rows;
    Serial last = 0;    // Of the last row that was looked at, whether it fits or not.
    bool more = false;  // Rows behind it have not been looked at.
    // Of the last row whose parameters were looked at; 0: those of all rows were, or nobody asked.
    Serial parameters_last = 0;
};

// The next page of a searched list, of brief rows. A query without a search gives a plain page.
// REQUIRES: the call outlives the flow.
Flow<Result<SearchedPage>> SearchExecutions(const Call& call, ExecutionQuery query);

// The parameters behind the question mark that QueryExecutions reads, without limit and cursor.
std::vector<RouteQuery> ExecutionFilterParameters();

}  // namespace takt::internal
