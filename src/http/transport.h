// A connected socket, plain or TLS, read and written without blocking.
//
// Waiting is for readiness, not for a filled buffer, so a connection at rest holds no buffer: ten
// thousand idle ones share the scratch space of the thread that serves them. asio::ssl::stream
// would keep 34 KB for each.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tls/session.h"

namespace takt::internal::http {

enum class IoState : std::uint8_t {
    kDone,       // Some bytes were moved.
    kWantRead,   // Wait(kWantRead), then try again.
    kWantWrite,  // Wait(kWantWrite), then try again.
    kClosed,     // The peer ended the stream in order.
    kFailed,     // Reset, TLS failure, or closed by us.
};

struct IoResult {
    IoState state;
    std::size_t bytes = 0;
};

// All of it on the thread that runs the socket's io_context.
class Transport {
  public:
    Transport(boost::asio::ip::tcp::socket socket, SslPointer ssl);

    IoResult TryRead(std::span<char> into);
    // Writes `head`, then `body`, in one system call where the transport allows it.
    IoResult TryWrite(std::string_view head, std::string_view body = {});
    IoResult TryHandshake();

    // True when TryRead may find bytes although the socket is not readable.
    bool HasBuffered() const;

    // Resumes when the socket is ready, or with an error when it was closed or Cancel was called.
    // REQUIRES: want is kWantRead or kWantWrite.
    auto Wait(IoState want) {
        return socket_.async_wait(WaitType(want),
                                  boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    template <typename Callback>
    void Wait(IoState want, Callback callback) {
        socket_.async_wait(WaitType(want), std::move(callback));
    }

    void Cancel();         // Every Wait resumes with an error; the connection stays open.
    void ShutdownWrite();  // Tells the peer that nothing more will come.
    void Close();
    bool is_open() const { return socket_.is_open(); }
    bool is_tls() const { return ssl_ != nullptr; }
    // Why the last TLS operation failed, for people.
    const std::string& tls_error() const { return tls_error_; }
    // Whether the peer sent HTTP where a TLS handshake was due.
    bool met_plain_http() const { return met_plain_http_; }
    // Tells that peer so, in clear text. One try, as much as the socket takes.
    void RefusePlainHttp();
    boost::asio::ip::tcp::socket& socket() { return socket_; }

  private:
    static boost::asio::socket_base::wait_type WaitType(IoState want) {
        return want == IoState::kWantWrite ? boost::asio::socket_base::wait_write
                                           : boost::asio::socket_base::wait_read;
    }
    IoResult TlsOutcome(int returned, std::size_t bytes);

    boost::asio::ip::tcp::socket socket_;
    SslPointer ssl_;
    std::string tls_error_;
    bool met_plain_http_ = false;
};

}  // namespace takt::internal::http
