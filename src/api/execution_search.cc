#include "api/execution_search.h"

#include <algorithm>
#include <utility>

#include "store/list_page.h"

namespace takt::internal {
namespace {

// A page of a search: what one read of the store costs it at most.
constexpr std::size_t kSearchPageRows = 1000;

struct ReadRows {
    SearchedPage page;
    std::size_t looked_at = 0;
    std::size_t bytes = 0;
};

// Done where the rows come, off the server's thread: a thousand rows have a hundred thousand letters.
ReadRows PickFitting(const ExecutionQuery& query, std::vector<Execution> rows) {
    ReadRows read{.looked_at = rows.size()};
    read.page.more = MoreMayFollow(query, rows);
    if (!rows.empty()) read.page.last = rows.back().serial;
    for (Execution& row : rows) {
        read.bytes += ListBytes(row);
        if (query.words.Fit(row)) read.page.rows.push_back(Brief(std::move(row)));
    }
    return read;
}

auto ReadToSearch(const Call& call, const ExecutionQuery& query) {
    return Answered<Result<ReadRows>>(call, [&](auto done) {
        call.services().rows.ListExecutions(query,
                                            [query, done = std::move(done)](auto rows) mutable {
                                                if (!rows)
                                                    return done(std::unexpected(rows.error()));
                                                done(PickFitting(query, std::move(*rows)));
                                            });
    });
}

// Adds what a page brings to what was found so far, up to `limit`.
void TakePage(SearchedPage page, std::size_t limit, SearchedPage& found) {
    const std::size_t room = limit - found.rows.size();
    found.more = page.more;
    if (page.last != 0) found.last = page.last;
    if (page.rows.size() >= room) {
        // Behind the last one that is shown there may be others of this very page.
        found.more = page.more || page.rows.size() > room || page.rows.back().serial != page.last;
        page.rows.resize(room);
        found.last = page.rows.back().serial;
    }
    std::ranges::move(page.rows, std::back_inserter(found.rows));
}

}  // namespace

Flow<Result<SearchedPage>> SearchExecutions(const Call& call, ExecutionQuery query) {
    const std::size_t limit = query.limit;
    SearchBudget budget(query.words, kSearchTimeMax);
    if (!query.words.empty()) query.limit = kSearchPageRows;
    SearchedPage found;
    std::size_t looked_at = 0;
    do {
        const bool was_brief = std::exchange(query.brief, budget.brief());
        if (looked_at > 0 && query.brief && !was_brief) found.parameters_last = found.last;
        auto read = co_await ReadToSearch(call, query);
        if (!read) co_return std::unexpected(read.error());
        looked_at += read->looked_at;
        budget.Read(read->bytes);
        TakePage(std::move(read->page), limit, found);
        query.before = found.last;
    } while (found.more && found.rows.size() < limit && looked_at < kSearchRowsMax &&
             budget.goes_on());
    co_return found;
}

}  // namespace takt::internal
