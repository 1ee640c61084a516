// Sentinels: which server is the primary, by the word of the Sentinels that watch it.
//
// A planned failover leaves the old primary up and writable for some 8 s after its replica was
// promoted, so no broken connection tells of it: the Sentinels are asked each second, and after each
// commit. They say that a failover has begun two steps (0.1 s and more) before the replica is cut off
// from the old primary. A commit that was applied before all of them said that there is none is
// therefore older than the cut.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/topology.h"

namespace takt::internal::redis {

class Sentinels final : public Topology, public std::enable_shared_from_this<Sentinels> {
  public:
    Sentinels(boost::asio::io_context& io, const ConnectionSetup& setup,
              const RedisOptions& options, Left left);

    void Locate(HashSlot slot, Deadline deadline, Located done) override;
    void Suspect() override { known_ = false; }
    void Confirm(const Endpoint& at, Deadline deadline, Confirmed done) override;
    void Close() override;

  private:
    // The word of one of them on the primary.
    struct Word {
        Endpoint primary;
        std::uint64_t epoch = 0;  // The higher one is the newer.
        bool failover = false;    // Has begun, and nobody is promoted yet.
    };
    struct Sentinel {
        std::shared_ptr<Connection> connection;
        bool named = false;  // By the URL; the others by one another.
        std::optional<Word> word;
        Failure failure{Failure::Kind::kNotSent, "not asked yet"};
        // The failover that it has told of, until it says otherwise: it may be away meanwhile.
        std::optional<Deadline> failover_since;
        Endpoint failover_of;
        bool asked = false;   // A question is under way.
        bool silent = false;  // Did not answer the last one: nobody waits for it.
        bool waited = false;  // The round under way ends when this one has answered.
    };
    using SentinelPtr = std::shared_ptr<Sentinel>;
    struct Locating {
        Deadline deadline;
        Located done;
    };
    struct Confirming {
        Endpoint at;
        Deadline deadline;
        std::uint64_t round;  // The first whose questions are asked late enough.
        Confirmed done;
    };

    void Plan(Duration pause);
    void BeginRound();
    bool AllSilent() const;
    void Ask(const SentinelPtr& sentinel, Deadline deadline);
    void Heard(Sentinel& sentinel, std::expected<Replies, Failure> replies);
    void Add(const Endpoint& endpoint, bool named);
    // Takes up those that one knows of beside itself.
    void Discover(ReplyView others);
    void WarnOfRights(ReplyView reply);
    std::expected<Word, Failure> Read(const Replies& replies, const Endpoint& asked) const;
    void EndRound();
    // Weighs the words; false if there is none.
    bool Conclude();
    void Follow(const Endpoint& primary);
    // Whether the primary is being replaced: nothing is confirmed.
    bool Held(Deadline now) const;
    Failure Ignorance() const;
    void AnswerLocating(bool heard);
    void AnswerConfirming(std::uint64_t round, Deadline now);

    const std::string master_;
    const ConnectionSetup setup_;
    const Bytes question_;
    const Bytes question_of_others_;
    Left left_;
    boost::asio::io_context& io_;
    boost::asio::steady_timer timer_;
    std::vector<SentinelPtr> sentinels_;
    Deadline discovered_{};
    bool closed_ = false;
    bool warned_ = false;

    bool known_ = false;
    Endpoint primary_;  // No port: nobody has named one yet.
    std::uint64_t epoch_ = 0;
    std::optional<Deadline> older_since_;  // All say an epoch before ours since then.
    bool was_held_ = false;                // At the end of the last round.

    bool asking_ = false;  // A round is under way.
    std::uint64_t round_ = 0;
    Deadline began_{};
    Deadline planned_ = Deadline::max();
    std::deque<Locating> locating_;
    std::deque<Confirming> confirming_;
};

}  // namespace takt::internal::redis
