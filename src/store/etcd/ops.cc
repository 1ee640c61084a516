#include "store/etcd/ops.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "model/record.h"
#include "store/etcd/limits.h"
#include "store/etcd/pack.h"
#include "store/etcd/page_book.h"
#include "store/etcd/payload.h"

namespace takt::internal::etcd {
namespace {

// Tags and lengths of a write, also as one of an inner transaction.
constexpr std::size_t kOpBytes = 40;

// Collects the changes of one batch; what is packed is written at its end.
class ChangeWriter {
  public:
    ChangeWriter(const Keys& keys, const Batch& batch, TaskPayloads& payloads, PageBook& pages,
                 Ops& ops)
        : keys_(keys),
          partition_(batch.term.partition),
          pack_{batch.term.epoch, batch.sequence},
          payloads_(payloads),
          pages_(pages),
          ops_(ops) {}

    void operator()(const ExecutionChange& change) {
        const Execution& row = change.row;
        const ExecutionKey key = KeyOf(row);
        const Kin kin = KinOf(row);
        if (change.before == Place::kNone) PutLasting(row);
        std::string value = EncodeRow(row);
        if (change.after == Place::kHistory) {
            // Children are packed by their runs, which they outlive by no purge.
            std::vector<std::string>& finished = finished_[row.parent.text().str()];
            finished.push_back(std::exchange(
                value, EncodePointer(row, pack_, static_cast<std::uint32_t>(finished.size()))));
        }
        if (kin == Kin::kOwn && PutInPage(change, key, value)) return;
        const bool live = change.after == Place::kLive;
        // One that could not be read may be part of a run: nobody knows.
        if (row.outcome && row.outcome->reason == Reason::kUndecodable && kin == Kin::kOwn) {
            ops_.Delete(keys_.Live(partition_, Kin::kChild, key));
        }
        if (change.before == Place::kLive && !live) ops_.Delete(keys_.Live(partition_, kin, key));
        if (change.before == Place::kHistory && live) {
            ops_.Delete(keys_.History(partition_, kin, key));
        }
        ops_.Put(live ? keys_.Live(partition_, kin, key) : keys_.History(partition_, kin, key),
                 std::move(value));
        if (kin == Kin::kOwn) pages_.NoteOwn(row.serial, live);
    }
    void operator()(const TaskPut& change) {
        const Task& task = *change.row.task;
        const TaskPayload before = payloads_.Find(task.id);
        std::string key = keys_.Task(partition_, task.id.view());
        if (!KeepsPayloadApart(task)) {
            DeletePayload(task.id, before);
            return ops_.Put(std::move(key), EncodeTaskRow(change.row));
        }
        const bool there = before.at && before.payload == task.payload;
        if (!there) {
            DeletePayload(task.id, before);
            ops_.PutAhead(keys_.TaskPayload(partition_, task.id.view(), pack_), task.payload.str());
            payloads_.Draft(task.id, {pack_, task.payload});
        }
        ops_.Put(std::move(key), EncodeTaskApart(change.row, there ? *before.at : pack_));
    }
    void operator()(const TaskDelete& change) {
        ops_.Delete(keys_.Task(partition_, change.id.view()));
        DeletePayload(change.id, payloads_.Find(change.id));
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
        ops_.Put(keys_.Log(partition_, chunk.execution.view(), chunk.index), EncodeLogChunk(chunk));
    }
    void operator()(const RecordPut& change) {
        std::string key = keys_.Record(partition_, change.kind, change.key);
        if (change.value.empty()) return ops_.Delete(std::move(key));
        ops_.Put(std::move(key), change.value.str());
    }
    void operator()(const AuditAppend& change) {
        ops_.Put(keys_.Audit(partition_, change.row.serial), EncodeAudit(change.row));
    }
    void operator()(const Purge&) {}

    void Finish() {
        for (const auto& [run, rows] : finished_) {
            ops_.PutAhead(PackKey(keys_, partition_, pack_, run), EncodePack(rows));
        }
        if (!events_.empty()) {
            ops_.Put(keys_.Events(partition_, last_event_), EncodePack(events_));
        }
    }

