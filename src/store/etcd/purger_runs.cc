// What a Purge deletes of runs and of the audit.
#include <algorithm>

#include "store/etcd/limits.h"
#include "store/etcd/pack.h"
#include "store/etcd/purger.h"

namespace takt::internal::etcd {
namespace {

// Children that are looked at together.
constexpr std::int64_t kChildrenAtOnce = 60;

}  // namespace

Async<Result<std::vector<Purger::Child>>> Purger::ReadChildren(std::string run, Serial below) {
    pb::RequestOp op =
        RangeOp(keys_.ChildRange(partition_, run, 0, below), kChildrenAtOnce, revision_);
    const auto rows = co_await client_.Range(std::move(*op.mutable_request_range()));
    if (!rows) co_return std::unexpected(rows.error());
    std::vector<Child> children;
    for (const pb::KeyValue& kv : rows->kvs()) {
        const std::optional<ExecutionKey> key = ParseExecutionKey(kv.key());
        if (!key) continue;  // Not a key of ours.
        children.push_back({.serial = key->serial,
                            .id = std::string(key->id),
                            .payload_apart = HasPayloadApart(kv.value())});
    }
    std::vector<ExecutionKey> keys;
    for (const Child& child : children) keys.push_back({child.serial, child.id});
    const auto families =
        co_await ReadFamilies(client_, keys_, partition_, Kin::kChild, std::move(keys), revision_);
    if (!families) co_return std::unexpected(families.error());
    pb::TxnRequest gets;
    std::vector<Child*> others;
    for (std::size_t i = 0; i < children.size(); ++i) {
        Child& child = children[i];
        child.finished = (*families)[i].pointer.has_value();
        child.has_children = (*families)[i].has_children;
        if (child.finished) continue;
        others.push_back(&child);
        *gets.add_success() =
            GetOp(keys_.Live(partition_, Kin::kChild, {child.serial, child.id}), revision_);
    }
    if (others.empty()) co_return children;
    // One that could not be read has ended as what is part of no run.
    const auto live = co_await client_.Txn(std::move(gets), Effect::kRead);
    if (!live) co_return std::unexpected(live.error());
    for (std::size_t i = 0; i < others.size(); ++i) {
        others[i]->finished = live->responses(static_cast<int>(i)).response_range().kvs().empty();
    }
    co_return children;
}

Async<Result<bool>> Purger::DeleteChildren(std::string run, std::size_t& room) {
    std::vector<std::string> names;  // The keys that say that they are part of the run.
    bool all = true;
    // Ends: each page is below the one before it, of a state that does not change.
    for (Serial below = 0; room > 0 && !full();) {
        Result<std::vector<Child>> children = co_await ReadChildren(run, below);
        if (!children) co_return std::unexpected(children.error());
        if (children->empty()) {
            // The whole run in one: what is part of it, and its packs.
            deferred_ -= names.size();
            if (all) ops_.DeleteRange(keys_.Run(partition_, run));
            if (all) co_return true;
            for (std::string& name : names) ops_.Delete(std::move(name));
            co_return false;
        }
        below = children->back().serial;
        for (const Child& child : *children) {
            bool goes = child.finished && !touched_.contains(child.id);
            if (goes && child.has_children) {
                const Result<bool> gone = co_await DeleteChildren(child.id, room);
                if (!gone) co_return std::unexpected(gone.error());
                goes = *gone;
            }
            // A run ends with its last child; one that is live all the same is not retention's.
            if (!goes || room == 0 || full()) {
                all = false;
                continue;
            }
            --room;
            const ExecutionKey key{child.serial, child.id};
            Delete({.kin = Kin::kChild, .key = key, .payload_apart = child.payload_apart});
            names.push_back(keys_.Child(partition_, run, key));
            ++deferred_;
        }
    }
    deferred_ -= names.size();
    for (std::string& name : names) ops_.Delete(std::move(name));
    co_return false;
}

Async<Result<std::size_t>> Purger::CountAudit(Serial below) {
    pb::RequestOp op = RangeOp(keys_.AuditRange(partition_, 0, below), 0, revision_);
    op.mutable_request_range()->set_count_only(true);
    const auto found = co_await client_.Range(std::move(*op.mutable_request_range()));
    if (!found) co_return std::unexpected(found.error());
    co_return static_cast<std::size_t>(found->count());
}

// Keys are newest first, for those who read the audit, and the oldest of too many go first.
Async<Result<Serial>> Purger::AuditEnd(Serial bound, std::size_t room) {
    Result<std::size_t> old = co_await CountAudit(bound);
    if (!old) co_return std::unexpected(old.error());
    if (*old <= room) co_return bound;
    Serial few = 1, many = bound;
    while (many - few > 1) {
        const Serial middle = few + (many - few) / 2;
        old = co_await CountAudit(middle);
        if (!old) co_return std::unexpected(old.error());
        (*old <= room ? few : many) = middle;
        if (*old == room) break;
    }
    co_return few;
}

Async<Result<void>> Purger::PlanAudit(Purge purge) {
    const std::size_t room = std::min<std::size_t>(purge.count_max, kPurgeMax);
    const Result<Serial> end = co_await AuditEnd(SerialAt(purge.audit_before), room);
    if (!end) co_return std::unexpected(end.error());
    pb::RequestOp op = RangeOp(keys_.AuditRange(partition_, 0, *end), 0, revision_);
    op.mutable_request_range()->set_keys_only(true);
    const auto found = co_await client_.Range(std::move(*op.mutable_request_range()));
    if (!found) co_return std::unexpected(found.error());
    // From the end: the oldest first, as far as there is room.
    for (int i = found->kvs_size() - 1; i >= 0 && !full(); --i) ops_.Delete(found->kvs(i).key());
    co_return {};
}

}  // namespace takt::internal::etcd
