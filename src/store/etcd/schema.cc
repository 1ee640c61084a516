#include "store/etcd/schema.h"

namespace takt::internal::etcd {

std::vector<LayoutStep> StepsToKnown() {
    const auto nothing_moves = [](Client&, const Keys&, Term) -> Async<Result<void>> {
        co_return {};
    };
    return {{2, nothing_moves}, {3, nothing_moves}};
}

Async<Result<void>> Schema::RunSteps(Client& client, const Keys& keys, Term term,
                                     unsigned from) const {
    for (const LayoutStep& step : steps) {
        if (step.to <= from) continue;
        Result<void> done = co_await step.run(client, keys, term);
        if (!done) co_return done;
    }
    co_return {};
}

}  // namespace takt::internal::etcd
