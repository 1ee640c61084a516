#include "store/etcd/ops.h"

#include <algorithm>

#include "base/check.h"
#include "model/record.h"
#include "store/etcd/pack.h"
#include "store/etcd/payload.h"

namespace takt::internal::etcd {
namespace {

// Collects the changes of one batch; what is packed is written at its end.
class Writer {
  public:
    Writer(const Keys& keys, const Batch& batch, Ops& ops)
        : keys_(keys),
          partition_(batch.term.partition),
          pack_{batch.term.epoch, batch.sequence},
          ops_(ops) {}

    void operator()(const ExecutionChange& change) {
        const Execution& row = change.row;
        const std::string_view id = row.id.view();
        if (change.before == Place::kNone && id != SerialText(row.serial)) {
            ops_.Put(keys_.Id(id), Hex(row.serial));
        }
        if (change.before == Place::kNone && KeepsPayloadApart(row)) {
            ops_.Put(keys_.Payload(row.serial, id), EncodePayload(row));
        }
        if (change.after == Place::kLive) {
            if (change.before == Place::kHistory) ops_.Delete(keys_.History(row.serial, id));
            ops_.Put(keys_.Live(row.serial, id), EncodeRow(row));
            return;
        }
        if (change.before == Place::kLive) ops_.Delete(keys_.Live(row.serial, id));
        ops_.Put(keys_.History(row.serial, id),
                 EncodePointer(row, pack_, static_cast<std::uint32_t>(finished_.size())));
        finished_.push_back(EncodeRow(row));
    }
    void operator()(const TaskPut& change) {
        ops_.Put(keys_.Task(partition_, change.row.task->id.view()), EncodeTaskRow(change.row));
    }
    void operator()(const TaskDelete& change) {
        ops_.Delete(keys_.Task(partition_, change.id.view()));
    }
    void operator()(const WorkerPut& change) {
        ops_.Put(keys_.Worker(partition_, change.row.id.view()), EncodeWorker(change.row));
    }
    void operator()(const WorkerDelete& change) {
        ops_.Delete(keys_.Worker(partition_, change.id.view()));
    }
    void operator()(const SettingPut& change) {
        std::string key = keys_.Setting(partition_, change.key.view());
        if (change.value.empty()) return ops_.Delete(std::move(key));
        ops_.Put(std::move(key), change.value.str());
    }
    void operator()(const EventAppend& change) {
        events_.push_back(EncodeEvent(change.row));
        last_event_ = std::max(last_event_, change.row.serial);
    }
    void operator()(const LogAppend& change) {
        const LogChunk& chunk = change.row;
        ops_.Put(keys_.Log(chunk.execution.view(), chunk.index), EncodeLogChunk(chunk));
    }
    void operator()(const Purge&) {}

    void Finish() {
        if (!finished_.empty()) ops_.Put(keys_.Pack(partition_, pack_), EncodePack(finished_));
        if (!events_.empty()) {
            ops_.Put(keys_.Events(partition_, last_event_), EncodePack(events_));
        }
    }

