// Calls HTTP servers and opens WebSockets: pooled connections, a bound on everything, no redirects.
//
// A redirect is returned like any other answer: following it would undo the address check.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "http/address.h"
#include "http/log.h"
#include "http/message.h"
#include "http/websocket.h"
#include "tls/client_context.h"

namespace boost::asio {
class io_context;
}

namespace takt::internal {

struct HttpClientOptions {
    std::size_t connections_per_host_max = 64;  // Calls under way to one host; more wait.
    std::size_t waiting_max = 10'000;           // Beyond it kExhausted.
    std::size_t idle_per_host_max = 16;
    std::chrono::milliseconds idle_timeout = std::chrono::seconds(30);
    std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);  // Per address, with TLS.
    HttpHeadLimits head = {};
    TlsClientOptions tls = {};
    // Sees every address that a host resolves to; if it refuses one, the call fails with kInvalid.
    // The connection goes to an address that was seen. Empty: everything is allowed.
    std::function<bool(const IpAddress&)> allow_address = {};
    std::string user_agent = "takt";
    HttpLog log = {};
};

struct HttpAnswer {
    int status = 0;
    HttpHeaders headers;
    std::string body;
};

// Takes an answer as it comes, for those that have no end. On the io thread; returning false ends
// the call with kCancelled.
class HttpAnswerSink {
  public:
    virtual ~HttpAnswerSink() = default;
    virtual bool OnHead(const HttpAnswer& head) = 0;
    virtual bool OnPiece(std::string_view piece) = 0;
};

struct HttpCall {
    HttpMethod method = HttpMethod::kGet;
    std::string url;
    HttpHeaderList headers = {};
    std::string body = {};
    std::chrono::milliseconds timeout = std::chrono::seconds(30);  // Of everything together.
    std::size_t response_bytes_max = 4 << 20;                      // kExhausted beyond.
    // The status is the answer: a body that is too large, broken or not there in time is cut.
    bool status_only = false;
    // Instead of the client's. It sees the address of a connection that is used again, too.
    std::function<bool(const IpAddress&)> allow_address = {};
    // Set: the body goes there, of whatever size, and HttpAnswer::body stays empty. `timeout` is
    // then the longest silence.
    std::shared_ptr<HttpAnswerSink> sink = {};
    // Set: ends the call with kCancelled, and its connection, when it is told.
    std::shared_ptr<HttpGone> gone = {};
};

using HttpDone = std::move_only_function<void(Result<HttpAnswer>)>;

struct WebSocketCall {
    std::string url;  // ws:// or wss://
    HttpHeaderList headers = {};
    std::chrono::milliseconds timeout = std::chrono::seconds(10);  // Until the session is open.
};

namespace http {
class ClientCore;
}

// Threads: see server.h; the same rules.
class HttpClient {
  public:
    // kInvalid when the TLS files cannot be used.
    static Result<std::unique_ptr<HttpClient>> Create(boost::asio::io_context& io,
                                                      HttpClientOptions options);
    // Like Close.
    ~HttpClient();

    // Any thread; `done` is called on the io thread, once. Errors: kInvalid (URL, header or address
    // refused), kExhausted (an answer too large, with the field response_bytes_max; else nothing
    // was sent, for want of something here: too many calls wait, no descriptor is left),
    // kUnavailable (nothing was sent: it is not there, or does not take the connection), kUnknown
    // (sent, and no whole answer came; with the field timeout if that is why), kCancelled (Close). A
    // call that changes nothing twice (GET, HEAD, PUT, DELETE) is sent again when a pooled
    // connection turns out to be dead.
    void Send(HttpCall call, HttpDone done);

    // Any thread. Either callbacks->on_open is called, or `failed` with an error as above; a server
    // that refuses the handshake gives kConflict with its status in the detail, and the field
    // Authorization if it does so for want of a right (401, 403).
    void OpenWebSocket(WebSocketCall call, std::shared_ptr<WebSocketCallbacks> callbacks,
                       std::move_only_function<void(Error)> failed);

    // Any thread. Fails what is pending and drops the pool. WebSockets that are open stay
    // open; their handshakes run to their own deadline.
    void Close();

  private:
    explicit HttpClient(std::shared_ptr<http::ClientCore> core) : core_(std::move(core)) {}
    std::shared_ptr<http::ClientCore> core_;
};

// For programs without a loop. May be used from several threads; calls take turns.
class BlockingHttpClient {
  public:
    static Result<std::unique_ptr<BlockingHttpClient>> Create(HttpClientOptions options);
    ~BlockingHttpClient();

    Result<HttpAnswer> Send(HttpCall call);

  private:
    struct State;
    explicit BlockingHttpClient(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace takt::internal
