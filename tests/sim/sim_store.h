// SimStore: one scheduler's connection to the simulated database, with everything that can go wrong
// on the way: latency, partitions, answers that are lost after the write was applied, writes that
// arrive after their sender gave up, and copies that arrive again much later.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "sim/checker.h"
#include "sim/world.h"
#include "store/memory/memory_database.h"
#include "store/store.h"

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

class SimStore final : public Store {
  public:
    struct Link {
        bool cut = false;
    };

    // `link` says whether the database can be reached; it and `config` outlive the world's events.
    SimStore(SimDatabase& database, ProcessPtr process, const Link& link, SimRuntime& runtime,
             const EngineConfig& config)
        : database_(database),
          process_(std::move(process)),
          link_(link),
          runtime_(runtime),
          config_(config) {}

    StoreLimits limits() const override { return database_.limits; }
    std::string Describe() const override { return "simulated"; }
    void Acquire(const Candidate& candidate, Done<Term> done) override;
    void Renew(const Term& term, Duration ttl, Done<void> done) override;
    void Resign(const Term& term, Done<void> done) override;
    void Leader(Partition partition, Done<std::optional<LeaderRow>> done) override;
    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override;
    void Nodes(Done<std::vector<NodeRow>> done) override;
    void Commit(BatchPtr batch, Done<void> done) override;
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override;
    void FindExecutions(std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override;
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override;
    void FindTask(const TaskId& id, Done<TaskRow> done) override;
    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override;
    void ListWorkers(Done<std::vector<Worker>> done) override;
    void ListSettings(const Text& key_prefix, Done<std::vector<SettingPut>> done) override;
    void ReadLog(const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override;
    void ReadEvents(Serial after, std::size_t limit, Done<std::vector<Event>> done) override;

  private:
    template <typename T>
    void Call(std::function<Result<T>()> work, Done<T> done, bool write);

    SimDatabase& database_;
    const ProcessPtr process_;
    const Link& link_;
    SimRuntime& runtime_;
    const EngineConfig& config_;
    Steady last_arrival_{};  // Requests arrive in the order they were sent.
};

}  // namespace takt::internal::sim