  private:
    const Keys& keys_;
    const Partition partition_;
    const PackName pack_;
    Ops& ops_;
    std::vector<std::string> finished_;
    std::vector<std::string> events_;
    Serial last_event_ = 0;
};

// Raises a number that is kept as Hex. The key exists from the first Acquire on.
pb::RequestOp RaiseTo(const std::string& key, std::uint64_t number) {
    pb::RequestOp op;
    pb::TxnRequest& txn = *op.mutable_request_txn();
    pb::Compare& lower = *txn.add_compare();
    lower = ValueIs(key, Hex(number));
    lower.set_result(pb::Compare::LESS);
    pb::PutRequest& put = *txn.add_success()->mutable_request_put();
    put.set_key(key);
    put.set_value(Hex(number));
    return op;
}

}  // namespace

pb::RequestOp& Ops::At(const std::string& key) {
    const auto [place, fresh] = places_.try_emplace(key, ops_.size());
    if (fresh) ops_.emplace_back();
    return ops_[place->second];
}

void Ops::Put(std::string key, std::string value) {
    pb::PutRequest& put = *At(key).mutable_request_put();
    put.set_key(std::move(key));
    put.set_value(std::move(value));
}

void Ops::Delete(std::string key) {
    At(key).mutable_request_delete_range()->set_key(std::move(key));
}

void Ops::DeleteRange(KeyRange range) {
    pb::DeleteRangeRequest& request = *ops_.emplace_back().mutable_request_delete_range();
    request.set_key(std::move(range.begin));
    request.set_range_end(std::move(range.end));
}

void Ops::MoveTo(pb::TxnRequest& txn) && {
    TAKT_CHECK(ops_.size() <= kOpsMax);
    if (ops_.size() <= kOpsFlatMax) {
        for (pb::RequestOp& op : ops_) *txn.add_success() = std::move(op);
        return;
    }
    for (std::size_t begin = 0; begin < ops_.size(); begin += kOpsNestedMax) {
        pb::TxnRequest& inner = *txn.add_success()->mutable_request_txn();
        const std::size_t end = std::min(ops_.size(), begin + kOpsNestedMax);
        for (std::size_t i = begin; i < end; ++i) *inner.add_success() = std::move(ops_[i]);
    }
}

void AddChanges(const Keys& keys, const Batch& batch, Ops& ops) {
    Writer writer(keys, batch, ops);
    for (const Change& change : batch.changes) std::visit(writer, change);
    writer.Finish();
}

pb::TxnRequest MakeCommit(const Keys& keys, const Span& span, Ops ops) {
    const Term& term = span.term;
    const std::string leader = keys.Leader(term.partition);
    const std::string sequence = keys.Sequence(term.partition);
    pb::TxnRequest txn;
    *txn.add_compare() = CreatedAt(leader, static_cast<std::int64_t>(term.nonce));
    *txn.add_compare() = ValueIs(sequence, SequenceValue(term.epoch, span.first - 1));
    pb::PutRequest& put = *txn.add_success()->mutable_request_put();
    put.set_key(sequence);
    put.set_value(SequenceValue(term.epoch, span.last));
    *txn.add_success() = RaiseTo(keys.LastSerial(term.partition), span.last_serial);
    std::move(ops).MoveTo(txn);
    *txn.add_failure() = GetOp(leader);
    *txn.add_failure() = GetOp(sequence);
    return txn;
}

std::string SequenceValue(std::uint64_t epoch, std::uint64_t sequence) {
    return Hex(epoch) + " " + Hex(sequence);
}

std::optional<PackName> ParseSequenceValue(std::string_view value) {
    if (value.size() != 33) return std::nullopt;
    const auto epoch = ParseHex(value.substr(0, 16));
    const auto sequence = ParseHex(value.substr(17));
    if (!epoch || !sequence) return std::nullopt;
    return PackName{*epoch, *sequence};
}

pb::Compare CreatedAt(std::string key, std::int64_t revision) {
    pb::Compare compare;
    compare.set_target(pb::Compare::CREATE);
    compare.set_key(std::move(key));
    compare.set_create_revision(revision);
    return compare;
}

pb::Compare ValueIs(std::string key, std::string value) {
    pb::Compare compare;
    compare.set_target(pb::Compare::VALUE);
    compare.set_key(std::move(key));
    compare.set_value(std::move(value));
    return compare;
}

pb::RequestOp GetOp(std::string key, std::int64_t revision) {
    pb::RequestOp op;
    op.mutable_request_range()->set_key(std::move(key));
    op.mutable_request_range()->set_revision(revision);
    return op;
}

pb::RequestOp RangeOp(KeyRange range, std::int64_t limit, std::int64_t revision) {
    pb::RequestOp op = GetOp(std::move(range.begin), revision);
    op.mutable_request_range()->set_range_end(std::move(range.end));
    op.mutable_request_range()->set_limit(limit);
    return op;
}

}  // namespace takt::internal::etcd
