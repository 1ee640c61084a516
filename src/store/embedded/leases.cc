#include "store/embedded/leases.h"

#include <algorithm>

#include "base/failpoint.h"

namespace takt::internal::embedded {
namespace {

// Throws SqliteError.
std::uint64_t PutTerm(Connection& connection, const Candidate& candidate, std::uint64_t nonce,
                      std::uint64_t epoch) {
    Statement put = connection.Prepare(
        "INSERT INTO terms (partition, node, epoch, nonce, sequence, last_serial) "
        "VALUES (?, ?, ?, ?, 0, 0) ON CONFLICT (partition) DO UPDATE SET "
        "node = excluded.node, epoch = excluded.epoch, nonce = excluded.nonce, "
        "sequence = 0");
    put.Int(candidate.partition);
    put.Text(candidate.node.view());
    put.Int(static_cast<std::int64_t>(epoch));
    put.Int(static_cast<std::int64_t>(nonce));
    put.Run();
    return epoch;
}

}  // namespace

Leases::Leases(Writer& writer, std::function<Steady()> clock, std::vector<LeaderRow> terms)
    : writer_(writer), clock_(std::move(clock)), random_(NewRandomSeed()) {
    for (LeaderRow& row : terms) {
        lost_.insert(row.partition);
        last_.emplace(row.partition, std::move(row));
    }
}

std::vector<LeaderRow> Leases::ReadTerms(Connection& connection) {
    std::vector<LeaderRow> terms;
    Statement read = connection.Prepare("SELECT partition, node, epoch, nonce FROM terms");
    while (read.Step()) {
        const Row row = read.row();
        terms.push_back({.partition = static_cast<Partition>(row.Int(0)),
                         .node = NodeId(Text(row.Bytes(1))),
                         .epoch = static_cast<std::uint64_t>(row.Int(2)),
                         .nonce = static_cast<std::uint64_t>(row.Int(3))});
    }
    return terms;
}

bool Leases::Announced(const NodeId& node) const {
    const auto found = nodes_.find(node);
    return found != nodes_.end() && found->second.second > clock_();
}

bool Leases::Stands(const LeaderRow& row) const {
    return !lost_.contains(row.partition) && Announced(row.node);
}

Result<void> Leases::Judge(const Candidate& candidate) const {
    if (!Announced(candidate.node) && !TAKT_MUTANT("embedded.lead_unannounced")) {
        return Fail(ErrorCode::kConflict, candidate.node.text().str() + " is not announced");
    }
    const auto found = last_.find(candidate.partition);
    const LeaderRow last = found == last_.end() ? LeaderRow{} : found->second;
    const LeaderRow read = candidate.replaced.value_or(LeaderRow{});
    if (last.nonce != 0 && last.node != candidate.node && Stands(last) &&
        !TAKT_MUTANT("embedded.depose_leaders")) {
        return Fail(ErrorCode::kConflict, last.node.text().str() + " leads");
    }
    if (last.epoch != read.epoch || last.nonce != read.nonce) {
        return Fail(ErrorCode::kConflict, "somebody has led since that was read");
    }
    return {};
}

Result<Term> Leases::Acquire(const Candidate& candidate) {
    Term term{.partition = candidate.partition};
    {
        const std::lock_guard lock(mutex_);
        const Result<void> judged = Judge(candidate);
        if (!judged) return std::unexpected(judged.error());
        // 0 is the nonce of a term that was resigned.
        while (term.nonce == 0) term.nonce = random_.Next();
        term.epoch = std::max(last_[candidate.partition].epoch, candidate.epoch_floor) +
                     (TAKT_MUTANT("embedded.same_epoch") ? 0 : 1);
    }
    const auto written =
        writer_.Transact<std::uint64_t>([&](Connection& connection) -> Result<std::uint64_t> {
            return PutTerm(connection, candidate, term.nonce, term.epoch);
        });
    const std::lock_guard lock(mutex_);
    if (!written) {
        // A node that cannot write a new term down cannot write under the old one either, and must
        // not be taken for the leader.
        lost_.insert(candidate.partition);
        return std::unexpected(written.error());
    }
    lost_.erase(candidate.partition);
    last_[candidate.partition] = {candidate.partition, candidate.node, candidate.address,
                                  term.epoch, term.nonce};
    return term;
}

Result<void> Leases::Resign(const Term& term, const NodeId& successor) {
    const Result<void> ended = writer_.Transact<void>([&](Connection& connection) -> Result<void> {
        Statement end = connection.Prepare(TAKT_MUTANT("embedded.resign_any")
                                               ? "UPDATE terms SET nonce = 0, node = ? WHERE "
                                                 "partition = ? OR epoch = ? OR nonce = ?"
                                               : "UPDATE terms SET nonce = 0, node = ? WHERE "
                                                 "partition = ? AND epoch = ? AND nonce = ?");
        end.Text(successor.view());
        end.Int(term.partition);
        end.Int(static_cast<std::int64_t>(term.epoch));
        end.Int(static_cast<std::int64_t>(term.nonce));
        end.Run();
        return {};
    });
    if (!ended) return ended;
    const std::lock_guard lock(mutex_);
    const auto found = last_.find(term.partition);
    if (found == last_.end() || !found->second.Is(term)) return {};
    found->second = {term.partition, successor, {}, term.epoch, 0};
    return {};
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

Result<std::vector<LeaderRow>> Leases::Leaders() {
    const std::lock_guard lock(mutex_);
    std::vector<LeaderRow> rows;
    for (const auto& [partition, last] : last_) {
        if (last.epoch == 0) continue;
        rows.push_back(last);
        rows.back().announced = Stands(last);
    }
    return rows;
}

}  // namespace takt::internal::embedded
