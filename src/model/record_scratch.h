// Reused protobuf messages, for the sources of this folder that encode and decode records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/check.h"

namespace takt::internal::record {

// Above this a message's memory is given back after use: one large payload must not stay with every
// thread that ever saw one.
constexpr std::size_t kScratchBytesMax = 64 * 1024;

// A message of this thread, cleared but with the memory of its last use. One lease at a time for
// each kind of message.
template <typename Message>
class Scratch {
  public:
    Scratch() : message_(Slot()) { message_.Clear(); }
    ~Scratch() {
        if (bytes_ > kScratchBytesMax) Message().Swap(&message_);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    Message& operator*() { return message_; }

    std::string Encode() {
        bytes_ = message_.ByteSizeLong();
        TAKT_CHECK(bytes_ <= std::numeric_limits<int>::max());
        std::string bytes(bytes_, '\0');
        message_.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(bytes.data()));
        return bytes;
    }

    bool Decode(std::string_view bytes) {
        bytes_ = bytes.size();
        return bytes.size() <= std::numeric_limits<int>::max() &&
               message_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    }

  private:
    static Message& Slot() {
        thread_local Message message;
        return message;
    }

    Message& message_;
    std::size_t bytes_ = 0;
};

}  // namespace takt::internal::record
