#include "http/dial.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace takt::internal::http {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kAddressesMax = 4;  // Tried in turn; a name with more is load balancing.

// This process or machine has none left: that says nothing about who was to be called.
bool IsOwnShortage(const boost::system::error_code& error) {
    namespace errc = boost::system::errc;
    return error == errc::too_many_files_open || error == errc::too_many_files_open_in_system ||
           error == errc::no_buffer_space || error == errc::not_enough_memory;
}

}  // namespace

IpAddress ToIpAddress(const asio::ip::address& address) {
    // Through text, so that mapped addresses are unwrapped by the same rule as typed ones. A zone
    // is not part of the address.
    std::string text = address.to_string();
    return ParseIpAddress(text.substr(0, text.find('%'))).value_or(IpAddress{});
}

asio::awaitable<Result<std::vector<asio::ip::tcp::endpoint>>> Dial::Resolve(const Url& url) {
    boost::system::error_code bad;
    const auto literal = asio::ip::make_address(url.host, bad);
    std::vector<tcp::endpoint> endpoints;
    if (!bad) {
        endpoints.emplace_back(literal, url.port);
        co_return endpoints;
    }
    timer_.expires_at(asio::steady_timer::time_point::max());
    names_.Ask(url.host, [self = weak_from_this()](const Result<HostAddresses>& found) {
        const auto dial = self.lock();
        if (!dial) return;
        dial->found_ = found;
        dial->timer_.cancel();
    });
    // The caller's deadline ends it, by Cancel.
    while (!found_ && !cancelled_) {
        co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    if (cancelled_) {
        co_return Fail(ErrorCode::kUnavailable,
                       fmt::format("{} was not resolved in time", url.host));
    }
    if (!*found_) co_return std::unexpected(found_->error());
    for (const auto& address : **found_) endpoints.emplace_back(address, url.port);
    co_return endpoints;
}

asio::awaitable<Result<std::shared_ptr<Transport>>> Dial::Connect(const Url& url,
                                                                  DialOptions options) {
    const auto self = shared_from_this();
    auto endpoints = co_await Resolve(url);
    if (!endpoints) co_return std::unexpected(endpoints.error());
    if (options.allow_address) {
        for (const tcp::endpoint& endpoint : *endpoints) {
            const IpAddress address = ToIpAddress(endpoint.address());
            if (options.allow_address(address)) continue;
            co_return Fail(
                ErrorCode::kInvalid,
                fmt::format("{} is at {}, which is not allowed", url.host, address.Text()), "url");
        }
    }
    std::string problem = "it has no address";
    for (std::size_t i = 0; i < std::min(endpoints->size(), kAddressesMax) && !cancelled_; ++i) {
        problem = co_await TryEndpoint(url, (*endpoints)[i], options);
        timer_.cancel();
        if (problem.empty()) co_return std::move(transport_);
    }
    co_return Fail(own_shortage_ ? ErrorCode::kExhausted : ErrorCode::kUnavailable,
                   fmt::format("cannot connect to {}: {}", url.Authority(), problem));
}

void Dial::ArmTimer(std::chrono::milliseconds timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
        const auto dial = error ? nullptr : self.lock();
        if (!dial) return;
        boost::system::error_code ignored;  // Closing cannot usefully fail.
        if (dial->socket_) dial->socket_->close(ignored);
        if (dial->transport_) dial->transport_->Close();
    });
}

// Why it failed; empty when transport_ is connected.
asio::awaitable<std::string> Dial::TryEndpoint(const Url& url, tcp::endpoint endpoint,
                                               const DialOptions& options) {
    socket_.emplace(io_);
    ArmTimer(options.connect_timeout);
    const auto [error] =
        co_await socket_->async_connect(endpoint, asio::as_tuple(asio::use_awaitable));
    tcp::socket socket = std::move(*socket_);
    socket_.reset();
    if (error == asio::error::operation_aborted) co_return "it did not answer in time";
    own_shortage_ = IsOwnShortage(error);
    if (error) co_return error.message();
    if (cancelled_) co_return "cancelled";
    transport_ = std::make_shared<Transport>(std::move(socket),
                                             url.tls ? options.tls.NewSession(url.host) : nullptr);
    std::string problem = url.tls ? co_await Handshake() : std::string();
    if (!problem.empty()) transport_.reset();
    co_return problem;
}

asio::awaitable<std::string> Dial::Handshake() {
    for (;;) {
        const IoResult result = transport_->TryHandshake();
        if (result.state == IoState::kDone) co_return std::string();
        if (result.state == IoState::kClosed || result.state == IoState::kFailed) {
            co_return "TLS: " + transport_->tls_error();
        }
        const auto [error] = co_await transport_->Wait(result.state);
        if (error) co_return "TLS handshake did not end in time";
    }
}

void Dial::Cancel() {
    cancelled_ = true;
    timer_.cancel();
    boost::system::error_code ignored;  // Closing cannot usefully fail.
    if (socket_) socket_->close(ignored);
    if (transport_) transport_->Close();
}

}  // namespace takt::internal::http
