// ListPage: which rows a page of a list of executions holds, and how much of each; the same for
// every backend.
#pragma once

#include <utility>
#include <vector>

#include "base/utf8.h"
#include "store/store.h"

namespace takt::internal {

// The bytes of a row that users can make large.
inline std::size_t ListBytes(const Execution& row) {
    const std::size_t outcome =
        row.outcome ? row.outcome->data.size() + row.outcome->message.size() : 0;
    return row.payload.size() + row.task->payload.size() + row.progress.size() + outcome;
}

// The row as a brief list has it; see ExecutionFilter::brief.
inline Execution Brief(Execution row) {
    row.payload = {};
    row.progress = {};
    if (!row.task->payload.empty()) {
        NewTaskPtr task(new Task(*row.task));
        task->payload = {};
        row.task = std::move(task);
    }
    if (row.status == Status::kSuccess) {
        row.outcome = nullptr;
    } else if (row.outcome) {
        boost::intrusive_ptr<Outcome> outcome(new Outcome);
        outcome->reason = row.outcome->reason;
        outcome->code = row.outcome->code;
        outcome->message = Text(CutUtf8(row.outcome->message, kBriefMessageBytes));
        row.outcome = std::move(outcome);
    }
    return row;
}

// Takes the rows that match the filter, newest first, until it is full.
class ListPage {
  public:
    explicit ListPage(const ExecutionFilter& filter) : brief_(filter.brief), limit_(filter.limit) {}

    bool full() const { return rows_.size() >= limit_ || bytes_ >= kListBytes; }

    // REQUIRES: not full.
    void Add(Execution row) {
        rows_.push_back(brief_ ? Brief(std::move(row)) : std::move(row));
        bytes_ += ListBytes(rows_.back());
    }

    const std::vector<Execution>& rows() const { return rows_; }
    std::vector<Execution> TakeRows() { return std::move(rows_); }

  private:
    const bool brief_;
    const std::size_t limit_;
    std::vector<Execution> rows_;
    std::size_t bytes_ = 0;
};

// The page that rows in the order of a list make.
inline std::vector<Execution> MakeListPage(const ExecutionFilter& filter,
                                           std::vector<Execution> rows) {
    ListPage page(filter);
    for (Execution& row : rows) {
        if (page.full()) break;
        page.Add(std::move(row));
    }
    return page.TakeRows();
}

// Whether there may be rows behind this page, which Store::ListExecutions answered: the caller goes
// on with the serial of the last one as `before`.
inline bool MoreMayFollow(const ExecutionFilter& filter, const std::vector<Execution>& rows) {
    std::size_t bytes = 0;
    for (const Execution& row : rows) bytes += ListBytes(row);
    return rows.size() >= filter.limit || bytes >= kListBytes;
}

}  // namespace takt::internal
