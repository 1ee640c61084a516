// ServerSettings: the keys of a configuration that only the parts of a server understand, read before
// anything is opened.
//
// `takt serve` and `takt serve --check` read them here, so that what the one refuses the other tells.
#pragma once

#include <optional>

#include "alerts/configured.h"
#include "base/error.h"
#include "base/id.h"
#include "config/config.h"
#include "links/service_policy.h"
#include "server/listen_address.h"

namespace takt::internal {

struct ServerSettings {
    ListenAddress listen;
    std::optional<NodeId> node_id;  // Nothing: the server makes one.
    ServicePolicy services;         // Whom executors may be called at.
    ConfiguredAlerts alerts;        // Each channel knows which addresses it may call.

    bool loopback() const;
};

// kInvalid with a line for each mistake, with its place: of these keys only, also of a configuration
// of which other keys could not be read.
Result<ServerSettings> ReadServerSettings(const Config& config);

}  // namespace takt::internal
