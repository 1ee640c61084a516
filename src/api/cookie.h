// Cookies: what a browser brings back, and what it is told to keep.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "http/message.h"

namespace takt::internal {

// The value of that name; empty if there is none.
std::string_view CookieOf(const HttpRequest& request, std::string_view name);

struct KeptCookie {
    std::string_view name;
    std::string_view value;
    Duration lifetime{0};  // 0: it is taken away.
    std::string_view path = "/";
    bool secure = true;  // By TLS only.
};
// No script may read it, and other sites' pages do not send it along with what they change.
void KeepCookie(HttpResponse& response, const KeptCookie& cookie);

}  // namespace takt::internal
