// SimStore: one scheduler's connection to the simulated database, with everything that can go wrong
// on the way: latency, partitions, answers that are lost after the write was applied, writes that
// arrive after their sender gave up, and copies that arrive again much later.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>

#include "sim/checker.h"
#include "sim/world.h"
#include "store/call_store.h"
#include "store/memory/database.h"

namespace takt::internal::sim {

// The database all schedulers share.
struct SimDatabase {
    SimDatabase(World& world, Checker& checker)
        : world(world),
          checker(checker),
          rows({.clock = [&world] { return world.now(); }, .load_page_rows = 7}) {}

    Result<void> Commit(const Batch& batch, Time wall_latest, const EngineConfig& config);

    World& world;
    Checker& checker;
    MemoryDatabase rows;
    // Narrow, so that some large payloads are already more than one commit takes. A batch may
    // exceed bytes_max by a row, as with etcd, whose requests may be twice as large.
    StoreLimits limits{
        .changes_max = 126, .bytes_max = 96u << 10, .pipeline_max = 2, .purge_max = 50};
    Micros latency_max = 2ms;        // Of one way.
    double reply_lost = 0;           // Applied, but the sender never learns.
    double request_late = 0;         // The sender gives up; it arrives all the same.
    double request_again = 0;        // A copy of a commit arrives some seconds later.
    Duration deadline{1'000};        // After which a sender gives up.
    bool sabotage_no_fence = false;  // For tests of the tests: applies commits of any term.

  private:
    Result<void> CommitUnfenced(const Batch& batch);

    std::map<std::uint64_t, std::uint64_t> applied_;  // By the term's nonce: the last sequence.
    std::optional<Term> current_;                     // The term that the rows know.
    std::uint64_t current_sequence_ = 0;
    friend class SimStore;
};

class SimStore final : public CallStore<SimStore> {
  public:
    struct Link {
        bool cut = false;
    };

    // `link` says whether the database can be reached; it and `config` outlive the world's events.
    SimStore(SimDatabase& database, ProcessPtr process, const Link& link, SimRuntime& runtime,
             const EngineConfig& config);

    StoreLimits limits() const override { return database_.limits; }
    std::string Describe() const override { return "simulated"; }
    void Acquire(const Candidate& candidate, Done<Term> done) override;
    void Commit(BatchPtr batch, Done<void> done) override;
    void DropPartition(Partition partition, Done<void> done) override;

    template <typename Part, typename T, typename Work>
    void Call(Part, Work work, Done<T> done) {
        constexpr bool kWrites = std::is_same_v<Part, TermCall> || std::is_same_v<Part, LeaseCall>;
        Send<T>([&rows = database_.rows, work = std::move(work)] { return work(rows); },
                std::move(done), kWrites);
    }

  private:
    // Over the network and back. `write`: nobody can tell whether one without an answer was done.
    template <typename T>
    void Send(std::function<Result<T>()> work, Done<T> done, bool write);

    SimDatabase& database_;
    const ProcessPtr process_;
    const Link& link_;
    SimRuntime& runtime_;
    const EngineConfig& config_;
    Steady last_arrival_{};  // Requests arrive in the order they were sent.
};

}  // namespace takt::internal::sim
