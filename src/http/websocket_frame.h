// The bytes of WebSocket frames, and nothing else: no socket, no clock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/websocket.h"

namespace takt::internal::http {

enum class FrameKind : std::uint8_t {
    kContinuation = 0,
    kText = 1,
    kBinary = 2,
    kClose = 8,
    kPing = 9,
    kPong = 10,
};

using MaskKey = std::array<char, 4>;

// The head before a payload. `mask`: the payload must be sent masked with that key (client).
std::string FrameHeader(FrameKind kind, std::size_t payload_bytes, std::optional<MaskKey> mask);
void ApplyMask(char* bytes, std::size_t size, const MaskKey& mask);

std::string ClosePayload(WebSocketCode code, std::string_view reason);

// The answer to a Sec-WebSocket-Key.
std::string WebSocketAccept(std::string_view key);
// 16 random bytes as base 64: what a client sends as its key.
std::string NewWebSocketKey();

// Takes bytes as they come and gives messages back.
class FrameReader {
  public:
    // `masked`: whether the peer must mask (clients must, servers must not).
    FrameReader(bool masked, std::size_t message_bytes_max)
        : masked_(masked), message_bytes_max_(message_bytes_max) {}

    void Append(std::string_view bytes);

    struct Frame {
        FrameKind kind;  // kText or kBinary is a whole message; never kContinuation.
        std::string_view payload;
    };

    // The next message or control frame; its payload lives until the next call. nullopt when more
    // bytes are needed, or when error() says that the peer broke a rule.
    std::optional<Frame> Next();

    std::optional<WebSocketCode> error() const { return error_; }
    // Of what has not come whole: bytes of a frame, and fragments before it.
    std::size_t buffered() const { return bytes_.size() + message_.size(); }
    // Gives back their memory; nothing comes any more.
    void Drop() {
        std::string().swap(bytes_);
        std::string().swap(message_);
        used_ = 0;
    }
    // Gives back the memory of what was given out; its payload lives no longer.
    void Compact();

  private:
    struct Header {
        FrameKind kind;
        bool final;
        std::size_t header_bytes;
        std::uint64_t payload_bytes;
        MaskKey mask;
    };
    std::optional<Header> ParseHeader();
    bool IsAllowed(const Header& header);
    std::optional<Frame> Assemble(const Header& header, std::string_view payload);
    std::optional<Frame> Whole(FrameKind kind, std::string_view payload);
    std::nullopt_t Broken(WebSocketCode code);

    const bool masked_;
    const std::size_t message_bytes_max_;
    std::string bytes_;
    std::size_t used_ = 0;                               // Of bytes_, by frames already given out.
    std::string message_;                                // Fragments so far.
    FrameKind message_kind_ = FrameKind::kContinuation;  // kContinuation: no message is open.
    bool message_done_ = false;
    std::optional<WebSocketCode> error_;
};

}  // namespace takt::internal::http
