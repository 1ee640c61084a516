// Whether this scheduler can be used, and if not, why: for probes, and for people who look at the
// status.
#pragma once

#include <string>
#include <vector>

#include "api/services.h"

namespace takt::internal {

// Why nobody leads the namespace: none of the schedulers that are there may. Empty: one of them may.
std::string WhyNoneMay(const Services& services, const Result<std::vector<NodeRow>>& nodes);

// GET /readyz.
void Readyz(Call call);

}  // namespace takt::internal
