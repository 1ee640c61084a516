#include "store/etcd/dropper.h"

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "store/etcd/leader_value.h"
#include "store/etcd/ops.h"
#include "store/refusals.h"

namespace takt::internal::etcd {
namespace {

// Names of one read: etcd walks the index of the whole range for it.
constexpr std::int64_t kNamesAtOnce = 5000;
// Of one transaction, some 20 ms of etcd's time.
constexpr int kKeysAtOnce = 500;

}  // namespace

Async<Result<void>> Dropper::Drop() {
    pb::TxnRequest get;
    *get.add_success() = GetOp(keys_.Epoch(partition_));
    *get.add_success() = GetOp(keys_.LeaderRow(partition_));
    const auto found = co_await client_.Txn(std::move(get), Effect::kRead);
    if (!found) co_return std::unexpected(found.error());
    const auto& epoch = found->responses(0).response_range().kvs();
    if (!epoch.empty()) epoch_ = epoch[0].value();
    // By the row, as Leaders does: where somebody deleted it there is none to know.
    for (const pb::KeyValue& kv : found->responses(1).response_range().kvs()) {
        const Result<LeaderRow> row = DecodeLeader(kv.value(), kv.mod_revision());
        if (!row) co_return std::unexpected(row.error());
        if (row->epoch > last_ && !TAKT_MUTANT("etcd.drop_late")) co_return LedSince();
    }
    for (KeyRange& range : keys_.Rows(partition_)) {
        const Result<void> dropped = co_await DropRange(std::move(range));
        if (!dropped) co_return dropped;
    }
    co_return {};
}

Async<Result<void>> Dropper::DropRange(KeyRange range) {
    // Ends: nobody leads, so that each turn leaves fewer keys.
    for (;;) {
        pb::RequestOp op = RangeOp(range, kNamesAtOnce);
        op.mutable_request_range()->set_keys_only(true);
        const auto names = co_await client_.Range(std::move(*op.mutable_request_range()));
        if (!names) co_return std::unexpected(names.error());
        for (int begin = 0; begin < names->kvs_size(); begin += kKeysAtOnce) {
            const int last = std::min(begin + kKeysAtOnce, names->kvs_size()) - 1;
            const Result<void> deleted =
                co_await DeleteSome({names->kvs(begin).key(), names->kvs(last).key() + '\0'});
            if (!deleted) co_return deleted;
        }
        if (!names->more()) co_return {};
    }
}

Async<Result<void>> Dropper::DeleteSome(KeyRange range) {
    pb::TxnRequest txn;
    *txn.add_compare() = epoch_.empty() ? CreatedAt(keys_.Epoch(partition_), 0)
                                        : ValueIs(keys_.Epoch(partition_), epoch_);
    pb::DeleteRangeRequest& request = *txn.add_success()->mutable_request_delete_range();
    request.set_key(std::move(range.begin));
    request.set_range_end(std::move(range.end));
    const auto done = co_await client_.Txn(std::move(txn), Effect::kRepeatable);
    if (!done) co_return std::unexpected(done.error());
    if (done->succeeded()) co_return {};
    co_return LedSince();
}

}  // namespace takt::internal::etcd
