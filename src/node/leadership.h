// Leadership: wins, keeps and gives up the lead of one partition.
//
// A lease is only a hint; the fence in every commit is the truth. Leadership keeps the hint honest:
// it trusts a term only until `request_started + ttl - margin` by the steady clock, measured from
// before the request that renewed it, and steps down by itself when that passes without another
// success. So two nodes rarely believe to lead at once, and when they do, the store refuses one.
//
// Used on the node's thread. Calls back on it, never from inside a call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "node/home.h"
#include "node/runtime.h"
#include "store/store.h"

namespace takt::internal {

struct LeadershipConfig {
    Partition partition = 0;
    NodeId node;
    Text address;
    Duration ttl{10'000};
    Duration renew_interval{3'000};
    Duration acquire_interval{500};  // How often a follower asks whether the lead is free.
    Duration margin{1'000};          // Taken off the ttl: what clocks may drift and calls take.
};

class Leadership {
  public:
    struct Events {
        std::function<void(const Term&)> on_elected;
        // The term is over: fenced, not renewed in time, or given up. Not called by Resign.
        std::function<void(const std::string& why)> on_deposed;
        // leader() or trouble() has changed: another node leads, or none does any more, or the
        // store cannot say.
        std::function<void()> on_change;
    };

    Leadership(Runtime& runtime, Store& store, LeadershipConfig config, Random& random,
               Events events);
    ~Leadership();

    // Starts to campaign, and goes on whenever the lead is lost.
    void Start();

    // Gives up the lead and does not campaign again. `done` comes when the store knows, or could
    // not be told.
    void Resign(Action done);

    // A commit was refused: somebody else leads.
    void Fenced(const std::string& why);

    // This node cannot make use of the lead: lets another one try, and campaigns again itself.
    void GiveUp(const std::string& why);

    // Whether the term may still be trusted. To be asked right before acting on it.
    bool trusted() const;
    std::string WhyUntrusted() const;

    // The new epoch will be above this one too.
    void NoteEpoch(std::uint64_t epoch);

    const std::optional<Term>& term() const { return term_; }
    // Who leads as far as is known: this node, or what the store last said.
    const std::optional<LeaderRow>& leader() const { return leader_; }
    std::uint64_t elections() const { return elections_; }
    // Why the store could not be asked for the lead or to renew it; empty if it could.
    const std::string& trouble() const { return trouble_; }

  private:
    void Campaign();
    void CampaignLater();
    void AskWhoLeads();
    void RenewLater(Duration delay);
    void Renew();
    void WatchTrust();
    void Depose(const std::string& why);
    void OnAcquired(Steady asked, const Result<Term>& term);
    void OnRenewed(Steady asked, const Result<void>& result);
    void NoteTrouble(std::string trouble);

    Runtime& runtime_;
    Store& store_;
    const LeadershipConfig config_;
    Random& random_;
    const Events events_;
    std::optional<Term> term_;
    std::optional<LeaderRow> leader_;
    Steady trusted_until_{};
    std::uint64_t epoch_floor_ = 0;
    std::uint64_t elections_ = 0;
    std::string trouble_;
    std::uint64_t timer_ = 0;  // Of the next campaign or renewal.
    std::uint64_t watch_ = 0;  // Of the end of trust.
    bool stopped_ = false;
    Home home_;  // Its terms are this node's.
};

}  // namespace takt::internal
