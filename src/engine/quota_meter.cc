#include "engine/quota_meter.h"

#include <algorithm>
#include <string>

namespace takt::internal {
namespace {

std::unexpected<Error> Reached(std::string_view quota, std::uint64_t most) {
    return Fail(ErrorCode::kExhausted,
                "the namespace has reached its quota " + std::string(quota) + " (" +
                    std::to_string(most) + "); try again later, or have it raised",
                "quotas." + std::string(quota));
}

// It will not fit later either.
std::unexpected<Error> TooLarge(std::uint64_t bytes, std::uint64_t most) {
    return Fail(ErrorCode::kExhausted,
                "the payload has " + std::to_string(bytes) +
                    " bytes, more than the namespace's quota payload_bytes (" +
                    std::to_string(most) + "); make it smaller, or have the quota raised",
                "quotas.payload_bytes");
}

}  // namespace

void QuotaMeter::Set(const Quotas& quotas, Steady now) {
    quotas_ = quotas;
    const auto rate =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(quotas.submits_per_second, UINT32_MAX));
    const RateLimit limit{.count = rate, .per = Duration(1'000)};
    // A change of another quota does not fill the bucket again.
    if (submits_.limit() != limit) submits_.Set(limit, now);
}

Result<void> QuotaMeter::Admit(const Wish& wish) {
    if (quotas_.executions_waiting > 0 && wish.waiting >= quotas_.executions_waiting) {
        return Reached("executions_waiting", quotas_.executions_waiting);
    }
    if (quotas_.payload_bytes > 0 && wish.payload_bytes > quotas_.payload_bytes) {
        return TooLarge(wish.payload_bytes, quotas_.payload_bytes);
    }
    if (quotas_.payload_bytes > 0 && payload_bytes_ + wish.payload_bytes > quotas_.payload_bytes) {
        return Reached("payload_bytes", quotas_.payload_bytes);
    }
    if (!submits_.limited() || !wish.submitted) return {};
    if (!submits_.Ready(wish.now)) return Reached("submits_per_second", submits_.limit().count);
    submits_.Spend();
    return {};
}

Result<void> QuotaMeter::AdmitWorker(std::size_t online) const {
    if (quotas_.workers > 0 && online >= quotas_.workers)
        return Reached("workers", quotas_.workers);
    return {};
}

}  // namespace takt::internal
