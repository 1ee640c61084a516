// Executors that a token is bound to.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/services.h"

namespace takt::internal {

// The fields of a request that name them.
struct ExecutorNames {
    std::string_view id = "id";
    std::string_view service = "id";
};

// Why the caller may not speak for an executor of this id and service; nothing if it may.
inline std::optional<Problem> WhyNotYours(const Call& call, const WorkerId& id, const Text& service,
                                          const ExecutorNames& names) {
    const TokenBounds& bounds = call.who().bounds;
    const auto has = [](const std::vector<std::string>& list, std::string_view one) {
        return list.empty() || std::ranges::find(list, one) != list.end();
    };
    const auto no = [](const std::string& what, std::string_view field) {
        return Problem{403, "not_yours", "the token is not for the " + what, std::string(field)};
    };
    if (!has(bounds.services, service.view())) {
        return no("service '" + service.str() + "'", names.service);
    }
    if (!has(bounds.worker_ids, id.view())) {
        return no("executor '" + id.text().str() + "'", names.id);
    }
    return std::nullopt;
}

}  // namespace takt::internal
