#include "http/websocket_frame.h"

#include <openssl/evp.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "base/utf8.h"

namespace takt::internal::http {
namespace {

constexpr std::size_t kControlBytesMax = 125;  // RFC 6455, 5.5.
constexpr std::size_t kFrameKept = 1024;       // More is given back when it is empty.

bool IsControl(FrameKind kind) {
    return static_cast<std::uint8_t>(kind) >= 8;
}

std::string Base64(const unsigned char* bytes, std::size_t size) {
    std::string out((size + 2) / 3 * 4 + 1, '\0');  // OpenSSL writes a NUL after it.
    out.resize(static_cast<std::size_t>(EVP_EncodeBlock(
        reinterpret_cast<unsigned char*>(out.data()), bytes, static_cast<int>(size))));
    return out;
}

}  // namespace

std::string FrameHeader(FrameKind kind, std::size_t payload_bytes, std::optional<MaskKey> mask) {
    std::string out;
    out.push_back(static_cast<char>(0x80 | static_cast<std::uint8_t>(kind)));
    const int mask_bit = mask ? 0x80 : 0;
    int length_bytes = 0;
    if (payload_bytes < 126) {
        out.push_back(static_cast<char>(mask_bit | static_cast<int>(payload_bytes)));
    } else {
        length_bytes = payload_bytes <= 0xffff ? 2 : 8;
        out.push_back(static_cast<char>(mask_bit | (length_bytes == 2 ? 126 : 127)));
    }
    for (int i = length_bytes - 1; i >= 0; --i) {
        out.push_back(static_cast<char>(payload_bytes >> (8 * i) & 0xff));
    }
    if (mask) out.append(mask->data(), mask->size());
    return out;
}

void ApplyMask(char* bytes, std::size_t size, const MaskKey& mask) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(bytes[i] ^ mask[i & 3]);
}

std::string ClosePayload(WebSocketCode code, std::string_view reason) {
    const auto number = static_cast<std::uint16_t>(code);
    std::string out{static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
    std::size_t size = std::min(reason.size(), kControlBytesMax - 2);
    // Not in the middle of a character: the peer must find valid UTF-8.
    while (size > 0 && !IsValidUtf8(reason.substr(0, size))) --size;
    return out.append(reason.substr(0, size));
}

std::string WebSocketAccept(std::string_view key) {
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    TAKT_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) ==
               1);
    return Base64(digest.data(), size);
}

std::string NewWebSocketKey() {
    const RandomSeed bytes = NewRandomSeed();
    return Base64(bytes.data(), bytes.size());
}

void FrameReader::Append(std::string_view bytes) {
    Compact();
    bytes_.append(bytes);
}

void FrameReader::Compact() {
    if (message_done_) {
        message_ = std::string();
        message_done_ = false;
    }
    if (used_ == 0) return;
    bytes_.erase(0, used_);
    used_ = 0;
    if (bytes_.empty() && bytes_.capacity() > kFrameKept) bytes_ = std::string();
}

std::nullopt_t FrameReader::Broken(WebSocketCode code) {
    error_ = code;
    return std::nullopt;
}

std::optional<FrameReader::Header> FrameReader::ParseHeader() {
    const std::string_view bytes = std::string_view(bytes_).substr(used_);
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    if (bytes.size() < 2) return std::nullopt;
    Header header{};
    header.kind = static_cast<FrameKind>(at(0) & 0x0f);
    header.final = (at(0) & 0x80) != 0;
    if ((at(0) & 0x70) != 0) return Broken(WebSocketCode::kProtocolError);
    if (((at(1) & 0x80) != 0) != masked_) return Broken(WebSocketCode::kProtocolError);
    header.payload_bytes = at(1) & 0x7f;
    const std::size_t length_bytes =
        header.payload_bytes == 126 ? 2 : (header.payload_bytes == 127 ? 8 : 0);
    header.header_bytes = 2 + length_bytes + (masked_ ? 4 : 0);
    if (bytes.size() < header.header_bytes) return std::nullopt;
    if (length_bytes > 0) {
        header.payload_bytes = 0;
        for (std::size_t i = 0; i < length_bytes; ++i) {
            header.payload_bytes = header.payload_bytes << 8 | at(2 + i);
        }
    }
    if (masked_) bytes.copy(header.mask.data(), 4, 2 + length_bytes);
    if (!IsAllowed(header)) return std::nullopt;
    return header;
}

// Decides from the header alone, before a byte of the payload is waited for.
bool FrameReader::IsAllowed(const Header& header) {
    switch (header.kind) {
        case FrameKind::kClose:
        case FrameKind::kPing:
        case FrameKind::kPong:
            if (header.final && header.payload_bytes <= kControlBytesMax) return true;
            break;
        case FrameKind::kText:
        case FrameKind::kBinary:
        case FrameKind::kContinuation: {
            const bool open = message_kind_ != FrameKind::kContinuation;
            if (open != (header.kind == FrameKind::kContinuation)) break;
            if (header.payload_bytes <= message_bytes_max_ &&
                message_.size() <= message_bytes_max_ - header.payload_bytes) {
                return true;
            }
            error_ = WebSocketCode::kTooLarge;
            return false;
        }
    }
    error_ = WebSocketCode::kProtocolError;
    return false;
}

std::optional<FrameReader::Frame> FrameReader::Next() {
    // Each round consumes a frame; fragments that complete nothing are bounded by the message size
    // and, when empty, by the bytes that were appended.
    while (!error_) {
        if (message_done_) Compact();
        const auto header = ParseHeader();
        if (!header) return std::nullopt;
        const std::size_t whole = header->header_bytes + header->payload_bytes;
        if (bytes_.size() - used_ < whole) return std::nullopt;
        char* payload = bytes_.data() + used_ + header->header_bytes;
        if (masked_) ApplyMask(payload, header->payload_bytes, header->mask);
        used_ += whole;
        if (auto frame = Assemble(*header, {payload, header->payload_bytes})) return frame;
    }
    return std::nullopt;
}

// nullopt when the frame is not the end of a message, or breaks a rule.
std::optional<FrameReader::Frame> FrameReader::Assemble(const Header& header,
                                                        std::string_view payload) {
    if (IsControl(header.kind)) return Frame{header.kind, payload};
    if (header.final && header.kind != FrameKind::kContinuation) {
        return Whole(header.kind, payload);
    }
    if (header.kind != FrameKind::kContinuation) message_kind_ = header.kind;
    message_.append(payload);
    if (!header.final) return std::nullopt;
    message_done_ = true;
    return Whole(std::exchange(message_kind_, FrameKind::kContinuation), message_);
}

std::optional<FrameReader::Frame> FrameReader::Whole(FrameKind kind, std::string_view payload) {
    if (kind == FrameKind::kText && !IsValidUtf8(payload)) return Broken(WebSocketCode::kBadText);
    return Frame{kind, payload};
}

}  // namespace takt::internal::http
