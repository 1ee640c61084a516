#include "archive/row_writer.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <thread>
#include <utility>

#include "base/failpoint.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

constexpr int kTries = 20;
constexpr std::chrono::seconds kPause{1};

// Calls until it is done or cannot be.
template <typename Call>
Result<void> Patiently(Call call) {
    for (int tried = 1;; ++tried) {
        Result<void> done = call();
        if (done) return done;
        const ErrorCode code = done.error().code;
        const bool again = code == ErrorCode::kUnavailable || code == ErrorCode::kUnknown;
        if (!again || tried == kTries) return done;
        std::this_thread::sleep_for(kPause);
    }
}

constexpr std::string_view kWhole = "whole";

// The part of `source` that the mark says is in, a number of rows or kWhole; nothing if it is of
// another one.
std::optional<std::string_view> RowsIn(std::string_view mark, std::string_view source) {
    const std::size_t space = mark.find(' ');
    if (space == std::string_view::npos || mark.substr(space + 1) != source) return std::nullopt;
    return mark.substr(0, space);
}

struct Found {
    bool rows = false;
    std::optional<std::string> mark;
};

// The state of a partition before it is written to.
Result<Found> Look(Store& store, Partition partition) {
    Found found;
    const auto page =
        AskStore<LoadPage>([&](auto done) { store.Load(partition, "", std::move(done)); });
    if (!page) return std::unexpected(page.error());
    for (const SettingPut& setting : page->settings) {
        if (setting.key == kUnfinishedCopyKey) {
            found.mark = setting.value.str();
        } else {
            found.rows = true;
        }
    }
    found.rows = found.rows || !page->tasks.empty() || !page->workers.empty() ||
                 !page->records.empty() || !page->executions.empty();
    const ExecutionFilter any{.partition = partition, .children = true, .limit = 1, .brief = true};
    const auto history = AskStore<std::vector<Execution>>(
        [&](auto done) { store.ListExecutions(any, std::move(done)); });
    if (!history) return std::unexpected(history.error());
    const auto events = AskStore<std::vector<Event>>(
        [&](auto done) { store.ReadEvents(partition, 0, 1, std::move(done)); });
    if (!events) return std::unexpected(events.error());
    const auto audit = AskStore<std::vector<AuditRow>>(
        [&](auto done) { store.ReadAudit(partition, 0, 1, std::move(done)); });
    if (!audit) return std::unexpected(audit.error());
    found.rows = found.rows || !history->empty() || !events->empty() || !audit->empty();
    return found;
}

Error NotEmpty(const Store& store, bool marked) {
    return {ErrorCode::kConflict,
            store.Describe() + " is not empty" +
                (marked ? ": an unfinished copy of something else is in it" : "") +
                "; give an empty one",
            {}};
}

}  // namespace

RowWriter::RowWriter(Store& store, StoreLock& lock, std::string source)
    : store_(store), lock_(lock), source_(std::move(source)), limits_(store.limits()) {}

Text RowWriter::MarkOf(std::string_view rows) const {
    return Text(std::string(rows) + " " + source_);
}

Result<void> RowWriter::MarkStore() {
    const auto found = Look(store_, kDefaultPartition);
    if (!found) return std::unexpected(found.error());
    if (found->mark) return {};  // Begin says whether it is of this source.
    // A scheduler may have served it before there were marks, or somebody gave the wrong store.
    if (found->rows) return std::unexpected(NotEmpty(store_, false));
    head_ = {.partition = kDefaultPartition};
    return Commit(MarkOf("0"));
}

Result<void> RowWriter::Begin(const PartitionHead& head) {
    head_ = head;
    begun_.push_back(head);
    written_ = 0;
    skip_ = 0;
    whole_ = false;
    day_ = {};
    const auto found = Look(store_, head.partition);
    if (!found) return std::unexpected(found.error());
    if (!found->mark && !found->rows) return {};
    auto rows = found->mark ? RowsIn(*found->mark, source_) : std::nullopt;
    if (!found->mark && head.partition != kDefaultPartition) {
        // The last copy may have ended while it took the marks away, those of `default` last.
        const auto last = Look(store_, kDefaultPartition);
        if (!last) return std::unexpected(last.error());
        if (last->mark && RowsIn(*last->mark, source_) == kWhole) rows = kWhole;
    }
    if (!rows) {
        return std::unexpected(NotEmpty(store_, found->mark.has_value()));
    }
    whole_ = *rows == kWhole;
    std::from_chars(rows->data(), rows->data() + rows->size(), skip_);
    return {};
}

Result<void> RowWriter::Add(Change change) {
    if (whole_ || skip_ > 0) {
        skip_ -= !whole_;
        ++written_;
        ++resumed_;
        return {};
    }
    const std::size_t size = SizeOf(change);
    // One change is the mark's.
    if (!changes_.empty() &&
        (changes_.size() + 2 > limits_.changes_max || bytes_ + size > limits_.bytes_max / 2)) {
        if (auto committed = Commit(MarkOf(std::to_string(written_))); !committed) return committed;
    }
    changes_.push_back(std::move(change));
    bytes_ += size;
    ++written_;
    return {};
}

Result<void> RowWriter::End() {
    return whole_ ? Result<void>() : Commit(MarkOf(kWhole));
}

Result<void> RowWriter::Finish() {
    for (const PartitionHead& head : begun_) {
        head_ = head;
        if (auto committed = Commit({}); !committed) return committed;
    }
    return {};
}

Result<void> RowWriter::BeginDay() {
    const auto first = std::ranges::find_if(changes_, [](const Change& change) {
        const auto* execution = std::get_if<ExecutionChange>(&change);
        return execution && execution->after == Place::kHistory;
    });
    if (first == changes_.end()) return {};
    const Time at = TimeOf(std::get<ExecutionChange>(*first).row.serial);
    if (day_ != Time{} && at + std::chrono::days(1) > day_) return {};
    if (std::exchange(day_, at) == Time{}) return {};
    sequences_[head_.partition] = 0;
    return Patiently([&] { return lock_.LeadAnew(head_); });
}

Result<void> RowWriter::Commit(Text mark) {
    if (auto begun = BeginDay(); !begun) return begun;
    auto batch = std::make_shared<Batch>();
    batch->term = lock_.TermOf(head_.partition);
    batch->sequence = ++sequences_[head_.partition];
    batch->last_serial = head_.last_serial;
    batch->changes = std::exchange(changes_, {});
    batch->changes.push_back(SettingPut{.key = Text(kUnfinishedCopyKey), .value = std::move(mark)});
    bytes_ = 0;
    TAKT_FAIL_POINT("archive.fill.commit");
    auto done = Patiently([&] {
        return AskStore<void>([&](auto answer) { store_.Commit(batch, std::move(answer)); });
    });
    if (!done && done.error().code == ErrorCode::kFenced) return std::unexpected(lock_.Lost());
    return done;
}

}  // namespace takt::internal
