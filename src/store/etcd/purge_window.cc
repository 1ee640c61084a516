#include "store/etcd/purge_window.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/failpoint.h"
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

// Waits for the page that is read beside. If there is none, the caller reads the next one at the
// cursor; without a cursor all has come meanwhile.
struct PurgeWindow::Turn {
    PurgeWindow& window;
    std::optional<Cursor> cursor;

    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> waiter) {
        const std::lock_guard lock(window.mutex_);
        if (!window.reading_) {
            if (!window.surveyed_ || !window.all_read_) cursor = window.BeginReading();
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
    next_ = PackName();
    all_read_ = true;
    places_.clear();
    surveyed_ = false;
    taken_.clear();
    first_event_ = 0;
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

bool PurgeWindow::FrontIsDue(Time before) const {
    if (packs_.empty()) return false;
    const std::vector<Resident>& residents = packs_.front().residents;
    return residents.empty() || residents.front().finished_at < before;
}

bool PurgeWindow::MoreMayBeDue(Time before) const {
    if (!surveyed_ || FindDue(before) != places_.end()) return true;
    return packs_.empty() && (reading_ || !all_read_);
}

PurgeWindow::Places::const_iterator PurgeWindow::FindDue(Time before) const {
    auto found = places_.end();
    for (auto place = places_.begin(); place != places_.end(); ++place) {
        // Within an epoch packs are in order: those behind the front are due after it.
        const bool behind = place->first == next_.epoch || TAKT_MUTANT("etcd.one_order");
        if (!packs_.empty() && behind) continue;
        if (place->second.due < before) {
            before = place->second.due;
            found = place;
        }
    }
    return found;
}

PurgeWindow::Places::const_iterator PurgeWindow::FindNext() const {
    const auto behind = places_.find(next_.epoch);
    if (behind != places_.end() && behind->second.due < before_) return behind;
    if (!packs_.empty()) return places_.end();
    const auto found = FindDue(Time::max());
    // A pack that this term has just written need not be read before it is due.
    const bool wait = found != places_.end() && found->first == term_.epoch;
    return wait && found->second.due >= before_ ? places_.end() : found;
}

void PurgeWindow::GoTo(Places::const_iterator place) {
    const EpochPlace to = place->second;
    places_.erase(place);
    if (to.next.epoch != next_.epoch) Park();
    next_ = to.next;
    all_read_ = false;
}

void PurgeWindow::Park() {
    if (!packs_.empty()) {
        const Pack& front = packs_.front();
        NotePlace(front.name,
                  front.residents.empty() ? kUnknown : front.residents.front().finished_at);
    } else if (!all_read_) {
        NotePlace(next_, kUnknown);
    }
    packs_.clear();
    residents_ = 0;
    all_read_ = true;
    ++generation_;
}

void PurgeWindow::NotePlace(PackName next, Time due) {
    const auto [place, added] = places_.try_emplace(next.epoch, EpochPlace{next, due});
    if (added) return;
    place->second = {std::min(place->second.next, next), std::min(place->second.due, due)};
}

bool PurgeWindow::NothingDue(const Term& term, const Purge& purge) const {
    const std::lock_guard lock(mutex_);
    if (term_ != term) return false;
    if (purge.audit_before > Time{} || SerialAt(purge.events_before) > first_event_) return false;
    if (purge.finished_before <= Time{}) return true;
    return !FrontIsDue(purge.finished_before) && !MoreMayBeDue(purge.finished_before);
}

Async<Result<std::optional<PurgeWindow::Pack>>> PurgeWindow::TakeOldest(Time before) {
    // Ends: each turn reads packs, or ends where none is due.
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            before_ = std::max(before_, before);
            if (FrontIsDue(before)) {
                Pack pack = std::move(packs_.front());
                packs_.pop_front();
                residents_ -= pack.residents.size();
                taken_.try_emplace(pack.name.epoch, pack.name);
                co_return pack;
            }
            if (!MoreMayBeDue(before)) co_return std::nullopt;
            const bool here = packs_.empty() && (reading_ || !all_read_);
            if (surveyed_ && !here) GoTo(FindDue(before));
        }
        if (Result<void> read = co_await Read(); !read) co_return std::unexpected(read.error());
    }
}

void PurgeWindow::PutBack(Pack pack) {
    const std::lock_guard lock(mutex_);
    if (pack.name.epoch == next_.epoch) {
        residents_ += pack.residents.size();
        packs_.push_front(std::move(pack));
    } else {
        NotePlace(pack.name, pack.residents.front().finished_at);
    }
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
    if (finished) NotePlace({batch.term.epoch, batch.sequence}, *finished);
    taken_.clear();
    first_event_ = std::min(first_event_, event);
    if (left.empty() && parents.empty()) return;
    if (reading_) {
        left_.insert(left.begin(), left.end());
        parents_.insert(parents.begin(), parents.end());
    }
    for (Pack& pack : packs_) residents_ -= Refresh(pack, left, parents);
}

void PurgeWindow::Forget() {
    const std::lock_guard lock(mutex_);
    Park();
    for (const auto& [epoch, first] : taken_) NotePlace(first, kUnknown);
    taken_.clear();
    // A commit that was not answered may have been applied.
    if (surveyed_) NotePlace({term_.epoch, applied_.value_or(0) + 1}, kUnknown);
    applied_.reset();
    first_event_ = 0;
}

PurgeWindow::Cursor PurgeWindow::BeginReading() {
    reading_ = true;
    left_.clear();
    parents_.clear();
    Cursor cursor{.next = next_,
                  .end = {term_.epoch, applied_.value_or(0) + 1},
                  .revision = revision_,
                  .generation = generation_,
                  .survey = !surveyed_};
    if (cursor.survey) return cursor;
    if (next_.epoch != term_.epoch) cursor.end = {next_.epoch, UINT64_MAX};
    places_.erase(next_.epoch);  // Up to here it is read with the others.
    return cursor;
}

void PurgeWindow::Append(Page page) {
    for (const auto& [epoch, place] : page.places) NotePlace(place.next, place.due);
    if (!surveyed_) {
        surveyed_ = true;
        return;
    }
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
        const bool enough = residents_ >= kPurgeMax;
        if (reading_ || enough || !applied_ || SteadyClock::now() < retry_at_) return;
        if (surveyed_ && all_read_) {
            const auto next = FindNext();
            if (next == places_.end()) return;
            GoTo(next);
        }
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
                page = Page{.next = next_};
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
    if (cursor.survey) co_return co_await Survey(cursor);
    PackName next = cursor.next;
    const auto key = [&](PackName name) { return keys_.Pack(partition_, name); };
    std::uint64_t span = kPackSpan;
    // Ends: each turn is behind the one before.
    for (;;) {
        if (next >= cursor.end) co_return Page{.next = cursor.end, .last = true};
        if (span > kPackSpanMax) {
            const auto first = co_await FindFirst({key(next), key(cursor.end)}, cursor.revision);
            if (!first) co_return std::unexpected(first.error());
            if (!*first) co_return Page{.next = cursor.end, .last = true};
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
        co_return Page{.packs = std::move(*packs), .next = next, .last = next >= cursor.end};
    }
}

}  // namespace takt::internal::etcd
