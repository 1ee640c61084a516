// Headers that keep an answer from being guessed at, kept or asked for in the clear, whoever sends it.
#pragma once

#include "http/message.h"

namespace takt::internal {

// For answers of the API: they are of the moment and may be secret.
void GuardAnswer(HttpResponse& response, const HttpRequest& request);
// For everything else, pages among it: a browser that came by TLS once is to come by TLS for a year.
void KeepToTls(HttpResponse& response, const HttpRequest& request);

}  // namespace takt::internal
