// Committer: takes gathered effects to the store and releases them in order.
//
// Group commit without waiting: a batch goes out as soon as there is room for it under way; what
// gathers meanwhile is the next one. Effects are released only after the commit that holds their
// changes, and after everything before them. Used on the node's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/effects.h"
#include "node/home.h"
#include "node/runtime.h"
#include "node/sink.h"
#include "store/company.h"
#include "store/store.h"

namespace takt::internal {

struct CommitterConfig {
    std::shared_ptr<Company> company =
        {};                      // Others who write to the store; null: nobody else does.
    Duration lazy_delay{1'000};  // Changes that are not urgent wait at most this long.
    Duration retry_delay{50};    // After a commit that the store could not take.
    Duration retry_delay_max{2'000};
    // When every commit has failed for so long, the term is given up. Who goes on deciding without
    // being able to write it down only gathers what will be forgotten.
    Duration give_up_after{10'000};
};

class Committer {
  public:
    struct Events {
        std::function<void(const Effects&)> release;
        // The term is over: the store knows a newer one, or refused a batch for good.
        std::function<void(const std::string& why)> on_fenced;
        // The store has taken no commit for too long: the term is to be given up.
        std::function<void(const std::string& why)> on_stuck;
        std::function<void(const Committed&)> on_commit = {};  // May be empty.
    };

    Committer(Runtime& runtime, Store& store, const Term& term, CommitterConfig config,
              Events events);
    ~Committer();

    // The effects that the engine adds to. After each step call NoteStep with the highest serial
    // that the engine has handed out, after the last step for now SendGathered.
    Effects& effects() { return gathering_; }
    void NoteStep(Serial last_serial);
    void SendGathered();

    // Sends what has gathered even if it is not urgent.
    void SendAll();

    // The term is over: nothing is sent or released any more, not even from inside a release.
    void Close();

    // Whether nothing is under way or waiting for the store.
    bool idle() const { return under_way_.empty() && gathering_.changes.empty(); }

    // Batches that wait for the store. When they pile up, new requests are to be refused.
    std::size_t backlog() const { return under_way_.size(); }
    std::size_t backlog_changes() const { return under_way_changes_; }
    std::size_t backlog_bytes() const { return under_way_bytes_; }

    // Why commits fail at the moment, the first of them: those behind it only say that they are.
    // Empty while none does.
    const std::string& trouble() const { return trouble_; }

    // The highest serial of a batch that the store has taken: it has all up to there, or lost some.
    Serial stored_serial() const { return stored_serial_; }
    std::uint64_t commits() const { return sequence_; }
    std::uint64_t changes() const { return changes_; }

  private:
    struct Batched {
        BatchPtr batch;  // Null: nothing to commit, only effects to release in their turn.
        Effects effects;
        bool sent = false;
        bool done = false;
        std::size_t bytes = 0;
        Steady tried_at{};  // First.
        std::chrono::microseconds took{};
    };

    void MeasureGathered();
    bool full() const;
    void CloseBatch();
    void SendBatches();
    void OnCommitted(std::uint64_t sequence, Result<void> result);
    void ReleaseDone();

    Runtime& runtime_;
    Store& store_;
    const Term term_;
    const CommitterConfig config_;
    const Events events_;
    const StoreLimits limits_;
    Effects gathering_;
    std::size_t gathering_bytes_ = 0;
    std::vector<std::size_t> sizes_;  // Of the changes of gathering_, as far as they are measured.
    Serial last_serial_ = 0;
    Serial stored_serial_ = 0;
    std::deque<Batched> under_way_;
    std::size_t under_way_changes_ = 0;
    std::size_t under_way_bytes_ = 0;
    std::size_t sent_ = 0;  // Commits whose answer is awaited.
    bool stalled_ = false;  // A commit failed: all answers are awaited, then it is sent again.
    std::uint64_t sequence_ = 0;
    std::uint64_t changes_ = 0;
    std::uint64_t lazy_timer_ = 0;
    std::uint64_t retry_timer_ = 0;
    Duration retry_delay_;
    std::string trouble_;
    std::optional<Steady> troubled_since_;  // The first failure after the last success.
    bool closed_ = false;
    Home home_;
};

}  // namespace takt::internal
