// SignIn: people come in by an OpenID provider instead of a token. One for each thread that serves.
#pragma once

#include <cstddef>
#include <memory>

#include "api/sessions.h"
#include "signin/provider.h"

namespace takt::internal {

struct SignIn {
    std::shared_ptr<const Sessions> sessions;
    Provider provider;
    bool secure = true;         // Browsers come by TLS.
    std::size_t redeeming = 0;  // Codes of the provider that are under way.
};

}  // namespace takt::internal
