#include "store/etcd/leases.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/etcd/leader_value.h"
#include "store/etcd/ops.h"
#include "store/renewal.h"

namespace takt::internal::etcd {
namespace {

std::int64_t RevisionOf(const Term& term) {
    return static_cast<std::int64_t>(term.nonce);
}

std::optional<pb::KeyValue> FirstOf(const pb::ResponseOp& response) {
    const auto& kvs = response.response_range().kvs();
    return kvs.empty() ? std::nullopt : std::optional(kvs[0]);
}

pb::RequestOp PutOp(std::string key, std::string value, std::int64_t lease = 0) {
    pb::RequestOp op;
    op.mutable_request_put()->set_key(std::move(key));
    op.mutable_request_put()->set_value(std::move(value));
    op.mutable_request_put()->set_lease(lease);
    return op;
}

// Its value is what the sum of all terms depends on, so it is kept when it exists.
pb::RequestOp PutIfAbsent(const std::string& key, std::string value) {
    pb::RequestOp op;
    *op.mutable_request_txn()->add_compare() = CreatedAt(key, 0);
    *op.mutable_request_txn()->add_success() = PutOp(key, std::move(value));
    return op;
}

std::unexpected<Error> SomebodyLeads(std::string_view who) {
    return Fail(ErrorCode::kConflict, std::string(who) + " leads");
}

}  // namespace

std::optional<Leases::Lease> Leases::lease(const Term& term) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(term.partition);
    if (found == leases_.end() || found->second.first != term) return std::nullopt;
    return found->second.second;
}

void Leases::RememberLease(const Term& term, Lease lease) {
    const std::lock_guard lock(mutex_);
    leases_.insert_or_assign(term.partition, std::pair(term, lease));
}

Async<bool> Leases::RevokeLease(std::int64_t lease) {
    if (lease == 0) co_return true;
    const auto done = co_await client_.LeaseRevoke(lease);
    if (!done && done.error().code != ErrorCode::kNotFound) {
        Log(LogLevel::kDebug, "store",
            "a lease that is not needed any more stays until it runs out",
            {{"error", done.error().detail}});
    }
    co_return true;
}

Async<Result<Leases::Standing>> Leases::ReadStanding(Partition partition) {
    pb::TxnRequest request;
    *request.add_success() = GetOp(keys_.Leader(partition));
    *request.add_success() = GetOp(keys_.Epoch(partition));
    *request.add_success() = GetOp(keys_.Layout());
    const Result<pb::TxnResponse> found = co_await client_.Txn(std::move(request), Effect::kRead);
    if (!found) co_return std::unexpected(found.error());
    co_return Standing{FirstOf(found->responses(0)), FirstOf(found->responses(1)),
                       FirstOf(found->responses(2))};
}

Async<Result<Term>> Leases::Acquire(Candidate candidate) {
    Result<Standing> standing = co_await ReadStanding(candidate.partition);
    if (!standing) co_return std::unexpected(standing.error());
    const Result<void> usable = co_await CheckLayout(candidate, *standing);
    if (!usable) co_return std::unexpected(usable.error());
    if (standing->leader) {
        const Result<LeaderRow> leader = DecodeLeader(standing->leader->value());
        if (!leader) co_return std::unexpected(leader.error());
        if (leader->node != candidate.node) co_return SomebodyLeads(leader->node.view());
        const Result<void> deposed = co_await Depose(candidate.partition, *standing->leader);
        if (!deposed) co_return std::unexpected(deposed.error());
        standing->leader.reset();
    }
    co_return co_await Campaign(std::move(candidate), std::move(*standing));
}

Async<Result<void>> Leases::CheckLayout(Candidate candidate, Standing& standing) {
    using Kind = LayoutDecision::Kind;
    const std::string stored = standing.layout ? standing.layout->value() : "";
    LayoutDecision decision = DecideLayout(stored, schema_.range(), {}, "etcd");
    if (decision.kind == Kind::kRaise) {
        const auto others = co_await OtherLayouts(candidate.node);
        if (!others) co_return std::unexpected(others.error());
        decision = DecideLayout(stored, schema_.range(), *others, "etcd");
    }
    if (decision.kind == Kind::kRefuse) co_return Fail(ErrorCode::kInvalid, decision.why, "store");
    if (decision.kind == Kind::kWait) co_return Fail(ErrorCode::kUnavailable, decision.why);
    standing.raise_from = decision.from;
    co_return {};
}

Async<Result<std::vector<AnnouncedLayout>>> Leases::OtherLayouts(NodeId self) {
    pb::RangeRequest request = std::move(*RangeOp(keys_.Nodes(), 0).mutable_request_range());
    const Result<pb::RangeResponse> found = co_await client_.Range(std::move(request));
    if (!found) co_return std::unexpected(found.error());
    std::vector<AnnouncedLayout> others;
    for (const pb::KeyValue& kv : found->kvs()) {
        const std::string_view node = LastPart(kv.key());
        if (node == self.view()) continue;
        others.push_back({std::string(node), DecodeNodeLayout(kv.value()).value_or(kLayoutUnsaid)});
    }
    co_return others;
}

