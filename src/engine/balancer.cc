#include "engine/balancer.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <utility>

#include "base/failpoint.h"

namespace takt::internal {
namespace {

// A strategy's memory of each lane. A worker that left leaves a little behind; when much has
// gathered, all of it goes: forgetting costs no more than one uneven round.
template <typename Memory>
class PerLane {
  public:
    Memory& operator[](std::uint64_t lane) {
        if (memories_.size() > 10'000) memories_.clear();
        return memories_[lane];
    }

  private:
    std::map<std::uint64_t, Memory> memories_;
};

// Picks the choice with the least `cost`; among equals the next one in turn, so that idle workers
// share the work.
class Turns {
  public:
    template <typename Cost>
    std::size_t Least(std::uint64_t lane, std::span<const Choice> choices, Cost cost) {
        std::uint64_t& last = last_[lane];
        std::size_t best = 0;
        auto best_cost = cost(choices[0]);
        for (std::size_t i = 1; i < choices.size(); ++i) {
            const auto next_cost = cost(choices[i]);
            const bool in_turn = choices[best].order <= last && choices[i].order > last;
            if (next_cost < best_cost || (next_cost == best_cost && in_turn)) {
                best = i;
                best_cost = next_cost;
            }
        }
        last = choices[best].order;
        return best;
    }

  private:
    PerLane<std::uint64_t> last_;
};

class LeastTasks final : public Balancer {
  public:
    Needs needs() const override { return Needs::kSome; }
    std::size_t Pick(const Execution&, std::uint64_t lane,
                     std::span<const Choice> choices) override {
        return turns_.Least(lane, choices, [](const Choice& choice) {
            return TAKT_MUTANT("engine.most_tasks") ? -std::int64_t(choice.busy)
                                                    : std::int64_t(choice.busy);
        });
    }

  private:
    Turns turns_;
};

class RoundRobin final : public Balancer {
  public:
    Needs needs() const override { return Needs::kSome; }
    std::size_t Pick(const Execution&, std::uint64_t lane,
                     std::span<const Choice> choices) override {
        if (TAKT_MUTANT("engine.skip_turns")) return 0;
        return turns_.Least(lane, choices, [](const Choice&) { return 0; });
    }

  private:
    Turns turns_;
};

// Each worker gathers its weight in every round; the one that has gathered most goes and pays for
// the whole round. So weights hold exactly over time, and heavy workers do not get their share in
// bursts.
class WeightedRoundRobin final : public Balancer {
  public:
    Needs needs() const override { return Needs::kWeightedTurns; }
    std::size_t Pick(const Execution&, std::uint64_t lane,
                     std::span<const Choice> choices) override {
        auto& gathered = gathered_[lane];
        if (gathered.size() > 4 * choices.size() + 16) gathered.clear();
        std::int64_t round = 0;
        std::size_t best = 0;
        std::int64_t best_gathered = INT64_MIN;
        for (std::size_t i = 0; i < choices.size(); ++i) {
            const std::int64_t weight =
                TAKT_MUTANT("engine.ignore_weights") ? 1 : choices[i].worker->weight;
            std::int64_t& own = gathered[choices[i].order];
            own += weight;
            round += weight;
            if (own > best_gathered) {
                best = i;
                best_gathered = own;
            }
        }
        gathered[choices[best].order] -= round;
        return best;
    }

  private:
    PerLane<std::map<std::uint64_t, std::int64_t>> gathered_;
};

class RandomChoice final : public Balancer {
  public:
    explicit RandomChoice(Random& random) : random_(random) {}

    Needs needs() const override { return Needs::kSome; }
    std::size_t Pick(const Execution&, std::uint64_t, std::span<const Choice> choices) override {
        return random_.Below(choices.size());
    }

