#include "store/embedded/leases.h"

#include <algorithm>

namespace takt::internal::embedded {

Leases::Leases(Writer& writer, std::function<Steady()> clock)
    : writer_(writer), clock_(std::move(clock)), random_(NewRandomSeed()) {}

Result<Term> Leases::Acquire(const Candidate& candidate) {
    Term term{.partition = candidate.partition};
    {
        const std::lock_guard lock(mutex_);
        const auto held = leases_.find(candidate.partition);
        if (held != leases_.end() && held->second.expires > clock_() &&
            held->second.leader.node != candidate.node) {
            return Fail(ErrorCode::kConflict, held->second.leader.node.text().str() + " leads");
        }
        // 0 is the nonce of a term that was resigned.
        while (term.nonce == 0) term.nonce = random_.Next();
    }
    const Result<std::uint64_t> epoch =
        writer_.Transact<std::uint64_t>([&](Connection& connection) -> Result<std::uint64_t> {
            Statement last = connection.Prepare("SELECT epoch FROM terms WHERE partition = ?");
            last.Int(candidate.partition);
            const auto before =
                last.Step() ? static_cast<std::uint64_t>(last.row().Int(0)) : std::uint64_t{0};
            const std::uint64_t next = std::max(before, candidate.epoch_floor) + 1;
            Statement put = connection.Prepare(
                "INSERT INTO terms (partition, node, epoch, nonce, sequence, last_serial) "
                "VALUES (?, ?, ?, ?, 0, 0) ON CONFLICT (partition) DO UPDATE SET "
                "node = excluded.node, epoch = excluded.epoch, nonce = excluded.nonce, "
                "sequence = 0");
            put.Int(candidate.partition);
            put.Text(candidate.node.view());
            put.Int(static_cast<std::int64_t>(next));
            put.Int(static_cast<std::int64_t>(term.nonce));
            put.Run();
            last.Reset();
            return next;
        });
    const std::lock_guard lock(mutex_);
    if (!epoch) {
        // A node that cannot write a new term down cannot write under the old one either, and must
        // not be taken for the leader.
        const auto held = leases_.find(candidate.partition);
        if (held != leases_.end() && held->second.leader.node == candidate.node) {
            leases_.erase(held);
        }
        return std::unexpected(epoch.error());
    }
    term.epoch = *epoch;
    leases_.insert_or_assign(
        candidate.partition,
        Lease{term, {candidate.node, candidate.address, term.epoch}, clock_() + candidate.ttl});
    return term;
}

Result<void> Leases::Resign(const Term& term) {
    const Result<void> ended = writer_.Transact<void>([&](Connection& connection) -> Result<void> {
        Statement end = connection.Prepare(
            "UPDATE terms SET nonce = 0 WHERE partition = ? AND epoch = ? AND nonce = ?");
        end.Int(term.partition);
        end.Int(static_cast<std::int64_t>(term.epoch));
        end.Int(static_cast<std::int64_t>(term.nonce));
        end.Run();
        return {};
    });
    if (!ended) return ended;
    const std::lock_guard lock(mutex_);
    const auto held = leases_.find(term.partition);
    if (held != leases_.end() && held->second.term == term) leases_.erase(held);
    return {};
}

Result<void> Leases::Renew(const Term& term, Duration ttl) {
    const std::lock_guard lock(mutex_);
    const Steady now = clock_();
    const auto held = leases_.find(term.partition);
    if (held == leases_.end() || held->second.term != term || held->second.expires <= now) {
        return Fail(ErrorCode::kFenced, "the term is over");
    }
    held->second.expires = now + ttl;
    return {};
}

Result<std::optional<LeaderRow>> Leases::Leader(Partition partition) {
    const std::lock_guard lock(mutex_);
    const auto held = leases_.find(partition);
    if (held == leases_.end() || held->second.expires <= clock_()) return std::nullopt;
    return held->second.leader;
}

Result<void> Leases::Announce(const NodeRow& node, Duration ttl) {
    const std::lock_guard lock(mutex_);
    nodes_.erase(node.node);
    if (ttl > Duration(0)) nodes_.emplace(node.node, std::pair(node, clock_() + ttl));
    return {};
}

Result<std::vector<NodeRow>> Leases::Nodes() {
    const std::lock_guard lock(mutex_);
    const Steady now = clock_();
    std::erase_if(nodes_, [&](const auto& item) { return item.second.second <= now; });
    std::vector<NodeRow> rows;
    for (const auto& [id, node] : nodes_) rows.push_back(node.first);
    return rows;
}

}  // namespace takt::internal::embedded
