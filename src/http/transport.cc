#include "http/transport.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>

namespace takt::internal::http {
namespace {

IoState StateOfErrno(IoState want) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? want : IoState::kFailed;
}

}  // namespace

Transport::Transport(boost::asio::ip::tcp::socket socket, SslPointer ssl)
    : socket_(std::move(socket)), ssl_(std::move(ssl)) {
    boost::system::error_code ignored;  // A socket that fails here fails at its first read.
    socket_.non_blocking(true, ignored);
    socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
    if (ssl_) AttachSocket(ssl_.get(), socket_.native_handle());
}

IoResult Transport::TryRead(std::span<char> into) {
    if (!is_open()) return {IoState::kFailed};
    if (ssl_) {
        ERR_clear_error();
        std::size_t bytes = 0;
        return TlsOutcome(SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes), bytes);
    }
    const ssize_t got = ::recv(socket_.native_handle(), into.data(), into.size(), 0);
    if (got > 0) return {IoState::kDone, static_cast<std::size_t>(got)};
    if (got == 0) return {IoState::kClosed};
    return {StateOfErrno(IoState::kWantRead)};
}

IoResult Transport::TryWrite(std::string_view head, std::string_view body) {
    if (!is_open()) return {IoState::kFailed};
    if (ssl_) {
        ERR_clear_error();
        const std::string_view part = head.empty() ? body : head;
        std::size_t bytes = 0;
        return TlsOutcome(SSL_write_ex(ssl_.get(), part.data(), part.size(), &bytes), bytes);
    }
    iovec parts[2] = {{const_cast<char*>(head.data()), head.size()},
                      {const_cast<char*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = body.empty() ? 1 : 2;
    const ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
    if (sent >= 0) return {IoState::kDone, static_cast<std::size_t>(sent)};
    return {StateOfErrno(IoState::kWantWrite)};
}

IoResult Transport::TryHandshake() {
    if (!ssl_) return {IoState::kDone};
    // The descriptor that TLS knows may be another connection's by now.
    if (!is_open()) return {IoState::kFailed};
    ERR_clear_error();
    return TlsOutcome(SSL_do_handshake(ssl_.get()), 0);
}

IoResult Transport::TlsOutcome(int returned, std::size_t bytes) {
    if (returned == 1) return {IoState::kDone, bytes};
    switch (SSL_get_error(ssl_.get(), returned)) {
        case SSL_ERROR_WANT_READ:
            return {IoState::kWantRead};
        case SSL_ERROR_WANT_WRITE:
            return {IoState::kWantWrite};
        case SSL_ERROR_ZERO_RETURN:
            return {IoState::kClosed};
        default:
            met_plain_http_ = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
            tls_error_ = TlsErrorText(ssl_.get());
            return {IoState::kFailed};
    }
}

void Transport::RefusePlainHttp() {
    constexpr std::string_view kRefusal =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 55\r\n"
        "Connection: close\r\n\r\n"
        "this port speaks TLS: its address begins with https://\n";
    ::send(socket_.native_handle(), kRefusal.data(), kRefusal.size(), MSG_NOSIGNAL);
    // Bytes that are left unread would reset the connection, and take the answer along.
    char rest[4096];
    for (int i = 0; i < 16 && ::recv(socket_.native_handle(), rest, sizeof rest, 0) > 0;) ++i;
}

bool Transport::HasBuffered() const {
    return ssl_ && SSL_has_pending(ssl_.get()) == 1;
}

void Transport::Cancel() {
    boost::system::error_code ignored;  // Fails only when the socket is closed already.
    socket_.cancel(ignored);
}

void Transport::ShutdownWrite() {
    if (!is_open()) return;
    if (ssl_ && SSL_is_init_finished(ssl_.get())) {
        ERR_clear_error();
        SSL_shutdown(ssl_.get());  // One try is enough: the peer only loses the courtesy.
    }
    boost::system::error_code ignored;  // The peer may be gone already.
    socket_.shutdown(boost::asio::socket_base::shutdown_send, ignored);
}

void Transport::Close() {
    boost::system::error_code ignored;  // The descriptor is released whatever close reports.
    socket_.close(ignored);
}

}  // namespace takt::internal::http
