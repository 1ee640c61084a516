#include "store/etcd/page_book.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/etcd/limits.h"
#include "store/etcd/snapshot.h"

namespace takt::internal::etcd {
namespace {

// Bytes that the book remembers at most; then it begins anew.
constexpr std::size_t kBookBytes = 16u << 20;
constexpr std::size_t kOwnBytes = 32;  // Of one that has keys of its own.
// A page as it is made: room for what its executions are given while they run.
constexpr std::size_t kNewPageBytes = kPageBytesMax / 2;
constexpr std::size_t kNewPageRowsMax = 64;
constexpr std::size_t kRowBytes = 40;     // Around a value, in memory and in a page.
constexpr std::size_t kWriteBytes = 120;  // Around a value that is written under a key of its own.
// Bytes that a page takes of a request, in two writes.
constexpr std::size_t kPageWritesBytes = kPageBytesMax + 2 * kWriteBytes;

const pb::KeyValue* FirstOf(const pb::RangeResponse& range) {
    return range.kvs().empty() ? nullptr : &range.kvs(0);
}

}  // namespace

void PageBook::Begin(const Term& term) {
    if (term != term_) Forget();
    term_ = term;
    if (bytes_ + own_.size() * kOwnBytes <= kBookBytes) return;
    const std::optional<Serial> frontier = frontier_;
    Forget();
    frontier_ = frontier;
}

void PageBook::Forget() {
    pages_.clear();
    own_.clear();
    touched_.clear();
    frontier_.reset();
    open_.reset();
    bytes_ = touched_bytes_ = puts_ = 0;
}

void PageBook::Keep() {
    for (const Serial first : touched_) {
        const auto page = pages_.find(first);
        if (page == pages_.end()) continue;
        page->second.fresh = false;
        page->second.changed.clear();
        // Only a purge and a re-drive still touch what has ended.
        if (!page->second.live.rows.empty()) continue;
        bytes_ -= page->second.bytes;
        pages_.erase(page);
    }
    touched_.clear();
    touched_bytes_ = puts_ = 0;
}

PageBook::Pages::iterator PageBook::Find(Serial serial) {
    auto page = pages_.upper_bound(serial);
    if (page == pages_.begin()) return pages_.end();
    --page;
    return serial <= page->second.last ? page : pages_.end();
}

PageBook::Pages::const_iterator PageBook::Find(Serial serial) const {
    return const_cast<PageBook*>(this)->Find(serial);
}

std::vector<KeyRange> PageBook::Ask(const std::vector<Serial>& serials) {
    std::vector<KeyRange> ranges;
    asked_.clear();
    asked_frontier_ = !frontier_;
    if (asked_frontier_) {
        for (const PageSide side : {PageSide::kLive, PageSide::kHistory}) {
            ranges.push_back(keys_.Pages(partition_, side, 0, 0));
        }
    }
    for (const Serial serial : serials) {
        if (ranges.size() + 2 > kGetsMax) break;
        if (Knows(serial)) continue;
        asked_.push_back(serial);
        for (const PageSide side : {PageSide::kLive, PageSide::kHistory}) {
            ranges.push_back(PageOf(keys_, partition_, side, serial));
        }
    }
    return ranges;
}

void PageBook::Learn(const pb::TxnResponse& answer) {
    int at = 0;
    const auto next = [&]() -> const pb::RangeResponse& {
        return answer.responses(at++).response_range();
    };
    if (asked_frontier_) {
        Serial frontier = 0;
        for (int i = 0; i < 2; ++i) {
            const pb::KeyValue* kv = FirstOf(next());
            const auto first = kv ? ParsePageKey(kv->key()) : std::nullopt;
            if (!first) continue;
            const Result<PageRows> page = DecodePage(*first, kv->value());
            frontier = std::max(frontier, page ? page->last : *first + kPageSpan);
        }
        frontier_ = frontier;
    }
    for (const Serial serial : asked_) {
        const pb::RangeResponse& live = next();
        const pb::RangeResponse& history = next();
        if (!Knows(serial)) LearnPage(serial, live, history);
    }
}

// The one with the highest first serial; a side that has only an earlier one has nothing of it.
void PageBook::LearnPage(Serial serial, const pb::RangeResponse& live,
                         const pb::RangeResponse& history) {
    const auto first_of = [](const pb::RangeResponse& range) {
        const pb::KeyValue* kv = FirstOf(range);
        return kv ? ParsePageKey(kv->key()) : std::nullopt;
    };
    const std::optional<Serial> first = std::max(first_of(live), first_of(history));
    Page page;
    const auto read = [&](const pb::RangeResponse& range, Side& side) {
        if (first_of(range) != first) return;
        const pb::KeyValue& kv = range.kvs(0);
        side.stored = kv.value().size();
        Result<PageRows> rows = DecodePage(*first, kv.value());
        if (rows) {
            page.last = rows->last;
            side.rows = std::move(rows->rows);
            return;
        }
        if (&side == &page.live) {
            // It is shown as one execution, which the leader ends.
            page.last = std::max(page.last, *first);
            side.rows = {{*first, UnreadablePageId(*first), {}}};
            return;
        }
        side.broken = true;
        Log(LogLevel::kWarning, "store", "a page of executions cannot be read; it stays",
            {{"page", kv.key()}, {"error", rows.error().detail}});
    };
    if (first) {
        read(live, page.live);
        read(history, page.history);
    }
    if (!first || page.last < serial) {
        own_.insert(serial);
        return;
    }
    Recount(page);
    pages_.insert_or_assign(*first, std::move(page));
}

void PageBook::Recount(Page& page) {
    std::size_t bytes = kRowBytes;
    for (const Side* side : {&page.live, &page.history}) {
        for (const PageRow& row : side->rows) bytes += row.id.size() + row.value.size() + kRowBytes;
    }
    bytes_ += bytes - std::exchange(page.bytes, bytes);
}

bool PageBook::Add(ExecutionKey key, PageSide side, const std::string& value) {
    if (value.size() > kPagedValueMax || !frontier_ || key.serial <= *frontier_) return false;
    frontier_ = key.serial;
    auto page = open_ ? pages_.find(*open_) : pages_.end();
    const bool room = page != pages_.end() && key.serial - page->first <= kPageSpan &&
                      page->second.live.rows.size() + page->second.history.rows.size() < capacity_;
    if (!room) {
        open_ = key.serial;
        page = pages_.emplace(key.serial, Page{}).first;
        page->second.fresh = true;
    }
    page->second.last = key.serial;
    return Put(side, key, value);
}

bool PageBook::Holds(PageSide side, ExecutionKey key) const {
    const auto page = Find(key.serial);
    if (page == pages_.end()) return false;
    const PageRow* row = FindRow(page->second.side(side).rows, key.serial);
    return row && row->id == key.id;
}

void PageBook::Touch(Pages::iterator page, Serial serial) {
    if (page->second.changed.empty()) {
        touched_.push_back(page->first);
        touched_bytes_ += page->second.fresh ? 2 * kWriteBytes : kPageWritesBytes;
    }
    page->second.changed.push_back(serial);
}

bool PageBook::Put(PageSide side, ExecutionKey key, std::string value) {
    const auto page = Find(key.serial);
    if (value.size() > kPagedValueMax || page->second.side(side).broken) return false;
    const PageRow* present = FindRow(page->second.side(side).rows, key.serial);
    if (present && present->id != key.id) return false;
    Touch(page, key.serial);
    // It may yet move out, and what is left of the page is written beside it.
    touched_bytes_ += value.size() + key.id.size() + kWriteBytes;
    ++puts_;
    for (const PageSide each : {PageSide::kLive, PageSide::kHistory}) {
        Side& to = page->second.side(each);
        const auto at = std::ranges::lower_bound(to.rows, key.serial, {}, &PageRow::serial);
        const bool there = at != to.rows.end() && at->serial == key.serial && at->id == key.id;
        if (each != side) {
            if (!there) continue;
            to.rows.erase(at);
        } else if (there) {
            at->value = std::move(value);
        } else {
            to.rows.insert(at, {key.serial, std::string(key.id), std::move(value)});
        }
        to.touched = true;
    }
    return true;
}

void PageBook::Remove(PageSide side, Serial serial) {
    const auto page = Find(serial);
    if (page == pages_.end()) return;
    Side& from = page->second.side(side);
    if (!std::erase_if(from.rows, [&](const PageRow& row) { return row.serial == serial; })) return;
    Touch(page, serial);
    from.touched = true;
}

void PageBook::NoteOwn(Serial serial, bool live) {
    if (live)
        own_.insert(serial);
    else
        own_.erase(serial);
}

std::size_t PageBook::BytesWith(const Batch& batch) const {
    std::unordered_set<Serial> others;
    for (const Change& change : batch.changes) {
        const auto* execution = std::get_if<ExecutionChange>(&change);
        if (!execution) continue;
        const auto page = Find(execution->row.serial);
        if (page != pages_.end() && page->second.changed.empty()) others.insert(page->first);
    }
    return touched_bytes_ + others.size() * kPageWritesBytes;
}

void PageBook::Flush(Ops& ops) {
    open_.reset();
    const std::vector<Serial> pages = touched_;  // A page that is split adds another.
    for (const Serial first : pages) FlushPage(pages_.find(first), ops);
}

void PageBook::FlushPage(Pages::iterator at, Ops& ops) {
    const Serial first = at->first;
    Page& page = at->second;
    const auto encode = [&](const Side& side) {
        return side.rows.empty() ? std::string() : EncodePage(first, {page.last, side.rows});
    };
    std::string live = page.live.touched ? encode(page.live) : std::string();
    std::string history = page.history.touched ? encode(page.history) : std::string();
    const std::size_t bytes = (page.live.touched ? live.size() : page.live.stored) +
                              (page.history.touched ? history.size() : page.history.stored);
    const std::size_t rows = page.live.rows.size() + page.history.rows.size();
    if (page.fresh) {
        if (rows >= capacity_ || bytes > kNewPageBytes)
            capacity_ = std::clamp(rows * kNewPageBytes / std::max<std::size_t>(bytes, 1),
                                   std::size_t{1}, kNewPageRowsMax);
        if (bytes > kPageBytesMax && rows > 1) return Split(at, ops);
    } else if (bytes > kPageBytesMax) {
        MoveOut(at, ops);
        live = encode(page.live);
        history = encode(page.history);
    }
    Write(first, PageSide::kLive, page.live, std::move(live), ops);
    Write(first, PageSide::kHistory, page.history, std::move(history), ops);
    Recount(page);
}

void PageBook::Split(Pages::iterator at, Ops& ops) {
    Page& page = at->second;
    std::vector<Serial> serials;
    for (const Side* side : {&page.live, &page.history}) {
        for (const PageRow& row : side->rows) serials.push_back(row.serial);
    }
    std::ranges::sort(serials);
    const Serial middle = serials[serials.size() / 2];
    Page upper;
    upper.last = page.last;
    upper.fresh = true;
    upper.changed = {middle};
    page.last = serials[serials.size() / 2 - 1];
    for (const PageSide side : {PageSide::kLive, PageSide::kHistory}) {
        std::vector<PageRow>& from = page.side(side).rows;
        const auto begin = std::ranges::lower_bound(from, middle, {}, &PageRow::serial);
        upper.side(side).rows.assign(std::make_move_iterator(begin),
                                     std::make_move_iterator(from.end()));
        upper.side(side).touched = !upper.side(side).rows.empty();
        from.erase(begin, from.end());
    }
    touched_.push_back(middle);
    const auto above = pages_.emplace(middle, std::move(upper)).first;
    FlushPage(at, ops);
    FlushPage(above, ops);
}

void PageBook::MoveOut(Pages::iterator at, Ops& ops) {
    Page& page = at->second;
    for (const Serial serial : page.changed) {
        for (const PageSide which : {PageSide::kLive, PageSide::kHistory}) {
            Side& side = page.side(which);
            const auto row = std::ranges::lower_bound(side.rows, serial, {}, &PageRow::serial);
            if (row == side.rows.end() || row->serial != serial) continue;
            const ExecutionKey key{serial, row->id};
            const bool live = which == PageSide::kLive;
            ops.Put(live ? keys_.Live(partition_, Kin::kOwn, key)
                         : keys_.History(partition_, Kin::kOwn, key),
                    std::move(row->value));
            NoteOwn(serial, live);
            side.rows.erase(row);
            side.touched = true;
        }
    }
}

void PageBook::Write(Serial first, PageSide which, Side& side, std::string value, Ops& ops) {
    if (!std::exchange(side.touched, false)) return;
    const bool there = std::exchange(side.stored, value.size()) != 0;
    if (!value.empty())
        ops.Put(keys_.Page(partition_, which, first), std::move(value));
    else if (there)
        ops.Delete(keys_.Page(partition_, which, first));
}

}  // namespace takt::internal::etcd
