// Whether this scheduler can be used, and if not, why: for probes, and for people who look at the
// status.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/services.h"

namespace takt::internal {

// The namespaces that this scheduler knows of; empty while somebody leads, as nobody asks then. On the
// server's thread.
using SpaceNames = std::set<std::string, std::less<>>;
SpaceNames SpacesIfLeaderless(const Services& services);

// Why nobody leads the namespace: none of the schedulers that are there may. Empty: one of them may.
// Names of what they may lead that are not in `known`, unless that is empty, are told: most likely they
// are misspelled.
std::string WhyNoneMay(const Services& services, const Result<std::vector<NodeRow>>& nodes,
                       const SpaceNames& known);

// GET /readyz.
void Readyz(Call call);

}  // namespace takt::internal
