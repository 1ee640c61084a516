// Leases: who leads a partition, by a fence that every commit compares and a key that lives as long
// as its ttl; and which schedulers are there. Calls may come from any thread; answers come from the
// client's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "store/redis/check.h"
#include "store/redis/client.h"
#include "store/redis/keys.h"
#include "store/redis/schema.h"
#include "store/store.h"

namespace takt::internal::redis {

class Leases {
  public:
    Leases(Client& client, Keyring& keys, ServerCheck& check, Schema schema);

    // As the store's own of the same names. Nobody leads on a server that was never checked.
    void Acquire(const Candidate& candidate, Done<Term> done);
    void Renew(const Term& term, Duration ttl, Done<void> done);
    void Resign(const Term& term, Done<void> done);
    void Leader(Partition partition, Done<std::optional<LeaderRow>> done);
    void Announce(const NodeRow& node, Duration ttl, Done<void> done);
    void Nodes(Done<std::vector<NodeRow>> done);

  private:
    // An Acquire on its way: what is stored, and who else is there.
    struct Campaign;
    using CampaignPtr = std::shared_ptr<Campaign>;

    void LookAround(CampaignPtr campaign);
    void TakeTerm(CampaignPtr campaign);
    void OnTerm(CampaignPtr campaign, const Replies& replies);
    // The fence is of another layout: may this version raise it?
    void OnOtherLayout(CampaignPtr campaign, std::string_view stored);
    void RaiseLayout(CampaignPtr campaign, Term term, unsigned from);

    Client& client_;
    Keyring& keys_;
    ServerCheck& check_;
    const Schema schema_;
    Random random_;
};

}  // namespace takt::internal::redis