Async<Result<void>> Leases::RaiseLayout(Term term, unsigned from) {
    Log(LogLevel::kInfo, "store", "raising the layout of the data in etcd",
        {{"from", from}, {"to", schema_.known}});
    const Result<void> raised = co_await schema_.RunSteps(client_, keys_, term, from);
    if (!raised) co_return std::unexpected(raised.error());
    pb::TxnRequest request;
    *request.add_compare() = CreatedAt(keys_.Leader(term.partition), RevisionOf(term));
    *request.add_success() = PutOp(keys_.Layout(), std::to_string(schema_.known));
    const auto done = co_await client_.Txn(std::move(request), Effect::kRepeatable);
    if (!done) co_return std::unexpected(done.error());
    if (!done->succeeded()) co_return Fail(ErrorCode::kConflict, "the term is over");
    co_return {};
}

Async<Result<void>> Leases::Depose(Partition partition, pb::KeyValue leader) {
    pb::TxnRequest request;
    const std::string key = keys_.Leader(partition);
    *request.add_compare() = CreatedAt(key, leader.create_revision());
    request.add_success()->mutable_request_delete_range()->set_key(key);
    // Repeatable: what it deletes cannot come back under the same revision.
    const auto done = co_await client_.Txn(std::move(request), Effect::kRepeatable);
    if (!done) co_return std::unexpected(done.error());
    co_await RevokeLease(leader.lease());
    co_return {};
}

pb::TxnRequest Leases::Ballot(const Candidate& candidate, const Standing& standing,
                              std::uint64_t epoch, std::int64_t lease) const {
    const Partition p = candidate.partition;
    pb::TxnRequest txn;
    *txn.add_compare() = CreatedAt(keys_.Leader(p), 0);
    // The epoch must be above all before: nobody else may have raised it since we looked.
    *txn.add_compare() = standing.epoch ? ValueIs(keys_.Epoch(p), standing.epoch->value())
                                        : CreatedAt(keys_.Epoch(p), 0);
    // A newer version may have begun to write meanwhile.
    *txn.add_compare() = standing.layout ? ValueIs(keys_.Layout(), standing.layout->value())
                                         : CreatedAt(keys_.Layout(), 0);
    if (standing.raise_from > 0) {
        *txn.add_success() = PutOp(keys_.Layout(), RaisingText(standing.raise_from, schema_.known));
    } else if (!standing.layout) {
        *txn.add_success() = PutOp(keys_.Layout(), std::to_string(schema_.known));
    }
    const LeaderRow row{candidate.node, candidate.address, epoch};
    *txn.add_success() = PutOp(keys_.Leader(p), EncodeLeader(row), lease);
    *txn.add_success() = PutOp(keys_.Epoch(p), Hex(epoch));
    *txn.add_success() = PutOp(keys_.Sequence(p), SequenceValue(epoch, 0));
    *txn.add_success() = PutIfAbsent(keys_.LastSerial(p), Hex(0));
    *txn.add_success() = PutIfAbsent(keys_.PartitionMark(p), "");
    *txn.add_failure() = GetOp(keys_.Leader(p));
    return txn;
}

Async<Result<Term>> Leases::Campaign(Candidate candidate, Standing standing) {
    const std::optional<std::uint64_t> before =
        standing.epoch ? ParseHex(standing.epoch->value()) : std::optional<std::uint64_t>(0);
    if (!before) co_return Fail(ErrorCode::kUnavailable, "etcd: the epoch key is not a number");
    const std::uint64_t epoch = std::max(*before, candidate.epoch_floor) + 1;
    const Result<pb::LeaseGrantResponse> lease = co_await client_.LeaseGrant(candidate.ttl);
    if (!lease) co_return std::unexpected(lease.error());
    const Result<pb::TxnResponse> done =
        co_await client_.Txn(Ballot(candidate, standing, epoch, lease->id()), Effect::kOnce);
    if (!done) co_return std::unexpected(done.error());
    if (!done->succeeded()) {
        co_await RevokeLease(lease->id());
        const std::optional<pb::KeyValue> leader = FirstOf(done->responses(0));
        const Result<LeaderRow> row =
            leader ? DecodeLeader(leader->value()) : Result<LeaderRow>(LeaderRow{});
        co_return SomebodyLeads(row && !row->node.empty() ? row->node.view() : "another node");
    }
    const Term term{candidate.partition, epoch,
                    static_cast<std::uint64_t>(done->header().revision())};
    RememberLease(term, {lease->id(), candidate.ttl});
    if (standing.raise_from > 0) {
        const Result<void> raised = co_await RaiseLayout(term, standing.raise_from);
        if (!raised) co_return std::unexpected(raised.error());
    }
    co_return term;
}

