#include "api/cookie.h"

#include <algorithm>

namespace takt::internal {

std::string_view CookieOf(const HttpRequest& request, std::string_view name) {
    std::string_view rest = request.headers.Find("Cookie").value_or("");
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(';'), rest.size());
        std::string_view pair = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        while (pair.starts_with(' ')) pair.remove_prefix(1);
        if (pair.starts_with(name) && pair.substr(name.size(), 1) == "=") {
            return pair.substr(name.size() + 1);
        }
    }
    return {};
}

void KeepCookie(HttpResponse& response, const KeptCookie& cookie) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(cookie.lifetime).count();
    std::string text = std::string(cookie.name) + "=" + std::string(cookie.value) +
                       "; Path=" + std::string(cookie.path) +
                       "; Max-Age=" + std::to_string(seconds) + "; HttpOnly; SameSite=Lax";
    if (cookie.secure) text += "; Secure";
    response.headers.emplace_back("Set-Cookie", std::move(text));
}

}  // namespace takt::internal
