// Refusals of those who are known, on their way into the audit; see refusal_book.h.
#pragma once

#include <memory>

#include "api/services.h"

namespace takt::internal {

struct RefusedCall {
    const Route& route;
    const HttpRequest& request;
    const Principal& who;
    int status = 0;
};
// Counts a refusal, if its token is good, only not for this. Strangers are in the log alone. `realm` is
// the namespace that it was about. From any thread.
void CountRefusal(const std::shared_ptr<Services>& realm, const RefusedCall& refused);

}  // namespace takt::internal
