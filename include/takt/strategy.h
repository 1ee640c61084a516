// Strategies: how a worker is chosen among those that can take an execution, by name. One of your
// own is OwnStrategy("its name"); see load_balancer.h.
#pragma once

#include <string>
#include <string_view>

namespace takt {

inline constexpr std::string_view kStrategyLeastTasks = "least_tasks";
inline constexpr std::string_view kStrategyRoundRobin = "round_robin";
inline constexpr std::string_view kStrategyWeightedRoundRobin = "weighted_round_robin";
inline constexpr std::string_view kStrategyRandom = "random";
inline constexpr std::string_view kStrategyConsistentHash = "consistent_hash";
inline constexpr std::string_view kStrategyLeastConnections = "least_connections";
inline constexpr std::string_view kStrategyCapacityBased = "capacity_based";
inline constexpr std::string_view kStrategySticky = "sticky";
inline constexpr std::string_view kStrategyResourceAware = "resource_aware";

// The name under which SetLoadBalanceStrategy knows a strategy of the program's own.
inline std::string OwnStrategy(std::string_view name) {
    return "custom:" + std::string(name);
}

}  // namespace takt
