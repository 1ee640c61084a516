// A request for a new access token, by the REST API or by the command line on a store of its own.
#pragma once

#include <string>

#include "api/access.h"
#include "base/error.h"
#include "base/json_view.h"
#include "base/random.h"
#include "base/time.h"

namespace takt::internal {

struct TokenRequest {
    std::string name;
    AccessRole role{};
    std::string space;  // Empty: that of whoever makes it.
    TokenBounds bounds;
    Duration expires_in{0};  // 0: never.
};

// kInvalid names the field at fault; also if the role cannot have the bounds.
Result<TokenRequest> ReadTokenRequest(const JsonView& object);

NewToken MakeRequested(TokenRequest request, Time now, Random& random);

}  // namespace takt::internal
