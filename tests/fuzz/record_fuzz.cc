// Fuzz entry for stored records: no bytes may crash a decoder, and what one accepts must survive
// being encoded and decoded again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/record.h"

using namespace takt::internal;

namespace {

template <typename Decode, typename Encode>
void Check(std::string_view bytes, Decode decode, Encode encode) {
    const auto value = decode(bytes);
    if (!value) return;
    const std::string written = encode(*value);
    const auto again = decode(written);
    TAKT_CHECK(again.has_value() && encode(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    Check(bytes, DecodeExecution, EncodeExecution);
    Check(bytes, DecodeTaskRow, EncodeTaskRow);
    Check(bytes, DecodeWorker, EncodeWorker);
    Check(bytes, DecodeEvent, EncodeEvent);
    Check(bytes, DecodeOutcome, EncodeOutcome);
    Check(bytes, DecodeOptions,
          [](const auto& options) { return options ? EncodeOptions(*options) : std::string(); });
    return 0;
}
