// WireWriter: spells a message of protobuf field by field, without the message.
//
// The progress of a run goes along with every change of it, and is spelled as often; so are the frames
// that give a worker its attempts. To fill in a message and walk through it takes several times as
// long. Such bytes are read by the message itself, and tests say that both spell the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace takt::internal {

class WireWriter {
  public:
    // A number or a truth. As in every message, what is 0 is left out.
    void Number(std::uint32_t field, std::uint64_t value) {
        if (value == 0) return;
        MakeRoom(2 * kVarintMax);
        PutVarint(field << 3);
        PutVarint(value);
    }

    // One of several numbers in a row, between Begin and End.
    void Packed(std::uint64_t value) {
        MakeRoom(kVarintMax);
        PutVarint(value);
    }

    // Bytes that are left out where there are none.
    void Bytes(std::uint32_t field, std::string_view bytes) {
        if (!bytes.empty()) Item(field, bytes);
    }

    // One of several texts, or a message that is spelled already: there even if it is empty.
    void Item(std::uint32_t field, std::string_view bytes) {
        MakeRoom(2 * kVarintMax + bytes.size());
        PutVarint(field << 3 | 2);
        PutVarint(bytes.size());
        if (!bytes.empty()) std::memcpy(out_.data() + size_, bytes.data(), bytes.size());
        size_ += bytes.size();
    }

    // A text of two hexadecimal digits for each byte.
    void Hex(std::uint32_t field, std::span<const std::uint8_t> bytes) {
        static constexpr std::string_view kDigits = "0123456789abcdef";
        MakeRoom(2 * kVarintMax + 2 * bytes.size());
        PutVarint(field << 3 | 2);
        PutVarint(2 * bytes.size());
        for (const std::uint8_t byte : bytes) {
            out_[size_++] = kDigits[byte >> 4];
            out_[size_++] = kDigits[byte & 15];
        }
    }

    // A message within the message: what is written until End. Returns where it begins.
    std::size_t Begin(std::uint32_t field) {
        MakeRoom(2 * kVarintMax);
        PutVarint(field << 3 | 2);
        return ++size_;  // One byte for its length; most are short.
    }
    void End(std::size_t begin) {
        const std::size_t length = size_ - begin;
        if (length < 0x80) {
            out_[begin - 1] = static_cast<char>(length);
            return;
        }
        std::size_t more = 0;  // Bytes that its length takes beyond the first.
        for (std::size_t rest = length >> 7; rest > 0; rest >>= 7) ++more;
        MakeRoom(more);
        std::memmove(out_.data() + begin + more, out_.data() + begin, length);
        size_ = begin - 1;
        PutVarint(length);
        size_ += length;
    }

    // The bytes from there on. Until the next call.
    std::string_view Since(std::size_t begin) const {
        return std::string_view(out_).substr(begin, size_ - begin);
    }

    bool empty() const { return size_ == 0; }
    // All of it, until the next call.
    std::string_view view() const { return Since(0); }
    // Begins anew in the same memory.
    void Clear() { size_ = 0; }

    std::string Take() {
        out_.resize(size_);
        return std::move(out_);
    }

  private:
    static constexpr std::size_t kVarintMax = 10;

    void MakeRoom(std::size_t bytes) {
        if (out_.size() - size_ >= bytes) return;
        out_.resize(2 * out_.size() + bytes + kRoomAtFirst);
    }
    // REQUIRES: there is room.
    void PutVarint(std::uint64_t value) {
        char* to = out_.data() + size_;
        for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
        *to++ = static_cast<char>(value);
        size_ = static_cast<std::size_t>(to - out_.data());
    }

    static constexpr std::size_t kRoomAtFirst = 256;

    std::string out_;  // Room; `size_` of it is written.
    std::size_t size_ = 0;
};

}  // namespace takt::internal
