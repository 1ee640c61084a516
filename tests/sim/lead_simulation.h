// LeadSimulation: schedulers that lead many partitions over one database, and nothing else: who leads
// what, while processes die, freeze, are cut off, come and go. One thread, one seed.
//
// What must hold whatever fails: no two schedulers trust a term of one partition at once, and whoever
// commits is the one that trusts. What must hold when nothing fails: everything is led.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/leadership.h"
#include "sim/world.h"
#include "store/call_store.h"
#include "store/memory/database.h"

namespace takt::internal::sim {

struct LeadOptions {
    std::uint64_t seed = 1;
    std::size_t nodes = 3;
    Partition partitions = 12;
    Duration margin{500};  // Taken off the ttl; negative: a term is trusted longer than it stands.
    ShareTimes shares;
};

// The database, and what can go wrong on the way to it.
struct LeadDatabase {
    explicit LeadDatabase(World& world)
        : world(world), rows({.clock = [&world] { return world.now(); }, .load_page_rows = 10}) {}

    World& world;
    MemoryDatabase rows;
    Micros latency_max = 2ms;  // Of one way.
    double reply_lost = 0;
    double request_late = 0;
    std::uint64_t requests = 0;  // All that were sent …
    std::uint64_t commits = 0;   // … and of these the commits.
};

class LeadStore;

class LeadNode {
  public:
    LeadNode(LeadDatabase& database, const LeadOptions& options, std::string name);
    ~LeadNode();

    void Crash();
    void Stop();
    void Freeze(Micros time);
    bool running() const { return process_->alive; }
    bool frozen() const { return process_->frozen_until > database_.world.now(); }
    void Cut(bool cut) { cut_ = cut; }

    bool Trusts(Partition partition) const;
    std::size_t leads() const;
    int elections() const { return elections_; }
    int depositions() const { return depositions_; }
    const std::string& name() const { return name_; }
    // Commits under its term, if it trusts one; a refusal ends the term, as in a node.
    void Commit(Partition partition);

  private:
    struct Seat;
    void HandOver(Partition partition, const NodeId& to);

    LeadDatabase& database_;
    const std::string name_;
    const ProcessPtr process_ = std::make_shared<Process>();
    const Duration wall_offset_{0};
    bool cut_ = false;
    int elections_ = 0;
    int depositions_ = 0;
    std::unique_ptr<SimRuntime> runtime_;
    std::unique_ptr<LeadStore> store_;
    std::unique_ptr<Presence> presence_;
    std::map<Partition, std::unique_ptr<Seat>> seats_;
};

class LeadSimulation {
  public:
    static constexpr Duration kTtl{3'000};

    explicit LeadSimulation(const LeadOptions& options);
    ~LeadSimulation();

    // Lets time pass, in which all that lead commit and everything is checked. The first thing that
    // went wrong stays in failure().
    void Run(Micros time);
    // Faults of all kinds at random, for so long; then everything is put right.
    void RunFaults(Micros time);

    LeadNode& Add();
    std::vector<std::unique_ptr<LeadNode>>& nodes() { return nodes_; }
    bool AllLed() const;
    // Runs until all is led; how long that took.
    Micros RunUntilLed(Micros bound);
    // The most that a running node leads, less the least.
    std::size_t Unevenness() const;
    // For how long a partition was without a leader, at most, since the last call.
    Micros LongestGap();
    const std::string& failure() const { return failure_; }
    LeadDatabase& database() { return database_; }

  private:
    void Check();
    void Fault();

    const LeadOptions options_;
    World world_;
    LeadDatabase database_;
    std::vector<std::unique_ptr<LeadNode>> nodes_;
    std::map<Partition, Steady> led_at_;
    Micros longest_gap_{0};
    std::string failure_;
    int started_ = 0;
};

}  // namespace takt::internal::sim
