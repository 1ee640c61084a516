#include "store/etcd/snapshot.h"

#include <algorithm>

#include "store/etcd/limits.h"

namespace takt::internal::etcd {
namespace {

// One answer holds so many rows that it is about this large: large enough to be worth a round trip,
// small enough not to hold up others. Rows may differ in size a thousandfold, so that the first
// page of a range is short.
constexpr std::size_t kPageBytes = 2u << 20;
constexpr std::size_t kFirstPageRows = 100;
constexpr std::size_t kPageRowsMin = 4;
constexpr std::size_t kPageRowsMax = 5000;

}  // namespace

Result<void> Snapshot::CheckTime() const {
    if (SteadyClock::now() < deadline_) return {};
    return Fail(ErrorCode::kUnavailable,
                "reading took too long; ask for a shorter range of time or for less");
}

void Snapshot::NoteRevision(std::int64_t revision) {
    if (revision_ != 0) return;
    revision_ = revision;
    client_.NoteRevision(revision);
}

Async<Result<Rows>> Snapshot::Range(KeyRange range, std::size_t rows_max, RowSize size) {
    Rows rows;
    std::size_t page = size == RowSize::kSmall ? kPageRowsMax : kFirstPageRows;
    // Ends: each turn but the last brings rows, of a state that does not change.
    for (;;) {
        if (Result<void> time = CheckTime(); !time) co_return std::unexpected(time.error());
        page = std::min(page, rows_max - rows.kvs.size());
        pb::RangeRequest request;
        request.set_key(range.begin);
        request.set_range_end(range.end);
        request.set_limit(static_cast<std::int64_t>(page));
        request.set_revision(revision_);
        Result<pb::RangeResponse> found = co_await client_.Range(std::move(request));
        if (!found) co_return std::unexpected(std::move(found.error()));
        NoteRevision(found->header().revision());
        const auto count = static_cast<std::size_t>(found->kvs_size());
        const std::size_t bytes = found->ByteSizeLong();
        for (pb::KeyValue& kv : *found->mutable_kvs()) rows.kvs.push_back(std::move(kv));
        rows.more = found->more();
        if (!rows.more || count == 0 || rows.kvs.size() >= rows_max) co_return rows;
        page = std::clamp(kPageBytes / std::max<std::size_t>(bytes / count, 1), kPageRowsMin,
                          kPageRowsMax);
        range.begin = rows.kvs.back().key() + '\0';
    }
}

Async<Result<std::vector<Rows>>> Snapshot::Ranges(std::vector<KeyRange> ranges,
                                                  std::size_t rows_max) {
    std::vector<Rows> all;
    for (std::size_t begin = 0; begin < ranges.size(); begin += kGetsMax) {
        if (Result<void> time = CheckTime(); !time) co_return std::unexpected(time.error());
        const std::size_t end = std::min(ranges.size(), begin + kGetsMax);
        pb::TxnRequest request;
        for (std::size_t i = begin; i < end; ++i) {
            *request.add_success() =
                RangeOp(std::move(ranges[i]), static_cast<std::int64_t>(rows_max), revision_);
        }
        Result<pb::TxnResponse> found = co_await client_.Txn(std::move(request), Effect::kRead);
        if (!found) co_return std::unexpected(std::move(found.error()));
        NoteRevision(found->header().revision());
        for (pb::ResponseOp& response : *found->mutable_responses()) {
            pb::RangeResponse& range = *response.mutable_response_range();
            Rows& rows = all.emplace_back();
            for (pb::KeyValue& kv : *range.mutable_kvs()) rows.kvs.push_back(std::move(kv));
            rows.more = range.more();
        }
    }
    co_return all;
}

Async<Result<std::vector<std::optional<pb::KeyValue>>>> Snapshot::Get(
    std::vector<std::string> keys) {
    std::vector<std::optional<pb::KeyValue>> values;
    for (std::size_t begin = 0; begin < keys.size(); begin += kGetsMax) {
        if (Result<void> time = CheckTime(); !time) co_return std::unexpected(time.error());
        const std::size_t end = std::min(keys.size(), begin + kGetsMax);
        pb::TxnRequest request;
        for (std::size_t i = begin; i < end; ++i) {
            *request.add_success() = GetOp(std::move(keys[i]), revision_);
        }
        Result<pb::TxnResponse> found = co_await client_.Txn(std::move(request), Effect::kRead);
        if (!found) co_return std::unexpected(std::move(found.error()));
        NoteRevision(found->header().revision());
        for (pb::ResponseOp& response : *found->mutable_responses()) {
            auto& kvs = *response.mutable_response_range()->mutable_kvs();
            values.push_back(kvs.empty() ? std::nullopt : std::optional(std::move(kvs[0])));
        }
    }
    co_return values;
}

}  // namespace takt::internal::etcd