  private:
    Random& random_;
};

// FNV-1a with a final mix: equal on every node and in every build.
std::uint64_t HashOf(std::string_view a, std::string_view b) {
    std::uint64_t hash = 14695981039346656037u;
    for (const std::string_view text : {a, std::string_view("\0", 1), b}) {
        for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
    hash ^= hash >> 33;
    hash *= 0xff51afd7ed558ccdu;
    return hash ^ hash >> 33;
}

// Rendezvous hashing: each worker bids with the hash of the task and itself, the highest bid wins.
// A worker that comes or goes changes only what it wins or had won, and a full one is stood in for
// by the second highest.
class ConsistentHash final : public Balancer {
  public:
    Needs needs() const override { return Needs::kHashRing; }
    std::size_t Pick(const Execution& execution, std::uint64_t,
                     std::span<const Choice> choices) override {
        const std::string_view task =
            TAKT_MUTANT("engine.hash_executions") ? execution.id.view() : execution.task->id.view();
        const auto best = std::ranges::max_element(choices, {}, [&](const Choice& choice) {
            return HashOf(task, choice.worker->id.view());
        });
        return static_cast<std::size_t>(best - choices.begin());
    }
};

// By the connections that workers report; one that reports none is taken by its tasks.
class LeastConnections final : public Balancer {
  public:
    Needs needs() const override { return Needs::kSome; }
    std::size_t Pick(const Execution&, std::uint64_t lane,
                     std::span<const Choice> choices) override {
        return turns_.Least(lane, choices, [](const Choice& choice) {
            const std::uint32_t said =
                TAKT_MUTANT("engine.ignore_connections") ? 0 : choice.load->connections;
            return std::pair(std::max(said, choice.busy), choice.busy);
        });
    }

  private:
    Turns turns_;
};

// The one with the most room.
class CapacityBased final : public Balancer {
  public:
    Needs needs() const override { return Needs::kSome; }
    std::size_t Pick(const Execution&, std::uint64_t lane,
                     std::span<const Choice> choices) override {
        return turns_.Least(lane, choices, [](const Choice& choice) {
            if (TAKT_MUTANT("engine.ignore_capacities")) return std::int64_t{choice.busy};
            return -(std::int64_t{choice.worker->capacity} - std::int64_t{choice.busy});
        });
    }

  private:
    Turns turns_;
};

// A task stays with the worker that ran it last, while that one has room. One-off tasks are told by
// their name.
class Sticky final : public Balancer {
  public:
    Needs needs() const override { return Needs::kSome; }
    std::uint64_t Wanted(const Execution& execution) const override {
        const auto found = workers_.find(KeyOf(execution));
        return found == workers_.end() ? 0 : found->second;
    }
    std::size_t Pick(const Execution& execution, std::uint64_t lane,
                     std::span<const Choice> choices) override {
        const auto [entry, is_new] = workers_.try_emplace(KeyOf(execution));
        std::uint64_t& worker = entry->second;
        if (is_new) Remember(entry->first);
        const auto same = std::ranges::lower_bound(choices, worker, {}, &Choice::order);
        if (same != choices.end() && same->order == worker && !TAKT_MUTANT("engine.unstick")) {
            return static_cast<std::size_t>(same - choices.begin());
        }
        const std::size_t index =
            turns_.Least(lane, choices, [](const Choice& choice) { return choice.busy; });
        worker = choices[index].order;
        return index;
    }

  private:
    static const Text& KeyOf(const Execution& execution) {
        const Task& task = *execution.task;
        return task.recurring() ? task.id.text() : task.name;
    }
    // Of very many names the one that came first is forgotten.
    void Remember(const Text& key) {
        keys_.push_back(key);
        if (keys_.size() <= 100'000) return;
        workers_.erase(keys_.front());
        keys_.pop_front();
    }

    std::map<Text, std::uint64_t> workers_;
    std::deque<Text> keys_;  // Of them, in the order in which they came.
    Turns turns_;
};

// By what the machine under the worker has left: processor first, then memory, then room for tasks.
class ResourceAware final : public Balancer {
  public:
    Needs needs() const override { return Needs::kSome; }
    std::size_t Pick(const Execution&, std::uint64_t lane,
                     std::span<const Choice> choices) override {
        return turns_.Least(lane, choices, [](const Choice& choice) {
            const double tasks = double(choice.busy) / double(choice.worker->capacity);
            if (TAKT_MUTANT("engine.ignore_resources")) return tasks;
            return 0.5 * choice.load->cpu + 0.3 * choice.load->memory + 0.2 * tasks;
        });
    }

  private:
    Turns turns_;
};

}  // namespace

std::unique_ptr<Balancer> MakeBalancer(Strategy strategy, Random& random) {
    switch (strategy) {
        case Strategy::kLeastTasks:
            return std::make_unique<LeastTasks>();
        case Strategy::kRoundRobin:
            return std::make_unique<RoundRobin>();
        case Strategy::kWeightedRoundRobin:
            return std::make_unique<WeightedRoundRobin>();
        case Strategy::kRandom:
            return std::make_unique<RandomChoice>(random);
        case Strategy::kConsistentHash:
            return std::make_unique<ConsistentHash>();
        case Strategy::kLeastConnections:
            return std::make_unique<LeastConnections>();
        case Strategy::kCapacityBased:
            return std::make_unique<CapacityBased>();
        case Strategy::kSticky:
            return std::make_unique<Sticky>();
        case Strategy::kResourceAware:
            return std::make_unique<ResourceAware>();
        case Strategy::kCustom:
            return nullptr;
    }
    return nullptr;
}

}  // namespace takt::internal
