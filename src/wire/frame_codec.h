// The two spellings of the frames of proto/worker.proto: protobuf's wire format and its JSON
// mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace google::protobuf {
class Message;
}

namespace takt::internal {

enum class FrameForm : std::uint8_t {
    kBinary,  // A binary WebSocket message.
    kJson,    // A text message. Field names as in the .proto file; 64-bit numbers are strings.
};

// Replaces what is in `frame`. kInvalid when `bytes` do not spell one, with a field that the
// message does not have among the reasons in JSON (in the binary form unknown fields are skipped,
// as protobuf does). After a failure `frame` holds anything.
Result<void> ReadFrame(FrameForm form, std::string_view bytes, google::protobuf::Message& frame);

// Replaces what is not UTF-8 by U+FFFD. A frame with such a text can be neither written as JSON nor
// read in either form, so whatever comes from people goes through here first.
void MakeUtf8(std::string& text);

// Replaces `bytes`. REQUIRES: all texts are UTF-8. In JSON, plain fields and lists are there even
// when they are 0 or empty, so that a reader need not ask; messages that are not set are absent.
void WriteFrame(FrameForm form, const google::protobuf::Message& frame, std::string& bytes);

}  // namespace takt::internal
