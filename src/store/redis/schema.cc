#include "store/redis/schema.h"

#include <utility>

#include "store/redis/scripts.h"

namespace takt::internal::redis {
namespace {

// A hundred settings at a time, until the scan has come around.
void MoveSettings(Client& client, const PartitionKeys& keys, const Term& term, std::string cursor,
                  Done<void> done) {
    Call call{.lane = Lane::kLease, .slot = keys.slot, .script = &kGroupSettings};
    call.keys.Arg(keys.Of("fence")).Arg(keys.Of("settings")).Arg(keys.Of("setting_groups"));
    call.args.Arg(term.epoch).Arg(term.nonce).Arg(keys.prefix).Arg(cursor);
    client.Send(std::move(call),
                [&client, &keys, term, done = std::move(done)](Result<Replies> replies) mutable {
                    if (!replies) return done(std::unexpected(replies.error()));
                    const ReplyView next = replies->front().view();
                    if (next.is_nil()) return done(Fail(ErrorCode::kFenced, "the term is over"));
                    if (next.text() == "0") return done({});
                    MoveSettings(client, keys, term, std::string(next.text()), std::move(done));
                });
}

}  // namespace

std::vector<LayoutStep> StepsToKnown() {
    return {{3, [](Client&, const PartitionKeys&, const Term&, Done<void> done) { done({}); }},
            {4, [](Client& client, const PartitionKeys& keys, const Term& term, Done<void> done) {
                 MoveSettings(client, keys, term, "0", std::move(done));
             }}};
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
