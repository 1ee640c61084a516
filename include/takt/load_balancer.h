// LoadBalancer: a strategy of your own for an embedded scheduler.
//
//     class Cheapest : public takt::LoadBalancer {
//       public:
//         std::size_t Pick(const takt::WorkToPlace& work,
//                          std::span<const takt::WorkerChoice> choices) override {
//             …
//         }
//     };
//
//     takt::SchedulerOptions options;
//     options.load_balancers["cheapest"] = [] { return std::make_unique<Cheapest>(); };
//     options.load_balance_strategy = takt::OwnStrategy("cheapest");
//
// Every scheduler of a cluster that may lead must know the strategy; one that does not uses
// least_tasks in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "takt/export.h"

namespace takt {

// A worker with room, as Pick sees it. Views are valid during the call.
struct WorkerChoice {
    std::string_view id;
    std::string_view name;
    std::string_view group;
    std::uint32_t capacity = 0;
    std::uint32_t running = 0;  // Below its capacity.
    std::uint32_t weight = 0;
    double cpu = 0;     // Fraction in use, 0 to 1, as it last said.
    double memory = 0;  // The same.
    std::uint32_t connections = 0;
    std::span<const std::pair<std::string_view, std::string_view>> labels;
};

// An execution that is to be placed.
struct WorkToPlace {
    std::string_view task_id;
    std::string_view task_name;
    std::string_view type;
    std::string_view queue;
    int priority = 0;
    std::uint32_t failures = 0;  // Attempts that failed so far.
    std::string_view payload;
};

class TAKT_EXPORT LoadBalancer {
  public:
    virtual ~LoadBalancer();

    // The index of the chosen one. Called for every execution on the scheduler's own thread, never
    // twice at once: it must not block, and must not call the scheduler. REQUIRES: choices are not
    // empty; those that stay keep their order from call to call. An index that does not exist, or
    // an exception, is logged, and the first choice is taken.
    virtual std::size_t Pick(const WorkToPlace& work, std::span<const WorkerChoice> choices) = 0;
};

// Makes a balancer: for each term of leadership, and anew after ResetLoadBalancer.
using MakeLoadBalancer = std::function<std::unique_ptr<LoadBalancer>()>;
using LoadBalancers = std::map<std::string, MakeLoadBalancer>;

}  // namespace takt
