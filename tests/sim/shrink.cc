#include "sim/shrink.h"

#include <algorithm>
#include <vector>

namespace takt::internal::sim {
namespace {

std::string WithoutNumbers(const std::string& text) {
    std::string rest;
    std::ranges::copy_if(text, std::back_inserter(rest), [](char c) { return c < '0' || c > '9'; });
    return rest;
}

class Shrinker {
  public:
    Shrinker(const SimulationOptions& options, std::string failure, std::size_t simulations_max)
        : failure_(std::move(failure)), simulations_max_(simulations_max) {
        shrunk_.options = options;
        shrunk_.options.trace = false;
        shrunk_.result = Simulate(shrunk_.options);
    }

    Shrunk Run() {
        // Until a whole round brings nothing: with fewer faults other steps may be needless.
        for (bool better = true; better && !spent();) {
            better = LeaveOut(&SimulationOptions::faults_left_out, shrunk_.result.faults);
            better |= LeaveOut(&SimulationOptions::steps_left_out, shrunk_.options.steps);
        }
        return shrunk_;
    }

  private:
    bool spent() const { return shrunk_.simulations >= simulations_max_; }

    // Halves, quarters, and so on down to single ones.
    bool LeaveOut(std::set<std::size_t> SimulationOptions::* which, std::size_t count) {
        bool better = false;
        for (std::size_t size = std::max<std::size_t>(count / 2, 1); size > 0; size /= 2) {
            for (std::size_t first = 0; first < count && !spent(); first += size) {
                SimulationOptions fewer = shrunk_.options;
                for (std::size_t i = first; i < std::min(first + size, count); ++i) {
                    (fewer.*which).insert(i);
                }
                if (fewer.*which == shrunk_.options.*which) continue;
                better |= Try(fewer);
            }
        }
        return better;
    }

    bool Try(const SimulationOptions& fewer) {
        ++shrunk_.simulations;
        const SimulationResult result = Simulate(fewer);
        if (!SameViolation(result.failure, failure_)) return false;
        shrunk_.options = fewer;
        shrunk_.result = result;
        return true;
    }

    const std::string failure_;
    const std::size_t simulations_max_;
    Shrunk shrunk_;
};

}  // namespace

bool SameViolation(const std::string& a, const std::string& b) {
    return a.empty() == b.empty() && WithoutNumbers(a) == WithoutNumbers(b);
}

Shrunk Shrink(SimulationOptions options, const std::string& failure, std::size_t simulations_max) {
    return Shrinker(options, failure, simulations_max).Run();
}

}  // namespace takt::internal::sim
