// WebSocket connections (RFC 6455), the same handle on the server's and the client's side.
//
// Compression is never negotiated: its window would cost 64 KB for each idle worker.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace takt::internal {

// Close codes of RFC 6455 that we send.
enum class WebSocketCode : std::uint16_t {
    kNormal = 1000,
    kGoingAway = 1001,
    kProtocolError = 1002,
    kLost = 1006,  // Never sent: the connection ended without a close frame.
    kBadText = 1007,
    kPolicy = 1008,
    kTooLarge = 1009,
    kInternal = 1011,
    kTryLater = 1013,
};

// The bytes that sessions keep together of messages that have not come whole. From any thread.
class UnfinishedBytes {
  public:
    explicit UnfinishedBytes(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    // A session keeps `now` bytes instead of `before`. False, and nothing changes, if that is more
    // than all of them together may keep.
    bool Change(std::size_t before, std::size_t now) {
        if (now > before && bytes_.fetch_add(now - before) + (now - before) > bytes_max_) {
            bytes_.fetch_sub(now - before);
            return false;
        }
        if (now < before) bytes_.fetch_sub(before - now);
        return true;
    }

  private:
    const std::size_t bytes_max_;
    std::atomic<std::size_t> bytes_ = 0;
};

struct WebSocketOptions {
    std::size_t message_bytes_max = 1 << 20;  // A larger one is refused with kTooLarge.
    std::size_t queue_bytes_max = 4 << 20;    // Not yet taken by the peer; Send fails beyond.
    // A ping after this much silence; as much silence again, and the connection counts as lost.
    std::chrono::milliseconds ping_interval = std::chrono::seconds(20);
    // How long the peer may take to answer our close, and to take any byte when some are queued.
    std::chrono::milliseconds close_timeout = std::chrono::seconds(5);
    std::chrono::milliseconds write_timeout = std::chrono::seconds(30);
    // Null: the session's own message_bytes_max is all. Else a session that would keep too much is
    // closed with kTryLater.
    std::shared_ptr<UnfinishedBytes> unfinished = {};
};

// Every method may be called from any thread. The io_context must outlive it.
class WebSocketSession {
  public:
    virtual ~WebSocketSession() = default;

    // False, and nothing is queued, when the queue is full or the session is closing. Frames queued
    // together leave together.
    virtual bool SendText(std::string_view text) = 0;
    virtual bool SendBinary(std::string_view bytes) = 0;

    // Sends what is queued, then closes. A second call changes nothing.
    virtual void Close(WebSocketCode code, std::string_view reason) = 0;

    virtual std::size_t queued_bytes() const = 0;
    virtual const std::string& remote_address() const = 0;
};

struct WebSocketMessage {
    bool text;               // Known to be valid UTF-8.
    std::string_view bytes;  // Valid during the call.
};

struct WebSocketClosed {
    WebSocketCode code;  // The peer's, or why we closed.
    std::string reason;
};

// Called on the io thread, one at a time: on_open first, on_close last and always.
struct WebSocketCallbacks {
    WebSocketOptions options;
    std::move_only_function<void(std::shared_ptr<WebSocketSession>)> on_open;
    std::move_only_function<void(WebSocketMessage)> on_message;
    std::move_only_function<void(WebSocketClosed)> on_close;
};

}  // namespace takt::internal
