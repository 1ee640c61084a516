// Leases: who leads a partition, and which schedulers are there. Calls may come from any thread;
// answers come from the client's.
//
// Three things, in up to two places of a cluster. {namespace}:node:<id> lives as long as its node is
// announced. {namespace}:leaders has the last term of each partition, so that one call reads them all.
// {namespace:partition}:fence is what every commit compares, and the truth: a term begins and ends
// there first, and only if the fence holds the term that is replaced. The row among the leaders
// follows; where it did not, the next candidate puts it right.
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
    void Resign(const Term& term, const NodeId& successor, Done<void> done);
    void Announce(const NodeRow& node, Duration ttl, Done<void> done);
    void Nodes(Done<std::vector<NodeRow>> done);
    void Leaders(Done<std::vector<LeaderRow>> done);

  private:
    // An Acquire on its way: what is stored, and who else is there.
    struct Campaign;
    using CampaignPtr = std::shared_ptr<Campaign>;

    void LookAround(CampaignPtr campaign);
    void OnLook(CampaignPtr campaign, const ReplyView& answer);
    void TakeTerm(CampaignPtr campaign);
    void OnTerm(CampaignPtr campaign, const Replies& replies);
    void OnOtherTerm(CampaignPtr campaign, const ReplyView& answer);
    // Takes on which condition it is written, see kPublish.
    Call PublishCall(const LeaderRow& row) const;
    void PublishTerm(CampaignPtr campaign, Term term);
    // The fence is of another layout: may this version raise it?
    void OnOtherLayout(CampaignPtr campaign, std::string_view stored);
    void RaiseLayout(CampaignPtr campaign, Term term, unsigned from);
    void OnLeaders(const ReplyView& answer, Done<std::vector<LeaderRow>> done);
    void AddOlderLeader(std::vector<LeaderRow> rows, Done<std::vector<LeaderRow>> done);

    Client& client_;
    Keyring& keys_;
    ServerCheck& check_;
    const Schema schema_;
    Random random_;
    Duration ttl_{10'000};  // Of the last announcement; how long an answer may take depends on it.
};

}  // namespace takt::internal::redis
