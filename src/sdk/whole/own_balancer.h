// A LoadBalancer of the embedding program as one of the engine's strategies.
#pragma once

#include <memory>
#include <string>

#include "engine/balancer.h"
#include "takt/load_balancer.h"

namespace takt {

// Null if `make` makes nothing or throws.
std::unique_ptr<internal::Balancer> WrapBalancer(const std::string& name,
                                                 const MakeLoadBalancer& make);

}  // namespace takt
