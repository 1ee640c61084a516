#include "store/etcd/purge_window.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "store/etcd/limits.h"
#include "store/etcd/ops.h"
#include "store/etcd/pack.h"

namespace takt::internal::etcd {
namespace {

// Packs of one read. Most take some ten kilobytes. None was more than a request of 1.5 MiB when it
// was written, so that a read is 24 MiB at the very most.
constexpr std::int64_t kPacksPage = 16;
// How far apart the keys of one read are, in sequences: etcd walks over a whole range whatever its
// limit is. Where nothing is found the next range is twice as long; after the longest, one look is
// taken at all that follows.
constexpr std::uint64_t kPackSpan = 256;
constexpr std::uint64_t kPackSpanMax = 4096;
// Rows that are read ahead: those of two purges.
constexpr std::size_t kAheadMax = 2 * kPurgeMax;
// After a read beside commits that failed.
constexpr Duration kReadAgain{1'000};

// Batches have changed executions since the pack was read: some left the history, some got parts.
// Returns how many left.
std::size_t Refresh(PurgeWindow::Pack& pack, const auto& left, const auto& parents) {
    for (PurgeWindow::Resident& row : pack.residents) {
        if (parents.contains(row.id)) row.has_children = true;
    }
    return std::erase_if(pack.residents,
                         [&](const PurgeWindow::Resident& row) { return left.contains(row.id); });
}

}  // namespace

std::optional<Time> FirstFinished(const Batch& batch) {
    std::optional<Time> first;
    for (const Change& change : batch.changes) {
        const auto* execution = std::get_if<ExecutionChange>(&change);
        if (!execution || execution->after != Place::kHistory) continue;
        if (!execution->row.parent.empty()) continue;
        first = std::min(first.value_or(execution->row.finished_at), execution->row.finished_at);
    }
    return first;
}

// Waits for the page that is read beside. False: there is none, the caller reads it.
struct PurgeWindow::Turn {
    PurgeWindow& window;
    std::optional<Cursor> cursor;

    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> waiter) {
        const std::lock_guard lock(window.mutex_);
        if (!window.reading_) {
            cursor = window.BeginReading();
            return false;
        }
        // Once the lock is released the coroutine may go on, and this object be gone.
        window.waiter_ = waiter;
        return true;
    }
    std::optional<Cursor> await_resume() const { return cursor; }
};

void PurgeWindow::Begin(const Term& term) {
    const std::lock_guard lock(mutex_);
    if (term_ == term) return;
    term_ = term;
    applied_.reset();
    packs_.clear();
    residents_ = 0;
    next_ = kept_ = PackName();
    first_event_ = first_event_kept_ = 0;
    all_read_ = false;
    added_.reset();
    before_ = Time();
    ++generation_;
}

std::optional<std::int64_t> PurgeWindow::RevisionBefore(const Batch& batch) const {
    const std::lock_guard lock(mutex_);
    if (term_ != batch.term || applied_ != batch.sequence - 1) return std::nullopt;
    return revision_;
}

void PurgeWindow::NoteRead(std::uint64_t sequence, std::int64_t revision) {
    const std::lock_guard lock(mutex_);
    applied_ = sequence;
    revision_ = revision;
}

bool PurgeWindow::MoreToRead(Time before) const {
    return !all_read_ || (added_ && added_->second < before);
}

bool PurgeWindow::NothingDue(const Term& term, const Purge& purge) const {
    const std::lock_guard lock(mutex_);
    if (term_ != term) return false;
    if (purge.audit_before > Time{} || SerialAt(purge.events_before) > first_event_) return false;
    if (purge.finished_before <= Time{}) return true;
    if (packs_.empty()) return !reading_ && !MoreToRead(purge.finished_before);
    const Pack& oldest = packs_.front();
    return !oldest.residents.empty() &&
           oldest.residents.front().finished_at >= purge.finished_before;
}

Async<Result<std::optional<PurgeWindow::Pack>>> PurgeWindow::TakeOldest(Time before) {
    // Ends: each turn reads packs, or ends where there are none left.
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            before_ = std::max(before_, before);
            if (!packs_.empty()) {
                Pack pack = std::move(packs_.front());
                packs_.pop_front();
                residents_ -= pack.residents.size();
                co_return pack;
            }
            if (!reading_ && !MoreToRead(before)) co_return std::nullopt;
        }
        if (Result<void> read = co_await Read(); !read) co_return std::unexpected(read.error());
    }
}

void PurgeWindow::PutBack(Pack pack) {
    const std::lock_guard lock(mutex_);
    residents_ += pack.residents.size();
    packs_.push_front(std::move(pack));
}

Serial PurgeWindow::first_event() const {
    const std::lock_guard lock(mutex_);
    return first_event_;
}

void PurgeWindow::set_first_event(Serial serial) {
    const std::lock_guard lock(mutex_);
    first_event_ = std::max(first_event_, serial);
}

void PurgeWindow::NoteApplied(const Batch& batch, std::int64_t revision) {
    std::unordered_set<std::string_view> left, parents;
    Serial event = UINT64_MAX;
    for (const Change& change : batch.changes) {
        if (const auto* append = std::get_if<EventAppend>(&change)) {
            event = std::min(event, append->row.serial);
        }
        const auto* execution = std::get_if<ExecutionChange>(&change);
        if (!execution) continue;
        if (execution->before == Place::kHistory) left.insert(execution->row.id.view());
        if (!execution->row.parent.empty()) parents.insert(execution->row.parent.view());
    }
    const std::lock_guard lock(mutex_);
    applied_ = batch.sequence;
    revision_ = revision;
    const std::optional<Time> finished = FirstFinished(batch);
    if (finished && !added_) added_.emplace(PackName{batch.term.epoch, batch.sequence}, *finished);
    kept_ = packs_.empty() ? next_ : packs_.front().name;
    first_event_kept_ = first_event_ = std::min(first_event_, event);
    if (left.empty() && parents.empty()) return;
    if (reading_) {
        left_.insert(left.begin(), left.end());
        parents_.insert(parents.begin(), parents.end());
    }
    for (Pack& pack : packs_) residents_ -= Refresh(pack, left, parents);
}

