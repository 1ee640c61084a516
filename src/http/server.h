// An HTTP/1.1 server: REST answers, server-sent events and WebSockets on one port.
//
//     boost::asio::io_context io;
//     auto server = HttpServer::Listen(io, {.port = 8080}, handler);
//     if (!server) …
//     io.run();
//
// Threads: an io_context must be run by one thread at a time; every callback of a connection runs
// on the one that it was given to. From other threads only HttpServer's own methods, HttpReply,
// EventStream and WebSocketSession may be used. For more cores give it more than one. The
// io_contexts must outlive all of these.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/log.h"
#include "http/message.h"
#include "tls/server_context.h"

namespace boost::asio {
class io_context;
}

namespace takt::internal {

// One line of the access log. Views are valid during the call.
struct HttpAccess {
    HttpMethod method;
    std::string_view target;
    std::string_view remote_address;
    std::string_view request_id;
    int status;
    std::size_t body_bytes;          // Of the answer, as sent.
    std::chrono::microseconds took;  // From the complete head to the written answer.
};

using HttpRefusal = std::function<HttpResponse(int status, std::string_view reason)>;

struct HttpServerOptions {
    std::string host = "127.0.0.1";  // An IP address, or a name that has one.
    std::uint16_t port = 0;          // 0: any free port, see HttpServer::port().

    HttpHeadLimits head = {};                      // 431 beyond.
    std::size_t body_bytes_max = 1 << 20;          // 413 beyond, unless OnHead allows more.
    std::size_t body_bytes_total_max = 256 << 20;  // Held by all requests together; 503 beyond.

    // A head that is not complete after this long is a slow attack or a dead client: 408.
    std::chrono::milliseconds head_timeout = std::chrono::seconds(10);
    // The same for a body; each 64 KB that arrive earn another second.
    std::chrono::milliseconds body_timeout = std::chrono::seconds(20);
    std::chrono::milliseconds idle_timeout = std::chrono::seconds(75);
    // The client takes no byte of an answer for this long.
    std::chrono::milliseconds write_timeout = std::chrono::seconds(30);
    // A handler has not replied: 503. Longer than any handler's own deadline should be.
    std::chrono::milliseconds reply_timeout = std::chrono::seconds(120);

    // 503 and close beyond. Addresses of one IPv6 /64 count as one.
    std::size_t connections_max = 20'000;
    std::size_t connections_per_address_max = 1'000;
    std::size_t connections_per_loopback_max = 20'000;  // Proxies and tests come from there.

    // How long requests of all connections together may keep the loop from whatever else it does.
    std::chrono::microseconds turn = std::chrono::milliseconds(1);

    std::size_t gzip_bytes_min = 1024;  // Smaller bodies do not fit fewer packets.

    std::optional<TlsServerFiles> tls = {};
    std::chrono::milliseconds tls_reload_interval = std::chrono::seconds(10);

    // The answer to a request that never reaches the handler, or that it does not answer in time;
    // plain text unless given.
    HttpRefusal refusal = {};

    HttpLog log = {};
    std::function<void(const HttpAccess&)> access_log = {};
};

namespace http {
class ServerCore;
}

// A loop that serves connections, and what answers them there.
struct HttpLoop {
    boost::asio::io_context& io;
    std::shared_ptr<HttpHandler> handler;
};

class HttpServer {
  public:
    // Listens at once; answers as soon as the io_context runs. kInvalid for an address that cannot
    // be used or bad TLS files, kUnavailable when the port is taken.
    static Result<std::unique_ptr<HttpServer>> Listen(boost::asio::io_context& io,
                                                      HttpServerOptions options,
                                                      std::shared_ptr<HttpHandler> handler);
    // The first loop accepts connections and hands them out in turn. REQUIRES: at least one loop.
    static Result<std::unique_ptr<HttpServer>> Listen(std::vector<HttpLoop> loops,
                                                      HttpServerOptions options);
    // Aborts what is still open, without waiting for it.
    ~HttpServer();

    std::uint16_t port() const;

    // Any thread. Accepts nothing more, lets running requests finish, ends event streams and
    // WebSockets, cuts what is left after `drain`, then calls `stopped` on one of the io threads.
    void Stop(std::chrono::milliseconds drain, std::move_only_function<void()> stopped);

    // Any thread. Takes new certificate files now instead of at the next interval.
    void ReloadTls();

    // Any thread.
    std::size_t connections() const;
    std::uint64_t requests() const;
    std::uint64_t refused_connections() const;

  private:
    explicit HttpServer(std::vector<std::shared_ptr<http::ServerCore>> cores)
        : cores_(std::move(cores)) {}
    std::vector<std::shared_ptr<http::ServerCore>>
        cores_;  // One for each loop; the first one accepts.
};

}  // namespace takt::internal
