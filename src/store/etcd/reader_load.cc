#include "store/etcd/reader_load.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "store/etcd/pack.h"
#include "store/etcd/page.h"
#include "store/etcd/payload.h"
#include "store/etcd/reader_rows.h"
#include "store/list_page.h"

namespace takt::internal::etcd {
namespace {

// Rows that are completed at once, with up to two payloads of a megabyte each.
constexpr std::size_t kLoadPortionRows = 32;
// Records of one read, of 64 KiB each at most.
constexpr std::size_t kRecordPortionRows = 100;

}  // namespace

std::string Loader::CursorOf(const Window& window) {
    return "e" + Hex(window.from) + "," + Hex(window.width);
}

std::optional<Loader::Window> Loader::ParseCursor(std::string_view cursor) {
    if (cursor.size() != 34) return std::nullopt;
    const std::optional<Serial> from = ParseHex(cursor.substr(1, 16));
    const std::optional<Serial> width = ParseHex(cursor.substr(18));
    if (!from || !width || *width == 0) return std::nullopt;
    return Window{*from, *width};
}

Async<Result<LoadPage>> Loader::Load(std::string cursor) {
    LoadPage page;
    const auto last = co_await snapshot_.Get({keys_.LastSerial(partition_)});
    if (!last) co_return std::unexpected(last.error());
    if (last->at(0)) page.last_serial = ParseHex(last->at(0)->value()).value_or(0);

    if (cursor.starts_with('e')) {
        const std::optional<Window> window = ParseCursor(cursor);
        if (!window) co_return Fail(ErrorCode::kInvalid, "not a cursor of Load", "cursor");
        const Result<void> added = co_await AddExecutions(*window, page);
        if (!added) co_return std::unexpected(added.error());
        co_return page;
    }
    if (!cursor.empty() && !cursor.starts_with('t') && !cursor.starts_with('r')) {
        co_return Fail(ErrorCode::kInvalid, "not a cursor of Load", "cursor");
    }
    if (cursor.empty()) {
        const Result<void> added = co_await AddBeginning(page);
        if (!added) co_return std::unexpected(added.error());
    }
    const std::string after = cursor.empty() ? "" : cursor.substr(1);
    if (!cursor.starts_with('r')) {
        const Result<bool> all = co_await AddTasks(after, page);
        if (!all) co_return std::unexpected(all.error());
        if (!*all) co_return page;
    }
    const Result<bool> all = co_await AddRecords(cursor.starts_with('r') ? after : "", page);
    if (!all) co_return std::unexpected(all.error());
    if (*all) {
        const Result<void> added = co_await AddExecutions({}, page);
        if (!added) co_return std::unexpected(added.error());
    }
    co_return page;
}

Async<Result<void>> Loader::AddBeginning(LoadPage& page) {
    const std::string settings_prefix = keys_.Setting(partition_, "");
    const Result<Rows> settings = co_await snapshot_.Range(WithPrefix(settings_prefix), kAllRows);
    if (!settings) co_return std::unexpected(settings.error());
    for (const pb::KeyValue& kv : settings->kvs) {
        page.settings.push_back({kv.key().substr(settings_prefix.size()), kv.value()});
    }
    const Result<Rows> workers = co_await snapshot_.Range(keys_.Workers(partition_), kAllRows);
    if (!workers) co_return std::unexpected(workers.error());
    for (const pb::KeyValue& kv : workers->kvs) page.workers.push_back(DecodeWorkerOrShow(kv));
    co_return {};
}

Async<Result<bool>> Loader::AddTasks(std::string after, LoadPage& page) {
    KeyRange range = keys_.Tasks(partition_);
    if (!after.empty()) range.begin = keys_.Task(partition_, after) + '\0';
    const Result<Rows> rows = co_await snapshot_.Range(std::move(range), page_rows_);
    if (!rows) co_return std::unexpected(rows.error());
    std::vector<StoredTask> tasks;
    for (const pb::KeyValue& kv : rows->kvs) {
        auto task = DecodeTaskOrTell(kv);
        if (task) tasks.push_back(std::move(*task));
    }
    Result<std::vector<TaskRow>> complete =
        co_await CompleteTasks(snapshot_, keys_, partition_, std::move(tasks));
    if (!complete) co_return std::unexpected(std::move(complete.error()));
    page.tasks = std::move(*complete);
    if (rows->more) page.next = "t" + std::string(LastPart(rows->kvs.back().key()));
    co_return !rows->more;
}

Async<Result<bool>> Loader::AddRecords(std::string after, LoadPage& page) {
    const KeyRange all = keys_.Records(partition_);
    KeyRange rest = all;
    if (!after.empty()) rest.begin += after + '\0';
    // Ends: each turn but the last brings rows, of a state that does not change.
    for (std::size_t bytes = 0; bytes < kListBytes && page.records.size() < page_rows_;) {
        const std::size_t room = page_rows_ - page.records.size();
        const Result<Rows> rows =
            co_await snapshot_.Range(rest, std::min(room, kRecordPortionRows));
        if (!rows) co_return std::unexpected(rows.error());
        for (const pb::KeyValue& kv : rows->kvs) {
            const auto name =
                Keys::ParseRecord(std::string_view(kv.key()).substr(all.begin.size()));
            if (!name) continue;  // Not a key of ours.
            page.records.push_back({name->first, Text(name->second), kv.value()});
            bytes += kv.value().size();
        }
        if (!rows->more) co_return true;
        after = rows->kvs.back().key().substr(all.begin.size());
        rest.begin = all.begin + after + '\0';
    }
    page.next = "r" + after;
    co_return false;
}

Async<Result<std::optional<Serial>>> Loader::AddRows(const LiveRows& rows, LoadPage& page) {
    for (auto next = rows.rows.begin(); next != rows.rows.end();) {
        const std::size_t begin = page.executions.size();
        std::vector<std::size_t> incomplete;
        for (std::size_t i = 0; i < kLoadPortionRows && next != rows.rows.end(); ++i, ++next) {
            const ExecutionKey key{next->serial, next->id};
            if (!next->value) {
                page.executions.push_back(ShowUndecodable(key, next->value.error()));
                continue;
            }
            if (LacksPayload(*next->value)) incomplete.push_back(page.executions.size());
            page.executions.push_back(DecodeOrShow(key, *next->value));
        }
        std::vector<Execution*> lacking;
        for (const std::size_t i : incomplete) lacking.push_back(&page.executions[i]);
        const Result<void> restored =
            co_await RestorePayloads(snapshot_, keys_, partition_, std::move(lacking));
        if (!restored) co_return std::unexpected(restored.error());
        for (std::size_t i = begin; i < page.executions.size(); ++i) {
            bytes_ += ListBytes(page.executions[i]);
        }
        if (bytes_ >= kListBytes && next != rows.rows.end()) co_return next->serial;
    }
    co_return std::nullopt;
}

Async<Result<bool>> Loader::AddPaged(Serial from, Serial below, std::size_t pages_max,
                                     LiveRows& rows) {
    const Result<Rows> pages =
        co_await snapshot_.Range(keys_.Pages(partition_, PageSide::kLive, from, below), pages_max);
    if (!pages) co_return std::unexpected(pages.error());
    std::vector<pb::KeyValue> values = pages->kvs;
    if (from > 0) {
        // One may begin before the window and end in it.
        Result<std::vector<Rows>> before =
            co_await snapshot_.Ranges({PageOf(keys_, partition_, PageSide::kLive, from - 1)}, 1);
        if (!before) co_return std::unexpected(before.error());
        std::ranges::move(before->front().kvs, std::back_inserter(values));
    }
    for (const pb::KeyValue& kv : values) {
        const std::optional<Serial> first = ParsePageKey(kv.key());
        if (!first) continue;  // Not a key of ours.
        Result<PageRows> page = DecodePage(*first, kv.value());
        if (!page) {
            if (*first < from) continue;
            rows.rows.push_back({*first, UnreadablePageId(*first), std::unexpected(page.error())});
            continue;
        }
        for (PageRow& row : page->rows) {
            if (row.serial < from || (below != 0 && row.serial >= below)) continue;
            rows.rows.push_back({row.serial, std::move(row.id), std::move(row.value)});
        }
    }
    co_return !pages->more;
}

Async<Result<Loader::LiveRows>> Loader::ReadWindow(Serial from, Serial below,
                                                   std::size_t rows_max) {
    LiveRows rows;
    for (const Kin kin : {Kin::kOwn, Kin::kChild}) {
        Result<Rows> found =
            co_await snapshot_.Range(keys_.LiveRange(partition_, kin, from, below), rows_max);
        if (!found) co_return std::unexpected(found.error());
        for (pb::KeyValue& kv : found->kvs) {
            const std::optional<ExecutionKey> key = ParseExecutionKey(kv.key());
            if (!key) continue;  // Not a key of ours.
            rows.rows.push_back(
                {key->serial, std::string(key->id), std::move(*kv.mutable_value())});
        }
        rows.more |= found->more;
    }
    if (!rows.more) {
        const Result<bool> all = co_await AddPaged(from, below, rows_max, rows);
        if (!all) co_return std::unexpected(all.error());
        rows.more = !*all || rows.rows.size() > rows_max;
    }
    std::ranges::sort(rows.rows, {}, &LiveRow::serial);
    co_return rows;
}

Async<Result<void>> Loader::AddExecutions(Window window, LoadPage& page) {
    Serial last = page.last_serial;
    // Ends: each turn either narrows the window, down to one row, or moves it up.
    for (;;) {
        if (page.executions.size() >= page_rows_ || bytes_ >= kListBytes) {
            page.next = CursorOf(window);
            co_return {};
        }
        // Not for one alone: half of it is what tells that a window may grow, and what is shown of
        // a page that cannot be read has a serial that another row may have too.
        const std::size_t room = std::max(page_rows_ - page.executions.size(), std::size_t{2});
        const bool open = window.from > last || last - window.from < window.width;
        const Serial below = open ? 0 : window.from + window.width;
        const Result<LiveRows> rows = co_await ReadWindow(window.from, below, room);
        if (!rows) co_return std::unexpected(rows.error());
        if (rows->more) {
            // These are the newest of the window, and the oldest come first.
            if (open && !rows->rows.empty()) last = std::max(last, rows->rows.back().serial);
            window.width = std::max((open ? last - window.from : window.width) / 8, Serial{1});
            continue;
        }
        const Result<std::optional<Serial>> left = co_await AddRows(*rows, page);
        if (!left) co_return std::unexpected(left.error());
        if (*left) {
            window.from = **left;
            page.next = CursorOf(window);
            co_return {};
        }
        if (open) co_return {};
        window.from = below;
        // Twice as many next time would be a full page.
        if (rows->rows.size() < room / 2)
            window.width = std::min(window.width, Serial{1} << 60) * 2;
    }
}

}  // namespace takt::internal::etcd
