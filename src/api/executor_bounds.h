// Executors that a token is bound to.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "api/services.h"

namespace takt::internal {

// Whether the caller may speak for an executor of this id and service.
inline bool MayBe(const Call& call, const WorkerId& id, const Text& service) {
    const TokenBounds& bounds = call.who().bounds;
    const auto has = [](const std::vector<std::string>& list, std::string_view one) {
        return list.empty() || std::ranges::find(list, one) != list.end();
    };
    return has(bounds.worker_ids, id.view()) && has(bounds.services, service.view());
}

inline Problem NotYours(const WorkerId& id) {
    return {403, "not_yours", "the token is not for the executor '" + id.text().str() + "'", "id"};
}

}  // namespace takt::internal
