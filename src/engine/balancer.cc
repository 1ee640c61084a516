#include "engine/balancer.h"

#include <map>

namespace takt {
namespace {

// The one with the least in hand; among equals the one that has waited longest for its turn, so
// that idle workers share the work.
class LeastTasks final : public Balancer {
  public:
    std::size_t Pick(const Execution&, std::uint64_t lane,
                     std::span<const Choice> choices) override {
        std::uint64_t& last = last_[lane];
        std::size_t best = 0;
        for (std::size_t i = 1; i < choices.size(); ++i) {
            if (choices[i].busy < choices[best].busy ||
                (choices[i].busy == choices[best].busy && choices[best].order <= last &&
                 choices[i].order > last)) {
                best = i;
            }
        }
        last = choices[best].order;
        return best;
    }

  private:
    std::map<std::uint64_t, std::uint64_t> last_;
};

class RoundRobin final : public Balancer {
  public:
    std::size_t Pick(const Execution&, std::uint64_t lane,
                     std::span<const Choice> choices) override {
        std::uint64_t& last = last_[lane];
        std::size_t next = 0;
        while (next < choices.size() && choices[next].order <= last) ++next;
        if (next == choices.size()) next = 0;
        last = choices[next].order;
        return next;
    }

  private:
    std::map<std::uint64_t, std::uint64_t> last_;
};

}  // namespace

std::unique_ptr<Balancer> MakeBalancer(Strategy strategy, Random&) {
    switch (strategy) {
        case Strategy::kLeastTasks:
            return std::make_unique<LeastTasks>();
        case Strategy::kRoundRobin:
            return std::make_unique<RoundRobin>();
        default:
            return nullptr;
    }
}

}  // namespace takt