void PurgeWindow::Forget() {
    const std::lock_guard lock(mutex_);
    applied_.reset();
    packs_.clear();
    residents_ = 0;
    next_ = kept_;
    first_event_ = first_event_kept_;
    all_read_ = false;
    added_.reset();
    ++generation_;
}

PurgeWindow::Cursor PurgeWindow::BeginReading() {
    reading_ = true;
    left_.clear();
    parents_.clear();
    // All packs before the first that was added since are read.
    if (all_read_ && added_) next_ = added_->first;
    all_read_ = false;
    added_.reset();
    return {next_, PackName{term_.epoch, applied_.value_or(0) + 1}, revision_, generation_};
}

void PurgeWindow::Append(Page page) {
    for (Pack& pack : page.packs) {
        Refresh(pack, left_, parents_);
        residents_ += pack.residents.size();
        packs_.push_back(std::move(pack));
    }
    next_ = page.next;
    all_read_ = page.last;
}

void PurgeWindow::ReadAhead() {
    std::optional<Cursor> cursor;
    {
        const std::lock_guard lock(mutex_);
        const bool enough = residents_ >= kPurgeMax || !MoreToRead(before_);
        if (reading_ || enough || !applied_ || SteadyClock::now() < retry_at_) return;
        cursor = BeginReading();
    }
    ReadBeside(*cursor);
}

Detached PurgeWindow::ReadBeside(Cursor cursor) {
    const Tracker::Hold hold(tracker_);
    // Ends: each turn reads packs, up to those of the batches that come meanwhile.
    for (;;) {
        Result<Page> page = co_await ReadPage(cursor);
        {
            const std::lock_guard lock(mutex_);
            if (page && cursor.generation == generation_ && !page->last && !waiter_) {
                Append(std::move(*page));
                cursor.next = next_;
                if (residents_ < kAheadMax) continue;
                page = Page{{}, next_, false};
            }
        }
        EndReading(cursor, std::move(page));
        co_return;
    }
}

void PurgeWindow::EndReading(const Cursor& cursor, Result<Page> page) {
    std::coroutine_handle<> waiter;
    {
        const std::lock_guard lock(mutex_);
        reading_ = false;
        waiter = std::exchange(waiter_, nullptr);
        if (!page) retry_at_ = SteadyClock::now() + kReadAgain;
        if (page && cursor.generation == generation_) Append(std::move(*page));
    }
    if (waiter) waiter.resume();
}

Async<Result<void>> PurgeWindow::Read() {
    const std::optional<Cursor> cursor = co_await Turn{*this, {}};
    // The other read has brought what it found.
    if (!cursor) co_return {};
    Result<Page> page = co_await ReadPage(*cursor);
    Result<void> done;
    if (!page) done = std::unexpected(page.error());
    EndReading(*cursor, std::move(page));
    co_return done;
}

Async<Result<std::optional<PackName>>> PurgeWindow::FindFirst(KeyRange range,
                                                              std::int64_t revision) {
    pb::RequestOp op = RangeOp(std::move(range), 1, revision);
    op.mutable_request_range()->set_keys_only(true);
    const auto found = co_await client_.Range(std::move(*op.mutable_request_range()));
    if (!found) co_return std::unexpected(found.error());
    if (found->kvs_size() == 0) co_return std::nullopt;
    co_return ParsePackKey(found->kvs(0).key());
}

Async<Result<PurgeWindow::Page>> PurgeWindow::ReadPage(Cursor cursor) {
    PackName next = cursor.next;
    const auto key = [&](PackName name) { return keys_.Pack(partition_, name); };
    std::uint64_t span = next == PackName() ? kPackSpanMax + 1 : kPackSpan;
    // Ends: each turn is behind the one before.
    for (;;) {
        if (next >= cursor.end) co_return Page{{}, cursor.end, true};
        if (span > kPackSpanMax) {
            KeyRange rest{next == PackName() ? keys_.Packs(partition_).begin : key(next),
                          key(cursor.end)};
            const auto first = co_await FindFirst(std::move(rest), cursor.revision);
            if (!first) co_return std::unexpected(first.error());
            if (!*first) co_return Page{{}, cursor.end, true};
            next = **first;
            span = kPackSpan;
        }
        const PackName stop = std::min(PackName{next.epoch, next.sequence + span}, cursor.end);
        pb::RequestOp op = RangeOp({key(next), key(stop)}, kPacksPage, cursor.revision);
        auto found = co_await client_.Range(std::move(*op.mutable_request_range()));
        if (!found) co_return std::unexpected(found.error());
        if (found->kvs_size() == 0) {
            next = stop;
            span *= 2;
            continue;
        }
        std::vector<pb::KeyValue> rows;
        for (pb::KeyValue& kv : *found->mutable_kvs()) rows.push_back(std::move(kv));
        const std::optional<PackName> last = ParsePackKey(rows.back().key());
        next = found->more() && last ? PackName{last->epoch, last->sequence + 1} : stop;
        auto packs = co_await ReadResidents(std::move(rows), cursor.revision);
        if (!packs) co_return std::unexpected(packs.error());
        co_return Page{std::move(*packs), next, next >= cursor.end};
    }
}

}  // namespace takt::internal::etcd