  private:
    static PageSide SideOf(Place place) {
        return place == Place::kLive ? PageSide::kLive : PageSide::kHistory;
    }
    // False: the execution has keys of its own from now on, if it had not before.
    bool PutInPage(const ExecutionChange& change, ExecutionKey key, const std::string& value) {
        const PageSide after = SideOf(change.after);
        if (change.before == Place::kNone) return pages_.Add(key, after, value);
        const PageSide before = SideOf(change.before);
        if (!pages_.Holds(before, key)) return false;
        // One that was re-driven is late: its page would be written for it alone.
        const bool stays = change.before == Place::kLive && pages_.Put(after, key, value);
        if (!stays) pages_.Remove(before, key.serial);
        return stays;
    }
    // The part that stays as it is from the first commit of an execution to its purge.
    void PutLasting(const Execution& row) {
        const ExecutionKey key = KeyOf(row);
        if (key.id != SerialText(row.serial)) {
            ops_.Put(keys_.Id(partition_, key.id), EncodeIdValue({row.serial, KinOf(row)}));
        }
        if (!row.parent.empty()) {
            ops_.Put(keys_.Child(partition_, row.parent.view(), key), ChildMark(row));
        }
        if (!KeepsPayloadApart(row)) return;
        ops_.PutAhead(keys_.Payload(partition_, key), EncodePayload(row));
        if (row.payload.empty()) return;
        ops_.PutAhead(keys_.Override(partition_, key), row.payload.str());
    }
    void DeletePayload(const TaskId& task, const TaskPayload& stored) {
        if (!stored.at) return;
        ops_.Delete(keys_.TaskPayload(partition_, task.view(), *stored.at));
        payloads_.Draft(task, {});
    }

