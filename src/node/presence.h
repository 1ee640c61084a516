// Presence: this process among the schedulers of a cluster. It announces the process, reads who leads
// what, and tells each Leadership of the process where its partition stands and whether to go for it.
//
// One for a process, whatever the number of its partitions: one write every `renew_interval`, one read
// every `acquire_interval` and one of the other schedulers now and then keep all of its terms and find
// out about all others.
//
// A term can be trusted until `announcement_started + ttl - margin`, by the steady clock, measured from
// before the request: until then its node is announced for sure, and nobody can take it. But it counts
// only for terms that a read which began after that announcement still showed: one may have been
// taken while the node was not announced.
//
// Lives on a runtime of its own or on that of a node; the members may live on others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "node/home.h"
#include "node/runtime.h"
#include "node/shares.h"
#include "store/store.h"

namespace takt::internal {

struct PresenceConfig {
    NodeRow row;
    Duration ttl{10'000};
    Duration renew_interval{3'000};
    Duration acquire_interval{700};  // How often it is read who leads, at least.
    Duration margin{1'000};          // Taken off the ttl: what clocks may drift and calls take.
    ShareTimes shares;
};

// Where a partition stands, by the last read.
struct Standing {
    std::optional<LeaderRow> row;      // Its last term.
    Steady read_at{};                  // When the read began. 0: there was none, only trouble.
    std::optional<Duration> campaign;  // After which time the node may go for it; nothing: not now.
    NodeId hand_over;                  // To whom its leader should hand it over; empty: to nobody.
    std::string
        trouble;  // Why the store could not be asked, or told of the node; empty if it could.
};

// Until when a term of a partition can be trusted, and when its Leadership was last heard of; shared by
// Presence and a Leadership, so that trust is not lost because a loop is busy. From any thread.
class Trust {
  public:
    void Extend(const Term& term, Steady until) {
        const std::lock_guard lock(mutex_);
        if (term_ != term) until_ = {};
        term_ = term;
        until_ = std::max(until_, until);
    }
    Steady Until(const Term& term) const {
        const std::lock_guard lock(mutex_);
        return term_ == term && !closed_ ? until_ : Steady{};
    }
    // From now on nothing is trusted: the node is withdrawn.
    void Close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
    }
    // Its loop runs.
    void Hear(Steady now) {
        const std::lock_guard lock(mutex_);
        heard_at_ = now;
    }
    Steady heard_at() const {
        const std::lock_guard lock(mutex_);
        return heard_at_;
    }

  private:
    mutable std::mutex mutex_;
    Term term_;
    Steady until_{};
    Steady heard_at_{};
    bool closed_ = false;
};

class Presence {
  public:
    // `tell` is called on the presence's thread, after each read.
    struct Member {
        Partition partition = 0;
        Text name;
        std::function<void(const Standing&)> tell;
        std::shared_ptr<Trust> trust = std::make_shared<Trust>();
    };

    Presence(Runtime& runtime, Store& store, PresenceConfig config, const RandomSeed& seed);
    // REQUIRES: on its thread, and all members have left.
    ~Presence();

    // All below from any thread.

    void Start();
    // Announces and reads no more; what was announced ends with its ttl.
    void Pause();
    // Takes the node off the list, and with it all of its terms. `done` comes, on the presence's
    // thread, when the store knows or could not be told; then it goes with its ttl.
    void Leave(Action done);

    void Join(Member member);
    void Part(Partition partition);

    // Until when the node is announced for sure; what is acquired now stands until then.
    Steady announced_until() const;
    // Somebody has learned that what was read last is not so any more.
    void ReadSoon();

    const PresenceConfig& config() const { return config_; }

  private:
    struct Place {
        Member member;
        std::uint64_t epoch = 0;  // Of the term of this node that `seat` counts from.
        Seat seat;
    };

    // A term of this node that no member has.
    struct Stray {
        Term term;
        Steady since{};
        Steady ended_at{};  // When the store was last asked to end it.
    };

    void Announce();
    void OnAnnounced(Steady asked, const Result<void>& result);
    void ReadNodes();
    void ReadNodesLater();
    void OnNodes(const std::vector<NodeRow>& rows);
    void Read();
    void OnRead(Steady began, Steady trusted, const Result<std::vector<LeaderRow>>& rows);
    void ReadLater(Duration delay);
    // Remembers since when this node leads it, and since when nobody does; true: nobody does.
    bool NoteSeat(Place& place, const LeaderRow* row);
    void NoteGoing(Seat& seat, bool goes);
    ShareView View() const;
    void TellAll(Steady began);
    // Trusts the terms that were read, and ends those whose loop hangs and those that nobody holds.
    void TrustRows(Steady trusted);
    void EndStrays();
    // What is wrong with announcing, or with reading; empty: nothing any more.
    void NoteTrouble(std::string& what, std::string trouble);
    const std::string& trouble() const;
    Duration Spread(Duration interval);
    Duration ReadGap();

    Runtime& runtime_;
    Store& store_;
    const PresenceConfig config_;
    Random random_;

    mutable std::mutex mutex_;
    Steady announced_until_{};  // Guarded by mutex_.

    // All below on the presence's thread.
    std::map<Partition, Place> places_;
    std::vector<LeaderRow> rows_;  // As they were last read.
    std::map<Partition, Stray> strays_;
    std::map<NodeId, Peer> peers_;
    std::string announce_trouble_;
    std::string read_trouble_;
    Steady started_{};
    Steady handed_over_{};
    Steady told_at_{};  // When the members were last told.
    std::uint64_t announce_timer_ = 0;
    std::uint64_t read_timer_ = 0;
    std::uint64_t nodes_timer_ = 0;
    bool open_ = false;  // Some partition had no leader at the last read.
    bool reading_ = false;
    bool read_again_ = false;
    bool paused_ = true;
    Home home_;
};

}  // namespace takt::internal
