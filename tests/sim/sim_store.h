// SimStore: one scheduler's connection to the simulated database, with everything that can go wrong
// on the way: latency, partitions, answers that are lost after the write was applied, writes that
// arrive after their sender gave up, copies that arrive again much later, batches that are refused as
// impossible, and a failover to a replica that was behind.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>

#include "sim/checker.h"
#include "sim/world.h"
#include "store/call_store.h"
#include "store/memory/database.h"

namespace takt::internal::sim {

// The database all schedulers share.
struct SimDatabase {
    explicit SimDatabase(World& world)
        : world(world), rows({.clock = [&world] { return world.now(); }, .load_page_rows = 7}) {}

    Result<void> Commit(const Batch& batch, Instant latest, Steady sent);

    // A replica that has received everything so far, with what the checkers know by then. It is
    // promoted later: whatever was written since is gone, and what is under way is lost.
    struct Copy;
    std::shared_ptr<const Copy> MakeCopy();
    void PutBack(const Copy& copy);
    // Whether a failover took away the term, or something that the term was told to be stored.
    bool HasLost(std::uint64_t nonce) const;
    std::uint64_t failovers() const { return failovers_; }
    Checker& CheckerOf(Partition partition) { return *watched.at(partition).checker; }
    // Of one way, for what concerns a partition.
    Micros LatencyMax(Partition partition) const;

    // The checker of a partition, and the configuration of its engines.
    struct Watched {
        Checker* checker = nullptr;
        const EngineConfig* config = nullptr;
    };

    World& world;
    MemoryDatabase rows;
    std::map<Partition, Watched> watched;
    // Narrow, so that some large payloads are already more than one commit takes. A batch may
    // exceed bytes_max by a row, as with etcd, whose requests may be twice as large.
    StoreLimits limits{
        .changes_max = 126, .bytes_max = 96u << 10, .pipeline_max = 2, .purge_max = 50};
    Micros latency_max = 2ms;          // Of one way.
    std::map<Partition, Micros> slow;  // The same, of partitions that are slower than others.
    std::set<Partition> stuck;         // What concerns these is not answered.
    bool hangs = false;                // Nothing is answered.
    bool refuses_next = false;         // The next batch is impossible, however often it is sent.
    double reply_lost = 0;             // Applied, but the sender never learns.
    double request_late = 0;           // The sender gives up; it arrives all the same.
    double request_again = 0;          // A copy of a commit arrives some seconds later.
    Duration deadline{1'000};          // After which a sender gives up.

  private:
    std::uint64_t Applied(std::uint64_t nonce) const;
    bool IsImpossible(const Batch& batch);
    Result<void> CommitUnfenced(const Batch& batch);
    Result<void> CommitBehindGap(const Batch& batch);
    void Acknowledge(const Batch& batch, const Result<void>& result);

    struct Known {
        Term term;
        std::uint64_t sequence = 0;
    };
    // By the term's nonce, the last sequence. Terms without a batch are there, too.
    std::map<std::uint64_t, std::uint64_t> applied_;
    std::map<std::uint64_t, std::uint64_t> acknowledged_;
    std::map<Partition, Known> current_;  // The terms that the rows know.
    std::set<std::uint64_t> impossible_;  // Terms whose next batch is.
    std::set<std::uint64_t> told_so_;     // Terms that were told: they are over.
    std::uint64_t failovers_ = 0;
    friend class SimStore;
};

class SimStore final : public CallStore<SimStore> {
  public:
    struct Link {
        bool cut = false;
    };

    // `link` says whether the database can be reached; it outlives the world's events.
    SimStore(SimDatabase& database, ProcessPtr process, const Link& link, SimRuntime& runtime);

    StoreLimits limits() const override { return database_.limits; }
    std::string Describe() const override { return "simulated"; }
    void Acquire(const Candidate& candidate, Done<Term> done) override;
    void Commit(BatchPtr batch, Done<void> done) override;
    void DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) override;
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override;
    void FindExecutions(Partition partition, std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override;

    template <typename Part, typename T, typename Work>
    void Call(Part, Work work, Done<T> done) {
        constexpr bool kWrites = std::is_same_v<Part, TermCall> || std::is_same_v<Part, LeaseCall>;
        Send<T>([&rows = database_.rows, work = std::move(work)] { return work(rows); },
                std::move(done), {.write = kWrites});
    }

  private:
    struct Kind {
        bool write = false;  // Nobody can tell whether one without an answer was done.
        Partition partition =
            kDefaultPartition;  // That it concerns; the first one's may concern all.
    };
    // Over the network and back.
    template <typename T>
    void Send(std::function<Result<T>()> work, Done<T> done, Kind kind);

    SimDatabase& database_;
    const ProcessPtr process_;
    const Link& link_;
    SimRuntime& runtime_;
    // When the last request of each partition arrives: they do in the order they were sent.
    std::map<Partition, Steady> last_arrivals_;
};

}  // namespace takt::internal::sim
