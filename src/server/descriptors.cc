#include "server/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/log.h"

namespace takt::internal {
namespace {

// For the store, files, loops and outgoing calls: about 30 at rest, and one for each call to an
// executor (executors.concurrency_max is 100 unless told otherwise).
constexpr std::size_t kReserveMin = 32;
constexpr std::size_t kReserveMax = 1'024;
// A container may allow a billion. Some libraries close all that there may be before they start a
// process.
constexpr rlim_t kLimitMax = 1 << 20;

}  // namespace

void RaiseDescriptorLimit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlim_t wanted = std::min(limit.rlim_max, kLimitMax);
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        Log(LogLevel::kWarning, "server", "cannot raise the limit on open files",
            {{"wanted", static_cast<std::uint64_t>(wanted)}});
    }
}

std::size_t DescriptorLimit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kLimitMax;
    return limit.rlim_cur;
}

std::size_t ConnectionsWithin(std::size_t limit, std::size_t wanted) {
    const std::size_t reserve = std::clamp(limit / 4, kReserveMin, kReserveMax);
    return std::min(wanted, limit > reserve ? limit - reserve : 1);
}

}  // namespace takt::internal
