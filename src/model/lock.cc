#include "model/lock.h"

#include "model/record_scratch.h"
#include "record.pb.h"

namespace takt::internal {
namespace {

// Milliseconds, some 35,000 years, as for all stored times.
constexpr std::int64_t kHoldingTimeMax = std::int64_t{1} << 50;

bool IsTime(std::int64_t ms) {
    return ms >= -kHoldingTimeMax && ms <= kHoldingTimeMax;
}

}  // namespace

bool IsValidLockName(std::string_view name) {
    if (name.empty() || name.size() > kLockNameBytesMax) return false;
    // The rule of ids looks at the first character, and then at each alone.
    for (std::size_t i = 1; i < name.size(); ++i) {
        if (!IsValidId(std::string{'x', name[i]})) return false;
    }
    return IsValidId(name.substr(0, 1));
}

std::string EncodeLockHolding(const LockHolding& holding) {
    record::Scratch<record::LockHolding> scratch;
    record::LockHolding& to = *scratch;
    for (const LockGrant& grant : holding.locks) {
        record::LockGrant& lock = *to.add_locks();
        lock.mutable_name()->assign(grant.name.view());
        lock.set_permits(grant.permits);
        lock.set_token(grant.token);
    }
    to.mutable_owner()->assign(holding.owner.view());
    to.mutable_request_id()->assign(holding.request_id.view());
    to.set_ttl_ms(holding.ttl.count());
    to.set_since_ms(holding.since.time_since_epoch().count());
    to.mutable_execution()->assign(holding.execution.view());
    to.set_attempt(holding.attempt);
    return scratch.Encode();
}

Result<LockHolding> DecodeLockHolding(const Text& id, std::string_view bytes) {
    const auto refuse = [] {
        return Fail(ErrorCode::kInvalid, "the stored bytes are not the holder of a lock");
    };
    record::Scratch<record::LockHolding> scratch;
    if (!scratch.Decode(bytes)) return refuse();
    const record::LockHolding& from = *scratch;
    LockHolding holding{.id = id,
                        .locks = {},
                        .owner = from.owner(),
                        .request_id = from.request_id(),
                        .ttl = Duration(from.ttl_ms()),
                        .since = Time(Duration(from.since_ms())),
                        .execution = ExecutionId(from.execution()),
                        .attempt = from.attempt()};
    for (const record::LockGrant& lock : from.locks()) {
        if (lock.name().empty() || lock.permits() == 0) return refuse();
        holding.locks.push_back(
            {.name = lock.name(), .permits = lock.permits(), .token = lock.token()});
    }
    const bool lease = from.ttl_ms() > 0;
    const bool whole = !holding.locks.empty() && from.ttl_ms() >= 0 && IsTime(from.ttl_ms()) &&
                       IsTime(from.since_ms()) && lease == from.execution().empty();
    if (!whole) return refuse();
    return holding;
}

}  // namespace takt::internal
