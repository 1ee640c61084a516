// HTTP messages as handlers and callers see them: plain values, no Boost, cheap to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace takt::internal {

enum class HttpMethod : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions };

std::string_view Name(HttpMethod method);
std::optional<HttpMethod> ParseHttpMethod(std::string_view name);

// "Not Found" for 404; "Status" for a number that has no registered phrase.
std::string_view HttpStatusPhrase(int status);

bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// A token that may stand as a header's name; a text without control characters that may be a value.
// What fails these must not be sent: a line break in a value would start another header.
bool IsHttpHeaderName(std::string_view name);
bool IsHttpHeaderValue(std::string_view value);

// The headers of a message that was received, in order. All text lives in one block, so a message
// costs two allocations however many headers it has.
class HttpHeaders {
  public:
    void Reserve(std::size_t bytes, std::size_t count);
    void Add(std::string_view name, std::string_view value);

    // The first value of that name (case does not matter), nullopt when it is absent. The view
    // lives as long as this object is not changed.
    std::optional<std::string_view> Find(std::string_view name) const;

    std::size_t size() const { return entries_.size(); }
    std::pair<std::string_view, std::string_view> at(std::size_t index) const;

  private:
    struct Entry {
        std::uint32_t start;
        std::uint32_t name_bytes;
        std::uint32_t value_bytes;
    };
    std::string text_;
    std::vector<Entry> entries_;
};

// Headers to be sent.
using HttpHeaderList = std::vector<std::pair<std::string, std::string>>;

// Whether a comma-separated header value names `token`, in any case, parameters ignored.
bool ListHasToken(std::string_view list, std::string_view token);

struct HttpHeadLimits {
    std::size_t bytes_max = 16 << 10;  // Start line and all headers.
    std::size_t count_max = 100;
};

class HttpGone;

struct HttpRequest {
    HttpMethod method = HttpMethod::kGet;
    bool http_1_0 = false;
    bool tls = false;
    std::string target;     // As received.
    std::string path;       // Percent-decoded once; starts with '/', or is "*" (OPTIONS only).
    std::string raw_path;   // Not decoded; what routes are matched by, segment by segment.
    std::string raw_query;  // After '?', not decoded, known to be well-formed.
    HttpHeaders headers;
    std::string body;
    std::string remote_address;  // "127.0.0.1", "::1"; never a header's claim.
    std::uint16_t remote_port = 0;
    std::string request_id;
    std::vector<std::pair<std::string, std::string>> parameters;  // The route's {id} → value.
    std::shared_ptr<HttpGone> gone;  // See HttpHeadVerdict::watch; else null.

    // The first value of a query parameter, decoded ('+' is a space); nullopt when it is absent.
    std::optional<std::string> Query(std::string_view name) const;
    std::vector<std::pair<std::string, std::string>> QueryAll() const;

    // The value a route's {name} matched; empty when the route has none of that name.
    std::string_view Parameter(std::string_view name) const;
};

// Splits and decodes a request target in origin, absolute or asterisk form into `request`. kInvalid
// for anything a path must not contain: broken escapes, control characters, "." and ".." segments.
Result<void> ParseTarget(std::string_view target, HttpRequest& request);

// Percent-decodes once; nullopt for a broken escape or one that spells a control character.
std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space);
std::string PercentEncode(std::string_view text);

class EventStream;
struct EventStreamOptions;
class WebSocketSession;
struct WebSocketCallbacks;

struct HttpResponse {
    int status = 200;
    std::string content_type;  // Empty: no Content-Type header.
    HttpHeaderList headers;
    std::string body;
    // When not empty, the body instead of `body`, in memory that outlives the server: embedded
    // files.
    std::string_view static_body;

    // Turns the answer into an event stream (see event_stream.h): called on the server's thread
    // once the head is sent. status and body are ignored.
    std::shared_ptr<EventStreamOptions> event_stream;
    // Takes the connection as a WebSocket (see websocket.h). The server answers 101, or 400/426
    // when the request is no proper handshake; status and body are ignored.
    std::shared_ptr<WebSocketCallbacks> websocket;

    static HttpResponse Text(int status, std::string text);
    static HttpResponse Json(int status, std::string json);
};

// Answers one request, once, from any thread. Destroying it unused answers 500: a handler that
// forgets a request must not hang its client. The io_context must outlive it.
using HttpReply = std::move_only_function<void(HttpResponse)>;

// A handler's decision when it has seen the head, before a byte of the body is kept.
struct HttpHeadVerdict {
    std::size_t body_bytes_max;
    std::unique_ptr<HttpResponse> refusal;  // Set: answer this, read no body, ask no further.
    // Nothing is known of who sends it. The bodies of all strangers together may hold a quarter of
    // what there is, so that there is always room for others.
    bool stranger = false;
    // The handler takes its time: HttpRequest::gone tells when the client closes its connection before
    // it was answered.
    bool watch = false;
};

// One request on its way through a handler, from its head to its end: what was learnt from the head
// travels in it. Used on the server's thread, and gone after OnEnd or with the connection.
class HttpExchange {
  public:
    virtual ~HttpExchange() = default;

    // Whether it takes the body piece by piece, instead of as `HttpRequest::body`.
    virtual bool reads_body() const { return false; }
    // The next piece. False stops reading: OnEnd follows at once, and the connection closes after
    // the answer.
    virtual bool OnBody(std::string_view piece) { return true; }

    // The request is complete. Must not block; `reply` may be kept and used later.
    virtual void OnEnd(HttpRequest request, HttpReply reply) = 0;
};

class HttpHandler {
  public:
    virtual ~HttpHandler() = default;

    // The head of a request is there. `verdict` arrives with the server's defaults. Null: Handle
    // is called with the whole request. On the server's thread.
    virtual std::unique_ptr<HttpExchange> OnHead(const HttpRequest& request,
                                                 HttpHeadVerdict& verdict) {
        return nullptr;
    }

    // A whole request. Called on the server's thread, must not block it. `reply` may be kept and
    // used later.
    virtual void Handle(HttpRequest request, HttpReply reply) = 0;
};

}  // namespace takt::internal
