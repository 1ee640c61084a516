#include "store/etcd/loader.h"

#include <algorithm>

#include "store/etcd/pack.h"
#include "store/etcd/payload.h"
#include "store/etcd/row_reader.h"

namespace takt::etcd {
namespace {

std::optional<std::vector<Serial>> ParseBounds(std::string_view text) {
    std::vector<Serial> bounds;
    for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(text.size(), 17))) {
        const std::optional<Serial> bound = ParseHex(text.substr(0, 16));
        if (!bound) return std::nullopt;
        bounds.push_back(*bound);
    }
    if (bounds.empty()) return std::nullopt;
    return bounds;
}

}  // namespace

Async<Result<LoadPage>> Loader::Load(std::string cursor) {
    LoadPage page;
    const auto last = co_await snapshot_.Get({keys_.LastSerial(partition_)});
    if (!last) co_return std::unexpected(last.error());
    if (last->at(0)) page.last_serial = ParseHex(last->at(0)->value()).value_or(0);

    if (cursor.starts_with('e')) {
        const auto bounds = ParseBounds(std::string_view(cursor).substr(1));
        if (!bounds) co_return Fail(ErrorCode::kInvalid, "not a cursor of Load", "cursor");
        const Result<void> added = co_await AddExecutions(*bounds, page);
        if (!added) co_return std::unexpected(added.error());
        co_return page;
    }
    if (!cursor.empty() && !cursor.starts_with('t')) {
        co_return Fail(ErrorCode::kInvalid, "not a cursor of Load", "cursor");
    }
    if (cursor.empty()) {
        const Result<void> added = co_await AddBeginning(page);
        if (!added) co_return std::unexpected(added.error());
    }
    const Result<bool> all = co_await AddTasks(cursor.empty() ? "" : cursor.substr(1), page);
    if (!all) co_return std::unexpected(all.error());
    if (*all) {
        const Result<void> added = co_await AddFirstExecutions(page);
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
    for (const pb::KeyValue& kv : rows->kvs) {
        Result<TaskRow> row = DecodeTask(kv);
        if (!row) co_return std::unexpected(row.error());
        page.tasks.push_back(std::move(*row));
    }
    if (rows->more) page.next = "t" + std::string(LastPart(rows->kvs.back().key()));
    co_return !rows->more;
}

Async<Result<void>> Loader::AddFirstExecutions(LoadPage& page) {
    const KeyRange all = keys_.LiveRange(partition_, 0, 0);
    const Result<Rows> rows = co_await snapshot_.Range(all, page_rows_);
    if (!rows) co_return std::unexpected(rows.error());
    if (!rows->more) {
        co_return co_await AddRows(*rows, page);
    }
    const Result<Rows> names = co_await snapshot_.Names(all);
    if (!names) co_return std::unexpected(names.error());
    std::vector<Serial> bounds;
    for (std::size_t i = 0; i < names->kvs.size(); i += page_rows_) {
        const auto key = ParseExecutionKey(names->kvs[names->kvs.size() - 1 - i].key());
        if (key) bounds.push_back(key->serial);
    }
    co_return co_await AddExecutions(std::move(bounds), page);
}

Async<Result<void>> Loader::AddRows(const Rows& rows, LoadPage& page) {
    std::vector<std::size_t> incomplete;
    for (auto kv = rows.kvs.rbegin(); kv != rows.kvs.rend(); ++kv) {
        const std::optional<ExecutionKey> key = ParseExecutionKey(kv->key());
        if (!key) continue;  // Not a key of ours.
        if (LacksPayload(kv->value())) incomplete.push_back(page.executions.size());
        page.executions.push_back(DecodeOrShow(*key, kv->value()));
    }
    std::vector<Execution*> lacking;
    for (const std::size_t i : incomplete) lacking.push_back(&page.executions[i]);
    return RestorePayloads(snapshot_, keys_, std::move(lacking));
}

Async<Result<void>> Loader::AddExecutions(std::vector<Serial> bounds, LoadPage& page) {
    const Result<Rows> rows = co_await snapshot_.Range(
        keys_.LiveRange(partition_, bounds[0], bounds.size() > 1 ? bounds[1] : 0), kAllRows);
    if (!rows) co_return std::unexpected(rows.error());
    const Result<void> added = co_await AddRows(*rows, page);
    if (!added) co_return std::unexpected(added.error());
    for (std::size_t i = 1; i < bounds.size(); ++i) {
        page.next += (i == 1 ? "e" : ",") + Hex(bounds[i]);
    }
    co_return {};
}

}  // namespace takt::etcd
