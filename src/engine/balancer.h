// Balancer: chooses one worker among those that can take an execution now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/random.h"
#include "model/execution.h"
#include "model/worker.h"

namespace takt::internal {

// The view that a strategy has of an eligible worker with room.
struct Choice {
    const Worker* worker = nullptr;
    const WorkerLoad* load = nullptr;
    std::uint32_t busy = 0;   // Attempts it has in hand; below its capacity.
    std::uint64_t order = 0;  // Rises with the time of joining; the same worker keeps it.
};

class Balancer {
  public:
    virtual ~Balancer() = default;

    // It has to be shown, if there are very many workers: all of them; those next in turn, and the
    // one it wants; or nothing, since an index of the crew knows whom it would choose.
    enum class Needs : std::uint8_t { kAll, kSome, kHashRing, kWeightedTurns };
    virtual Needs needs() const { return Needs::kAll; }
    // The order of the worker that it would have for this execution if that has room; 0: any.
    virtual std::uint64_t Wanted(const Execution&) const { return 0; }

    // The index of the chosen one. `lane` tells apart streams of executions that ask for different
    // things of a worker. REQUIRES: choices are not empty and sorted by `order`.
    virtual std::size_t Pick(const Execution& execution, std::uint64_t lane,
                             std::span<const Choice> choices) = 0;
};

// Null if the strategy is not one of the built-in ones.
std::unique_ptr<Balancer> MakeBalancer(Strategy strategy, Random& random);

}  // namespace takt::internal
