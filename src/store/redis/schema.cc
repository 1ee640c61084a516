#include "store/redis/schema.h"

#include <utility>

namespace takt::internal::redis {

std::vector<LayoutStep> StepsToKnown() {
    return {{3, [](Client&, const PartitionKeys&, const Term&, Done<void> done) { done({}); }}};
}

void Schema::RunSteps(Client& client, const PartitionKeys& keys, const Term& term, unsigned from,
                      Done<void> done) const {
    for (const LayoutStep& step : steps) {
        if (step.to != from + 1) continue;
        return step.run(client, keys, term,
                        [this, &client, &keys, term, next = step.to,
                         done = std::move(done)](Result<void> result) mutable {
                            if (!result) return done(std::move(result));
                            RunSteps(client, keys, term, next, std::move(done));
                        });
    }
    done({});
}

Result<void> CheckLayout(std::string_view stored, const Schema& schema) {
    const LayoutDecision decision = DecideLayout(stored, schema.range(), {}, "Redis");
    if (decision.kind != LayoutDecision::Kind::kRefuse) return {};
    return Fail(ErrorCode::kInvalid, decision.why, "store");
}

}  // namespace takt::internal::redis