// The leader key of the term, or kFenced.
Async<Result<pb::KeyValue>> Leases::LeaderOf(Term term, Steady latest) {
    pb::RangeRequest get;
    get.set_key(keys_.Leader(term.partition));
    const Result<pb::RangeResponse> found = co_await client_.Range(std::move(get), latest);
    if (!found) co_return std::unexpected(found.error());
    if (found->kvs_size() == 0 || found->kvs(0).create_revision() != RevisionOf(term)) {
        co_return Fail(ErrorCode::kFenced, "the term is over");
    }
    co_return found->kvs(0);
}

Async<Result<void>> Leases::Renew(Term term, Duration ttl) {
    const Steady latest = SteadyClock::now() + RenewalTime(ttl);
    std::optional<Lease> lease = this->lease(term);
    if (!lease || lease->ttl != ttl) {
        Result<pb::KeyValue> leader = co_await LeaderOf(term, latest);
        if (!leader) co_return std::unexpected(leader.error());
        co_return co_await MoveToNewLease(term, std::move(*leader), ttl, latest);
    }
    const auto kept = co_await client_.LeaseKeepAlive(lease->id, latest);
    if (!kept) co_return std::unexpected(kept.error());
    if (kept->ttl() <= 0) co_return Fail(ErrorCode::kFenced, "the lease of the term is gone");
    // etcd may say yes to a lease that was just revoked (fixed in 3.4.38 and 3.5.23), and operators
    // may delete the key: only the key itself proves the term.
    const Result<pb::KeyValue> leader = co_await LeaderOf(term, latest);
    if (!leader) co_return std::unexpected(leader.error());
    co_return {};
}

Async<Result<void>> Leases::MoveToNewLease(Term term, pb::KeyValue leader, Duration ttl,
                                           Steady latest) {
    const Result<pb::LeaseGrantResponse> lease = co_await client_.LeaseGrant(ttl, latest);
    if (!lease) co_return std::unexpected(lease.error());
    pb::TxnRequest request;
    *request.add_compare() = CreatedAt(keys_.Leader(term.partition), RevisionOf(term));
    *request.add_success() = PutOp(keys_.Leader(term.partition), leader.value(), lease->id());
    const auto done = co_await client_.Txn(std::move(request), Effect::kRepeatable, latest);
    if (!done) co_return std::unexpected(done.error());
    if (!done->succeeded()) {
        co_await RevokeLease(lease->id());
        co_return Fail(ErrorCode::kFenced, "the term is over");
    }
    RememberLease(term, {lease->id(), ttl});
    co_await RevokeLease(leader.lease());
    co_return {};
}

Async<Result<void>> Leases::Resign(Term term) {
    Result<pb::KeyValue> leader = co_await LeaderOf(term);
    if (!leader) {
        if (leader.error().code == ErrorCode::kFenced) co_return {};
        co_return std::unexpected(leader.error());
    }
    co_return co_await Depose(term.partition, std::move(*leader));
}

Async<Result<std::optional<LeaderRow>>> Leases::Leader(Partition partition) {
    pb::RangeRequest get;
    get.set_key(keys_.Leader(partition));
    const Result<pb::RangeResponse> found = co_await client_.Range(std::move(get));
    if (!found) co_return std::unexpected(found.error());
    if (found->kvs_size() == 0) co_return std::nullopt;
    Result<LeaderRow> row = DecodeLeader(found->kvs(0).value());
    if (!row) co_return std::unexpected(row.error());
    co_return std::optional(std::move(*row));
}

Async<Result<void>> Leases::Announce(NodeRow node, Duration ttl) {
    pb::TxnRequest request;
    const std::string key = keys_.Node(node.node.view());
    if (ttl <= Duration(0)) {
        request.add_success()->mutable_request_delete_range()->set_key(key);
    } else {
        // A new lease each time: the earlier one, which holds nothing any more, runs out by itself.
        const Result<pb::LeaseGrantResponse> lease = co_await client_.LeaseGrant(ttl);
        if (!lease) co_return std::unexpected(lease.error());
        *request.add_success() = PutOp(key, EncodeNode(node, schema_.known), lease->id());
    }
    const auto done = co_await client_.Txn(std::move(request), Effect::kRepeatable);
    if (!done) co_return std::unexpected(done.error());
    co_return {};
}

Async<Result<std::vector<NodeRow>>> Leases::Nodes() {
    pb::RangeRequest request = std::move(*RangeOp(keys_.Nodes(), 0).mutable_request_range());
    const Result<pb::RangeResponse> found = co_await client_.Range(std::move(request));
    if (!found) co_return std::unexpected(found.error());
    std::vector<NodeRow> rows;
    for (const pb::KeyValue& kv : found->kvs()) {
        Result<NodeRow> row = DecodeNode(kv.value());
        if (row) {
            rows.push_back(std::move(*row));
        } else {
            Log(LogLevel::kWarning, "store", "a scheduler's presence cannot be read",
                {{"key", kv.key()}, {"error", row.error().detail}});
        }
    }
    co_return rows;
}

}  // namespace takt::internal::etcd
