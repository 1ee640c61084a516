// Leases: who leads a partition, and which schedulers are there.
//
// A node's key lives as long as its lease, the one that every announcement renews. The last term of a
// partition is a key without a lease: it stands as long as its node's key is there. A new term
// replaces it in a transaction that compares both. Its mod revision is the nonce of the term: etcd
// never gives it twice, and every commit compares it.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "store/etcd/client.h"
#include "store/etcd/keys.h"
#include "store/etcd/schema.h"
#include "store/store.h"

namespace takt::internal::etcd {

class Leases {
  public:
    Leases(Client& client, const Keys& keys, Schema schema)
        : client_(client), keys_(keys), schema_(std::move(schema)) {}

    Async<Result<Term>> Acquire(Candidate candidate);
    Async<Result<void>> Resign(Term term, NodeId successor);
    Async<Result<void>> Announce(NodeRow node, Duration ttl);
    Async<Result<std::vector<NodeRow>>> Nodes();
    Async<Result<std::vector<LeaderRow>>> Leaders();

  private:
    // The row that there was before a new term.
    struct Standing {
        std::optional<pb::KeyValue> leader;
        std::optional<pb::KeyValue> epoch;
        std::optional<pb::KeyValue> layout;
        std::optional<pb::KeyValue> older;  // The leader of a version before, of partition 0.
        std::vector<pb::KeyValue> nodes;
        unsigned raise_from = 0;  // 0: the layout is ours, or there is none yet.

        bool Announced(const Keys& keys, const NodeId& node) const;
    };
    struct Lease {
        std::int64_t id = 0;
        Duration ttl{};     // As it was asked for; etcd rounds up.
        std::string value;  // Of the node's key.
    };

    Async<Result<Standing>> ReadStanding(Partition partition);
    // Says of an installation without a layout that it is of ours.
    Async<Result<void>> StampLayout();
    // The term that the candidate replaces, or why it cannot.
    Result<LeaderRow> Judge(const Candidate& candidate, const Standing& standing) const;
    // Whether this version may lead over what is stored; notes in `standing` if it must raise it.
    Result<void> CheckLayout(const Candidate& candidate, Standing& standing) const;
    // The steps to our layout, under the term that has just begun.
    Async<Result<void>> RaiseLayout(Term term, unsigned from);
    Async<Result<Term>> Campaign(Candidate candidate, Standing standing, LeaderRow replaced);
    pb::TxnRequest Ballot(const Candidate& candidate, const Standing& standing,
                          const LeaderRow& replaced, std::uint64_t epoch) const;
    // Puts the node's key under a new lease.
    Async<Result<void>> AnnounceAnew(NodeRow node, Duration ttl, Steady latest);
    Async<Result<void>> Withdraw(NodeId node);
    void ForgetLost(const Standing& standing);
    // Best effort: a lease that stays holds no key of ours and runs out by itself.
    Async<bool> RevokeLease(std::int64_t lease);
    std::optional<Lease> lease(const NodeId& node);
    // Until when an answer that keeps a lead may come.
    Steady Latest();

    Client& client_;
    const Keys& keys_;
    const Schema schema_;
    std::mutex mutex_;
    std::map<NodeId, Lease> leases_;  // Of nodes that were announced here.
    Duration ttl_{10'000};            // Of the last announcement.
};

}  // namespace takt::internal::etcd
