#include "server/advertise.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <iterator>
#include <memory>

#include "base/url.h"

namespace takt::internal {
namespace {

using boost::asio::ip::address;

bool IsUseful(const address& found) {
    return !found.is_unspecified() && !found.is_loopback();
}

address AddressOf(const sockaddr_storage& from) {
    if (from.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
        return boost::asio::ip::address_v4(ntohl(v4.sin_addr.s_addr));
    }
    if (from.ss_family != AF_INET6) return {};
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
    boost::asio::ip::address_v6::bytes_type bytes{};
    std::copy(std::begin(v6.sin6_addr.s6_addr), std::end(v6.sin6_addr.s6_addr), bytes.begin());
    return boost::asio::ip::address_v6(bytes);
}

// Asks the routing table: connecting a datagram socket sends nothing. The addresses asked for are
// those of documentation, which belong to nobody.
std::string OutwardAddress(bool ipv6) {
    sockaddr_storage away{};
    socklen_t size = 0;
    if (ipv6) {
        auto& v6 = reinterpret_cast<sockaddr_in6&>(away);
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(9);
        inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr);
        size = sizeof v6;
    } else {
        auto& v4 = reinterpret_cast<sockaddr_in&>(away);
        v4.sin_family = AF_INET;
        v4.sin_port = htons(9);
        inet_pton(AF_INET, "192.0.2.1", &v4.sin_addr);
        size = sizeof v4;
    }
    const int descriptor = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return {};
    sockaddr_storage own{};
    socklen_t own_size = sizeof own;
    const bool found = ::connect(descriptor, reinterpret_cast<sockaddr*>(&away), size) == 0 &&
                       ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_size) == 0;
    ::close(descriptor);
    const address mine = found ? AddressOf(own) : address();
    return IsUseful(mine) ? mine.to_string() : std::string();
}

std::string UsefulHostName() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == 0) return {};
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(host.data(), nullptr, &hints, &list) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
    for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
        sockaddr_storage found{};
        std::copy_n(reinterpret_cast<const char*>(entry->ai_addr), entry->ai_addrlen,
                    reinterpret_cast<char*>(&found));
        if (IsUseful(AddressOf(found))) return host.data();
    }
    return {};
}

std::string OwnHost(bool ipv6, bool tls, const OwnNames& own) {
    std::string host = tls ? own.name() : std::string();
    if (host.empty() && ipv6) host = own.address(true);
    if (host.empty()) host = own.address(false);
    if (host.empty() && !tls) host = own.name();
    return host;
}

}  // namespace

OwnNames SystemNames() {
    return {.address = OutwardAddress, .name = UsefulHostName};
}

Result<std::string> AdvertisedUrl(const AdvertiseWish& wish, const OwnNames& own) {
    if (!wish.advertise.empty()) {
        const auto url = ParseUrl(wish.advertise);
        if (url) return wish.advertise;
        return Fail(ErrorCode::kInvalid,
                    "server.advertise: '" + wish.advertise +
                        "' is no address that others could call: " + url.error().detail,
                    "server.advertise");
    }
    const std::string scheme = wish.tls ? "https://" : "http://";
    boost::system::error_code is_name;
    const address listens = boost::asio::ip::make_address(wish.listen.host, is_name);
    if (is_name || !listens.is_unspecified()) {
        return scheme + Joined(wish.listen.host, wish.listen.port);
    }
    std::string host = OwnHost(listens.is_v6(), wish.tls, own);
    if (host.empty() && wish.shared) {
        return Fail(ErrorCode::kInvalid,
                    "cannot tell under which address others reach this scheduler: it listens on "
                    "every address, there is no route to other networks, and the host name leads "
                    "to none. Say it with --advertise http://HOST:" +
                        std::to_string(wish.listen.port),
                    "server.advertise");
    }
    // Nobody else has this store: those who call are on this machine.
    if (host.empty()) host = listens.is_v6() ? "::1" : "127.0.0.1";
    return scheme + Joined(host, wish.listen.port);
}

}  // namespace takt::internal
