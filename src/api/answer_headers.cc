#include "api/answer_headers.h"

namespace takt::internal {

void GuardAnswer(HttpResponse& response, const HttpRequest& request) {
    response.headers.emplace_back("Cache-Control", "no-store");
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    KeepToTls(response, request);
}

void KeepToTls(HttpResponse& response, const HttpRequest& request) {
    if (!request.tls) return;
    response.headers.emplace_back("Strict-Transport-Security", "max-age=31536000");
}

}  // namespace takt::internal
