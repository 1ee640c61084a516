#include "store/etcd/leases.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/number.h"
#include "store/etcd/leader_value.h"
#include "store/etcd/ops.h"
#include "store/renewal.h"

namespace takt::internal::etcd {
namespace {

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

bool Leases::Standing::Announced(const Keys& keys, const NodeId& node) const {
    return std::ranges::any_of(
        nodes, [&](const pb::KeyValue& kv) { return kv.key() == keys.Node(node.view()); });
}

std::optional<Leases::Lease> Leases::lease(const NodeId& node) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(node);
    return found == leases_.end() ? std::nullopt : std::optional(found->second);
}

Steady Leases::Latest() {
    const std::lock_guard lock(mutex_);
    return SteadyClock::now() + RenewalTime(ttl_);
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
    *request.add_success() = GetOp(keys_.LeaderRow(partition));
    *request.add_success() = GetOp(keys_.Epoch(partition));
    *request.add_success() = GetOp(keys_.Layout());
    *request.add_success() = GetOp(keys_.OlderLeader());
    *request.add_success() = RangeOp(keys_.Nodes(), 0);
    const Result<pb::TxnResponse> found = co_await client_.Txn(std::move(request), Effect::kRead);
    if (!found) co_return std::unexpected(found.error());
    Standing standing{FirstOf(found->responses(0)),
                      FirstOf(found->responses(1)),
                      FirstOf(found->responses(2)),
                      FirstOf(found->responses(3)),
                      {}};
    if (partition != 0) standing.older.reset();
    const auto& nodes = found->responses(4).response_range().kvs();
    standing.nodes.assign(nodes.begin(), nodes.end());
    co_return standing;
}

Async<Result<void>> Leases::StampLayout() {
    pb::TxnRequest request;
    *request.add_success() = PutIfAbsent(keys_.Layout(), std::to_string(schema_.known));
    const auto done = co_await client_.Txn(std::move(request), Effect::kRepeatable);
    if (!done) co_return std::unexpected(done.error());
    co_return {};
}

Async<Result<Term>> Leases::Acquire(Candidate candidate) {
    Result<Standing> standing = co_await ReadStanding(candidate.partition);
    if (standing && !standing->layout) {
        // Before anything else: partitions of a new installation are taken at once, and the first of
        // them must not look to the others like a change of the layout.
        const Result<void> stamped = co_await StampLayout();
        if (!stamped) co_return std::unexpected(stamped.error());
        standing = co_await ReadStanding(candidate.partition);
    }
    if (!standing) co_return std::unexpected(standing.error());
    const Result<void> usable = CheckLayout(candidate, *standing);
    if (!usable) co_return std::unexpected(usable.error());
    Result<LeaderRow> replaced = Judge(candidate, *standing);
    if (!replaced) co_return std::unexpected(replaced.error());
    co_return co_await Campaign(std::move(candidate), std::move(*standing), std::move(*replaced));
}

Result<LeaderRow> Leases::Judge(const Candidate& candidate, const Standing& standing) const {
    if (!standing.Announced(keys_, candidate.node)) {
        return Fail(ErrorCode::kConflict, candidate.node.text().str() + " is not announced");
    }
    if (standing.older) {
        const Result<LeaderRow> older = DecodeLeader(standing.older->value(), 1);
        return SomebodyLeads(older ? older->node.view() : "an older scheduler");
    }
    LeaderRow last;
    if (standing.leader) {
        Result<LeaderRow> row =
            DecodeLeader(standing.leader->value(), standing.leader->mod_revision());
        if (!row) return std::unexpected(row.error());
        last = std::move(*row);
    }
    if (last.nonce != 0 && last.node != candidate.node && standing.Announced(keys_, last.node)) {
        return SomebodyLeads(last.node.view());
    }
    const LeaderRow read = candidate.replaced.value_or(LeaderRow{});
    if (last.epoch != read.epoch || last.nonce != read.nonce) {
        return Fail(ErrorCode::kConflict, "somebody has led since that was read");
    }
    return last;
}

Result<void> Leases::CheckLayout(const Candidate& candidate, Standing& standing) const {
    using Kind = LayoutDecision::Kind;
    std::vector<AnnouncedLayout> others;
    for (const pb::KeyValue& kv : standing.nodes) {
        const std::string_view node = LastPart(kv.key());
        if (node == candidate.node.view()) continue;
        others.push_back({std::string(node), DecodeNodeLayout(kv.value()).value_or(kLayoutUnsaid)});
    }
    const std::string stored = standing.layout ? standing.layout->value() : "";
    const LayoutDecision decision = DecideLayout(stored, schema_.range(), others, "etcd");
    if (decision.kind == Kind::kRefuse) return Fail(ErrorCode::kInvalid, decision.why, "store");
    if (decision.kind == Kind::kWait) return Fail(ErrorCode::kUnavailable, decision.why);
    standing.raise_from = decision.from;
    return {};
}

Async<Result<void>> Leases::RaiseLayout(Term term, unsigned from) {
    Log(LogLevel::kInfo, "store", "raising the layout of the data in etcd",
        {{"from", from}, {"to", schema_.known}});
    const Result<void> raised = co_await schema_.RunSteps(client_, keys_, term, from);
    if (!raised) co_return std::unexpected(raised.error());
    pb::TxnRequest request;
    *request.add_compare() = TermStands(keys_, term);
    *request.add_success() = PutOp(keys_.Layout(), std::to_string(schema_.known));
    const auto done = co_await client_.Txn(std::move(request), Effect::kRepeatable);
    if (!done) co_return std::unexpected(done.error());
    if (!done->succeeded()) co_return Fail(ErrorCode::kConflict, "the term is over");
    co_return {};
}

pb::TxnRequest Leases::Ballot(const Candidate& candidate, const Standing& standing,
                              const LeaderRow& replaced, std::uint64_t epoch) const {
    const Partition p = candidate.partition;
    pb::TxnRequest txn;
    *txn.add_compare() =
        ModifiedAt(keys_.LeaderRow(p), standing.leader ? standing.leader->mod_revision() : 0);
    *txn.add_compare() = Exists(keys_.Node(candidate.node.view()));
    if (replaced.nonce != 0 && replaced.node != candidate.node) {
        *txn.add_compare() = CreatedAt(keys_.Node(replaced.node.view()), 0);
    }
    if (p == 0) *txn.add_compare() = CreatedAt(keys_.OlderLeader(), 0);
    // The epoch must be above all before, also where the row of the leader was deleted.
    *txn.add_compare() = standing.epoch ? ValueIs(keys_.Epoch(p), standing.epoch->value())
                                        : CreatedAt(keys_.Epoch(p), 0);
    // A newer version may have begun to write meanwhile.
    *txn.add_compare() = standing.layout ? ValueIs(keys_.Layout(), standing.layout->value())
                                         : CreatedAt(keys_.Layout(), 0);
    if (standing.raise_from > 0) {
        *txn.add_success() = PutOp(keys_.Layout(), RaisingText(standing.raise_from, schema_.known));
    }
    // The nonce of the row is the revision that this transaction gets.
    const LeaderRow row{p, candidate.node, candidate.address, epoch, 1};
    *txn.add_success() = PutOp(keys_.LeaderRow(p), EncodeLeader(row));
    *txn.add_success() = PutOp(keys_.Epoch(p), Hex(epoch));
    *txn.add_success() = PutOp(keys_.Sequence(p), SequenceValue(epoch, 0));
    *txn.add_success() = PutIfAbsent(keys_.LastSerial(p), Hex(0));
    *txn.add_success() = PutIfAbsent(keys_.PartitionMark(p), "");
    return txn;
}

Async<Result<Term>> Leases::Campaign(Candidate candidate, Standing standing, LeaderRow replaced) {
    const std::optional<std::uint64_t> before =
        standing.epoch ? ParseHex(standing.epoch->value()) : std::optional<std::uint64_t>(0);
    if (!before) co_return Fail(ErrorCode::kUnavailable, "etcd: the epoch key is not a number");
    const std::uint64_t epoch = std::max({*before, replaced.epoch, candidate.epoch_floor}) + 1;
    const Result<pb::TxnResponse> done =
        co_await client_.Txn(Ballot(candidate, standing, replaced, epoch), Effect::kOnce);
    if (!done) co_return std::unexpected(done.error());
    if (!done->succeeded()) co_return SomebodyLeads("another node");
    const Term term{candidate.partition, epoch,
                    static_cast<std::uint64_t>(done->header().revision())};
    if (standing.raise_from > 0) {
        const Result<void> raised = co_await RaiseLayout(term, standing.raise_from);
        if (!raised) co_return std::unexpected(raised.error());
    }
    co_return term;
}

Async<Result<void>> Leases::Resign(Term term, NodeId successor) {
    pb::TxnRequest request;
    *request.add_compare() = TermStands(keys_, term);
    const LeaderRow row{term.partition, std::move(successor), {}, term.epoch, 0};
    *request.add_success() = PutOp(keys_.LeaderRow(term.partition), EncodeLeader(row));
    // Repeatable: once it is done, the term does not stand any more.
    const auto done = co_await client_.Txn(std::move(request), Effect::kRepeatable);
    if (!done) co_return std::unexpected(done.error());
    co_return {};
}

Async<Result<std::vector<LeaderRow>>> Leases::Leaders() {
    pb::TxnRequest request;
    *request.add_success() = RangeOp(keys_.LeaderRows(), 0);
    *request.add_success() = RangeOp(keys_.Nodes(), 0);
    request.mutable_success(1)->mutable_request_range()->set_keys_only(true);
    *request.add_success() = GetOp(keys_.OlderLeader());
    const Result<pb::TxnResponse> found =
        co_await client_.Txn(std::move(request), Effect::kRead, Latest());
    if (!found) co_return std::unexpected(found.error());
    Standing standing;
    const auto& nodes = found->responses(1).response_range().kvs();
    standing.nodes.assign(nodes.begin(), nodes.end());
    ForgetLost(standing);
    std::vector<LeaderRow> rows;
    if (const auto older = FirstOf(found->responses(2))) {
        Result<LeaderRow> row = DecodeLeader(older->value(), older->create_revision());
        if (!row) co_return std::unexpected(row.error());
        rows.push_back(std::move(*row));
    }
    for (const pb::KeyValue& kv : found->responses(0).response_range().kvs()) {
        const auto partition = ParseNumber<Partition>(LastPart(kv.key()));
        if (!partition || (*partition == 0 && !rows.empty())) continue;
        Result<LeaderRow> row = DecodeLeader(kv.value(), kv.mod_revision());
        if (!row) co_return std::unexpected(row.error());
        row->partition = *partition;
        row->announced = standing.Announced(keys_, row->node);
        rows.push_back(std::move(*row));
    }
    co_return rows;
}

// A node's key that somebody deleted: the lease alone keeps nothing, so the next announcement begins
// a new one. etcd may also say yes to a lease that was just revoked (fixed in 3.4.38 and 3.5.23).
void Leases::ForgetLost(const Standing& standing) {
    const std::lock_guard lock(mutex_);
    std::erase_if(leases_,
                  [&](const auto& item) { return !standing.Announced(keys_, item.first); });
}

Async<Result<void>> Leases::Announce(NodeRow node, Duration ttl) {
    if (ttl <= Duration(0)) co_return co_await Withdraw(node.node);
    {
        const std::lock_guard lock(mutex_);
        ttl_ = ttl;
    }
    const Steady latest = Latest();
    const std::optional<Lease> lease = this->lease(node.node);
    if (lease && lease->ttl == ttl && lease->value == EncodeNode(node, schema_.known)) {
        const auto kept = co_await client_.LeaseKeepAlive(lease->id, latest);
        if (!kept) co_return std::unexpected(kept.error());
        if (kept->ttl() > 0) co_return {};
    }
    co_return co_await AnnounceAnew(std::move(node), ttl, latest);
}

Async<Result<void>> Leases::AnnounceAnew(NodeRow node, Duration ttl, Steady latest) {
    const std::optional<Lease> before = lease(node.node);
    const Result<pb::LeaseGrantResponse> lease = co_await client_.LeaseGrant(ttl, latest);
    if (!lease) co_return std::unexpected(lease.error());
    const std::string value = EncodeNode(node, schema_.known);
    pb::TxnRequest request;
    *request.add_success() = PutOp(keys_.Node(node.node.view()), value, lease->id());
    const auto done = co_await client_.Txn(std::move(request), Effect::kRepeatable, latest);
    if (!done) co_return std::unexpected(done.error());
    {
        const std::lock_guard lock(mutex_);
        leases_.insert_or_assign(node.node, Lease{lease->id(), ttl, value});
    }
    if (before) co_await RevokeLease(before->id);
    co_return {};
}

Async<Result<void>> Leases::Withdraw(NodeId node) {
    const std::optional<Lease> before = lease(node);
    pb::TxnRequest request;
    request.add_success()->mutable_request_delete_range()->set_key(keys_.Node(node.view()));
    const auto done = co_await client_.Txn(std::move(request), Effect::kRepeatable);
    if (!done) co_return std::unexpected(done.error());
    {
        const std::lock_guard lock(mutex_);
        leases_.erase(node);
    }
    if (before) co_await RevokeLease(before->id);
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
