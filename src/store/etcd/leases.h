// Leases: who leads a partition, by a key that lives as long as its lease, and who is there.
//
// The create revision of the leader key is the nonce of the term: etcd never gives it twice, and
// every commit compares it. The lease is only the hint that lets others try.
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
    Async<Result<void>> Renew(Term term, Duration ttl);
    Async<Result<void>> Resign(Term term);
    Async<Result<std::optional<LeaderRow>>> Leader(Partition partition);
    Async<Result<void>> Announce(NodeRow node, Duration ttl);
    Async<Result<std::vector<NodeRow>>> Nodes();

  private:
    // What there was before a new term.
    struct Standing {
        std::optional<pb::KeyValue> leader;
        std::optional<pb::KeyValue> epoch;
        std::optional<pb::KeyValue> layout;
        unsigned raise_from = 0;  // 0: the layout is ours, or there is none yet.
    };
    struct Lease {
        std::int64_t id = 0;
        Duration ttl{};  // As it was asked for; etcd rounds up.
    };

    Async<Result<Standing>> ReadStanding(Partition partition);
    // Whether this version may lead over what is stored; notes in `standing` if it must raise it.
    Async<Result<void>> CheckLayout(Candidate candidate, Standing& standing);
    Async<Result<std::vector<AnnouncedLayout>>> OtherLayouts(NodeId self);
    // The steps to our layout, under the term that has just begun.
    Async<Result<void>> RaiseLayout(Term term, unsigned from);
    // Ends the candidate's own earlier term. kConflict if it was not the last one any more.
    Async<Result<void>> Depose(Partition partition, pb::KeyValue leader);
    Async<Result<Term>> Campaign(Candidate candidate, Standing standing);
    pb::TxnRequest Ballot(const Candidate& candidate, const Standing& standing, std::uint64_t epoch,
                          std::int64_t lease) const;
    Async<Result<pb::KeyValue>> LeaderOf(Term term, Steady latest = Steady::max());
    // Puts the leader key under a new lease of another ttl.
    Async<Result<void>> MoveToNewLease(Term term, pb::KeyValue leader, Duration ttl, Steady latest);
    // Best effort: a lease that stays holds no key of ours and runs out by itself.
    Async<bool> RevokeLease(std::int64_t lease);
    std::optional<Lease> lease(const Term& term);
    void RememberLease(const Term& term, Lease lease);

    Client& client_;
    const Keys& keys_;
    const Schema schema_;
    std::mutex mutex_;
    std::map<Partition, std::pair<Term, Lease>> leases_;  // Of terms that began or went on here.
};

}  // namespace takt::internal::etcd
