#include "wire/frame_codec.h"

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "base/utf8.h"

namespace takt::internal {
namespace {

// protobuf reports broken UTF-8 on standard error, as often as a stranger likes to send it.
void SilenceProtobuf() {
    static const bool done = [] {
        google::protobuf::SetLogHandler(nullptr);
        return true;
    }();
    static_cast<void>(done);
}

Result<void> ReadJson(std::string_view bytes, google::protobuf::Message& frame) {
    // Ours first: it bounds the depth, and what it refuses it explains with line and column.
    if (auto fine = CheckJson(bytes, {.bytes_max = bytes.size(), .depth_max = 16}); !fine) {
        return fine;
    }
    frame.Clear();
    const auto status = google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(bytes.data(), bytes.size()), &frame);
    if (status.ok()) return {};
    return Fail(ErrorCode::kInvalid, std::string(status.message()));
}

}  // namespace

Result<void> ReadFrame(FrameForm form, std::string_view bytes, google::protobuf::Message& frame) {
    SilenceProtobuf();
    if (form == FrameForm::kJson) return ReadJson(bytes, frame);
    if (frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
    return Fail(ErrorCode::kInvalid,
                "not a " + frame.GetTypeName() + " in protobuf's wire format, with texts in UTF-8");
}

void MakeUtf8(std::string& text) {
    if (IsValidUtf8(text)) return;
    std::string clean;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t length = Utf8Length(rest);
        clean.append(length > 0 ? rest.substr(0, length) : "\xEF\xBF\xBD");
        rest.remove_prefix(std::max<std::size_t>(length, 1));
    }
    text = std::move(clean);
}

void WriteFrame(FrameForm form, const google::protobuf::Message& frame, std::string& bytes) {
    bytes.clear();
    if (form == FrameForm::kBinary) {
        const bool written = frame.SerializeToString(&bytes);
        TAKT_CHECK(written);
        return;
    }
    google::protobuf::util::JsonPrintOptions options;
    options.always_print_primitive_fields = true;
    options.preserve_proto_field_names = true;
    const auto status = google::protobuf::util::MessageToJsonString(frame, &bytes, options);
    TAKT_CHECK(status.ok());
}

}  // namespace takt::internal
