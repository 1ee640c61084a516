// Leadership: wins, keeps and gives up the lead of one partition, as Presence tells it how it stands.
//
// An announcement is only a hint; the fence in every commit is the truth. Leadership keeps the hint
// honest: it trusts its term only as long as Presence says that nobody can have taken it, by the
// steady clock, and steps down by itself when that passes. So two nodes rarely believe to lead at once,
// and when they do, the store refuses one.
//
// Used on the node's thread. Calls back on it, never from inside a call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/home.h"
#include "node/presence.h"
#include "node/runtime.h"
#include "store/store.h"

namespace takt::internal {

// Of one node, and of the presence that it makes for itself if it is the only one of its process.
struct LeadershipConfig {
    Partition partition = 0;
    Text name{"default"};  // Of the partition's namespace.
    NodeId node;
    Text address;
    Duration ttl{10'000};
    Duration renew_interval{3'000};
    Duration acquire_interval{700};
    Duration margin{1'000};
    ShareTimes shares;
    std::vector<Text> namespaces;  // That the process may lead; empty: all.
    // Each term's epoch is above it: tokens of locks begin with the epoch, and those of a namespace
    // that was deleted and made again under another number must rise all the same.
    std::uint64_t epoch_floor = 0;
};

class Leadership {
  public:
    struct Events {
        std::function<void(const Term&)> on_elected;
        // The term is over: fenced, taken, not kept in time, or given up. Not called by Resign.
        std::function<void(const std::string& why)> on_deposed;
        // leader() or trouble() has changed: another node leads, or none does any more, or the
        // store cannot say.
        std::function<void()> on_change;
        // This node leads more than its share: brings what is under way to its end and calls
        // HandOver, or leaves it.
        std::function<void(const NodeId& to)> on_hand_over;
        // The store ends at an earlier term than it did before, or has none any more: it has lost
        // what was written to it.
        std::function<void(std::uint64_t had, std::uint64_t has)> on_loss;
    };

    // `name` is that of the partition's namespace. The presence outlives it.
    Leadership(Runtime& runtime, Store& store, Presence& presence, Partition partition, Text name,
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

    // Gives the lead to another node, which is told by the row that it leaves.
    void HandOver(const NodeId& to);

    // Whether the term may still be trusted. To be asked right before acting on it.
    bool trusted() const;
    std::string WhyUntrusted() const;

    // Somebody has seen this epoch: the next one will be above it. A leader with a lower one cannot
    // be told from one of the past; it begins a new term, at once but no more often than three
    // times a minute: one worker that lies must not move the lead all the time.
    void NoteEpoch(std::uint64_t epoch);

    const std::optional<Term>& term() const { return term_; }
    // The leader as far as is known: this node, or what the store last said.
    const std::optional<LeaderRow>& leader() const { return leader_; }
    std::uint64_t elections() const { return elections_; }
    // Why the store could not be asked for the lead or be told of this node; empty if it could.
    const std::string& trouble() const { return trouble_; }

  private:
    void OnStanding(const Standing& standing);
    void CheckLoss(const Standing& standing);
    void OnOwnRow(const Standing& standing);
    void FollowLeader(const Standing& standing);
    void CampaignIn(Duration delay);
    void Campaign();
    void OnAcquired(Steady until, const Result<Term>& term);
    void Win(const Term& term, Steady until);
    void EndTerm(const NodeId& successor, const std::string& why);
    void WatchTrust();
    void Depose(const std::string& why);
    void NoteTrouble(std::string trouble);

    Runtime& runtime_;
    Store& store_;
    Presence& presence_;
    const Partition partition_;
    const Text name_;
    const Events events_;
    const std::shared_ptr<Trust> trust_ = std::make_shared<Trust>();
    std::optional<Term> term_;
    std::optional<LeaderRow> leader_;
    std::optional<LeaderRow> row_;  // The last term that was read; a new one replaces it.
    Steady won_at_{};               // What was read before says nothing about the term.
    Steady not_before_{};           // After it was given up, others go first.
    Steady resigned_at_{};          // What was read before shows a term that is given up.
    std::uint64_t epoch_floor_ = 0;
    std::uint64_t stored_epoch_ = 0;  // Of the last term that is known to have been stored,
    Steady stored_at_{};              // and since when: reads that began before may not show it.
    Steady lifting_since_{};          // Begin of the window in which
    std::uint32_t lifts_ = 0;         // so many asked for a later term.
    std::uint64_t elections_ = 0;
    std::string presence_trouble_;
    std::string acquire_trouble_;
    std::string trouble_;
    std::uint64_t timer_ = 0;  // Of the next campaign.
    std::uint64_t watch_ = 0;  // Of the end of trust.
    bool asking_ = false;
    bool stopped_ = false;
    Home home_;  // Its terms are this node's.
};

}  // namespace takt::internal
