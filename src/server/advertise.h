// Where others reach this server: what workers, executors and other schedulers are told.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "server/listen_address.h"

namespace takt::internal {

// The names of this machine among others. Either is empty if there is none that they could use.
struct OwnNames {
    // The address from which it reaches other networks.
    std::function<std::string(bool ipv6)> address;
    // The host name, if it leads to an address beyond loopback.
    std::function<std::string()> name;
};

// As the system says. The name may have to be looked up, which blocks.
OwnNames SystemNames();

struct AdvertiseWish {
    std::string advertise = {};  // The configured URL; empty: to be found.
    ListenAddress listen = {};   // With the port that was bound.
    bool tls = false;            // Certificates are for names rather than addresses.
    bool shared = false;         // Other schedulers may use the same store, and will need it.
};

// The URL to be told. An address that means every address of this machine is none that others could
// call: then the machine's own is looked for. kInvalid if there is none and others need it.
Result<std::string> AdvertisedUrl(const AdvertiseWish& wish, const OwnNames& own);

}  // namespace takt::internal
