// From a URL to a connected transport: resolve, check every address, connect, TLS.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/url.h"
#include "http/address.h"
#include "http/name_lookup.h"
#include "http/transport.h"
#include "tls/client_context.h"

namespace takt::internal::http {

// The address of an endpoint as a policy sees it.
IpAddress ToIpAddress(const boost::asio::ip::address& address);

struct DialOptions {
    std::chrono::milliseconds connect_timeout;
    const std::function<bool(const IpAddress&)>& allow_address;
    TlsClientContext& tls;
};

class Dial : public std::enable_shared_from_this<Dial> {
  public:
    // `names` must outlive Connect.
    Dial(boost::asio::io_context& io, NameLookup& names) : io_(io), names_(names), timer_(io) {}

    // REQUIRES: a shared_ptr to this is kept until it returns.
    boost::asio::awaitable<Result<std::shared_ptr<Transport>>> Connect(const Url& url,
                                                                       DialOptions options);
    // The io thread: makes Connect fail soon.
    void Cancel();

  private:
    using tcp = boost::asio::ip::tcp;
    boost::asio::awaitable<Result<std::vector<tcp::endpoint>>> Resolve(const Url& url);
    boost::asio::awaitable<std::string> TryEndpoint(const Url& url, tcp::endpoint endpoint,
                                                    const DialOptions& options);
    boost::asio::awaitable<std::string> Handshake();
    void ArmTimer(std::chrono::milliseconds timeout);

    boost::asio::io_context& io_;
    NameLookup& names_;
    boost::asio::steady_timer timer_;
    std::optional<Result<HostAddresses>> found_;
    std::optional<tcp::socket> socket_;  // While it is being connected.
    std::shared_ptr<Transport> transport_;
    bool cancelled_ = false;
    bool own_shortage_ = false;  // The last address was not tried, for want of a descriptor here.
};

}  // namespace takt::internal::http
