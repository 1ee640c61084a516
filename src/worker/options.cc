#include "worker/options.h"

#include <algorithm>

#include "base/id.h"
#include "base/number.h"
#include "base/space_name.h"

namespace takt::internal {
namespace {

// As the scheduler checks them; see model/worker.h and model/namespace.h, which this side does not
// otherwise need.
constexpr std::uint32_t kCapacityMax = 100'000;
constexpr std::uint32_t kWeightMax = 1'000;

std::unexpected<Error> Invalid(const char* field, std::string detail) {
    return Fail(ErrorCode::kInvalid, std::string(field) + " " + std::move(detail), field);
}

bool IsServerUrl(std::string_view url) {
    return url.starts_with("http://") || url.starts_with("https://");
}

}  // namespace

Result<HostPort> ParseHealthListen(std::string_view listen) {
    const std::size_t colon = std::min(listen.rfind(':'), listen.size());
    std::string_view host = listen.substr(0, colon);
    // 0 is any port that is free.
    const auto port = ParseNumber<std::uint16_t>(listen.substr(std::min(colon + 1, listen.size())));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (port && !host.empty()) return HostPort{std::string(host), *port};
    return Invalid("health_listen", "must be host:port, not '" + std::string(listen) + "'");
}

Result<void> CheckWorkerOptions(const WorkerOptions& options) {
    if (options.servers.empty()) return Invalid("servers", "must name at least one scheduler");
    for (const std::string& server : options.servers) {
        if (!IsServerUrl(server)) {
            return Invalid("servers", "must be http:// or https:// URLs, not '" + server + "'");
        }
    }
    if (!options.space.empty() && !IsSpaceName(options.space)) {
        return Invalid("namespace", "must be 1 to 63 of a-z 0-9 -, not beginning with -, not '" +
                                        options.space + "'");
    }
    if (!options.id.empty() && !IsValidId(options.id)) {
        return Invalid("id", "must be 1 to 64 characters of A-Z a-z 0-9 . _ ~ -");
    }
    if (options.capacity < 1 || options.capacity > kCapacityMax) {
        return Invalid("capacity", "must be 1 to " + std::to_string(kCapacityMax));
    }
    if (options.weight > kWeightMax) {
        return Invalid("weight", "must be 0 to " + std::to_string(kWeightMax));
    }
    if (!options.health_listen.empty()) {
        const auto listen = ParseHealthListen(options.health_listen);
        if (!listen) return std::unexpected(listen.error());
    }
    if (options.buffer_size < 1) return Invalid("buffer_size", "must be at least 1");
    if (options.backoff_min < Duration(1) || options.backoff_max < options.backoff_min) {
        return Invalid("backoff_max", "must not be below backoff_min, which must be positive");
    }
    for (const auto& [duration, field] :
         {std::pair{options.heartbeat, "heartbeat"}, std::pair{options.lease, "lease"},
          std::pair{options.task_timeout, "task_timeout"},
          std::pair{options.idle_timeout, "idle_timeout"},
          std::pair{options.stop_grace, "stop_grace"},
          std::pair{options.drain_timeout, "drain_timeout"}}) {
        if (duration < Duration(0) || duration > kDurationMax) {
            return Invalid(field, "must not be negative");
        }
    }
    return {};
}

}  // namespace takt::internal
