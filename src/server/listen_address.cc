#include "server/listen_address.h"

#include <charconv>

namespace takt::internal {

Result<ListenAddress> ParseListenAddress(std::string_view text, std::string_view field) {
    const std::size_t colon = text.rfind(':');
    std::string_view host = colon == std::string_view::npos ? "127.0.0.1" : text.substr(0, colon);
    const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        host = {};  // An IPv6 address without its brackets; refused below.
    } else if (host.empty()) {
        host = "0.0.0.0";
    }
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (host.empty() || port.empty() || error != std::errc() || end != port.data() + port.size()) {
        return Fail(ErrorCode::kInvalid,
                    std::string(field) + ": '" + std::string(text.substr(0, 80)) +
                        "' is not an address; write it as 127.0.0.1:8080 or [::1]:8080",
                    std::string(field));
    }
    return ListenAddress{std::string(host), number};
}

std::string Joined(std::string_view host, std::uint16_t port) {
    const bool v6 = host.find(':') != std::string_view::npos;
    return (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
}

}  // namespace takt::internal