    const Keys& keys_;
    const Partition partition_;
    const PackName pack_;
    TaskPayloads& payloads_;
    PageBook& pages_;
    Ops& ops_;
    std::map<std::string, std::vector<std::string>> finished_;  // By the run, '' for none.
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

// Nothing but the conditions of a commit, and what it reads if they do not hold.
pb::TxnRequest Fenced(const Keys& keys, const Span& span) {
    const std::string sequence = keys.Sequence(span.term.partition);
    pb::TxnRequest txn;
    *txn.add_compare() = TermStands(keys, span.term);
    *txn.add_compare() = ValueIs(sequence, SequenceValue(span.term.epoch, span.first - 1));
    *txn.add_failure() = GetOp(keys.LeaderRow(span.term.partition));
    *txn.add_failure() = GetOp(sequence);
    return txn;
}

}  // namespace

pb::RequestOp& Ops::At(const std::string& key, std::size_t bytes, bool ahead) {
    const auto [place, fresh] = places_.try_emplace(key, entries_.size());
    if (fresh) entries_.emplace_back();
    Entry& entry = entries_[place->second];
    bytes_ += bytes - entry.bytes;
    entry.bytes = bytes;
    entry.ahead = ahead;
    return entry.op;
}

void Ops::Add(Entry entry) {
    bytes_ += entry.bytes;
    entries_.push_back(std::move(entry));
}

void Ops::Put(std::string key, std::string value) {
    pb::PutRequest& put =
        *At(key, key.size() + value.size() + kOpBytes, false).mutable_request_put();
    put.set_key(std::move(key));
    put.set_value(std::move(value));
}

void Ops::PutAhead(std::string key, std::string value) {
    pb::PutRequest& put =
        *At(key, key.size() + value.size() + kOpBytes, true).mutable_request_put();
    put.set_key(std::move(key));
    put.set_value(std::move(value));
}

void Ops::Delete(std::string key) {
    pb::RequestOp& op = At(key, key.size() + kOpBytes, false);
    op.mutable_request_delete_range()->set_key(std::move(key));
}

void Ops::DeleteRange(KeyRange range) {
    Entry entry;
    entry.bytes = range.begin.size() + range.end.size() + kOpBytes;
    pb::DeleteRangeRequest& request = *entry.op.mutable_request_delete_range();
    request.set_key(std::move(range.begin));
    request.set_range_end(std::move(range.end));
    Add(std::move(entry));
}

std::vector<Ops> Ops::TakeAhead() {
    std::vector<Ops> portions;
    Ops rest;
    for (Entry& entry : entries_) {
        if (!entry.ahead) {
            rest.Add(std::move(entry));
            continue;
        }
        if (portions.empty() || portions.back().bytes() + entry.bytes > kRequestBytesMax ||
            portions.back().size() == kOpsFlatMax) {
            portions.emplace_back();
        }
        portions.back().Add(std::move(entry));
    }
    *this = std::move(rest);
    return portions;
}

void Ops::MoveTo(pb::TxnRequest& txn) && {
    TAKT_CHECK(entries_.size() <= kOpsMax);
    if (entries_.size() <= kOpsFlatMax) {
        for (Entry& entry : entries_) *txn.add_success() = std::move(entry.op);
        return;
    }
    for (std::size_t begin = 0; begin < entries_.size(); begin += kOpsNestedMax) {
        pb::TxnRequest& inner = *txn.add_success()->mutable_request_txn();
        const std::size_t end = std::min(entries_.size(), begin + kOpsNestedMax);
        for (std::size_t i = begin; i < end; ++i) *inner.add_success() = std::move(entries_[i].op);
    }
}

void Ops::Append(Ops others) {
    for (Entry& entry : others.entries_) Add(std::move(entry));
}

void MovedExecutions::Add(const Batch& batch) {
    for (const Change& change : batch.changes) {
        const auto* execution = std::get_if<ExecutionChange>(&change);
        if (!execution || KinOf(execution->row) == Kin::kChild) continue;
        const Serial serial = execution->row.serial;
        if (execution->before == Place::kNone)
            born_.insert(serial);
        else if (!born_.contains(serial))
            serials_.push_back(serial);
    }
}

void AddChanges(const Keys& keys, const Batch& batch, TaskPayloads& payloads, PageBook& pages,
                Ops& ops) {
    ChangeWriter writer(keys, batch, payloads, pages, ops);
    for (const Change& change : batch.changes) std::visit(writer, change);
    writer.Finish();
}

pb::TxnRequest MakeRead(const Keys& keys, const Span& span, std::vector<KeyRange> ranges) {
    pb::TxnRequest txn = Fenced(keys, span);
    for (KeyRange& range : ranges) *txn.add_success() = RangeOp(std::move(range), 1);
    return txn;
}

pb::TxnRequest MakeAhead(const Keys& keys, const Span& span, Ops ops) {
    pb::TxnRequest txn = Fenced(keys, span);
    std::move(ops).MoveTo(txn);
    return txn;
}

pb::TxnRequest MakeCommit(const Keys& keys, const Span& span, Ops ops) {
    const Term& term = span.term;
    pb::TxnRequest txn = Fenced(keys, span);
    pb::PutRequest& put = *txn.add_success()->mutable_request_put();
    put.set_key(keys.Sequence(term.partition));
    put.set_value(SequenceValue(term.epoch, span.last));
    *txn.add_success() = RaiseTo(keys.LastSerial(term.partition), span.last_serial);
    std::move(ops).MoveTo(txn);
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

pb::Compare ModifiedAt(std::string key, std::int64_t revision) {
    pb::Compare compare;
    compare.set_target(pb::Compare::MOD);
    compare.set_key(std::move(key));
    compare.set_mod_revision(revision);
    return compare;
}

pb::Compare Exists(std::string key) {
    pb::Compare compare = CreatedAt(std::move(key), 0);
    compare.set_result(pb::Compare::NOT_EQUAL);
    return compare;
}

pb::Compare TermStands(const Keys& keys, const Term& term) {
    return ModifiedAt(keys.LeaderRow(term.partition), static_cast<std::int64_t>(term.nonce));
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
