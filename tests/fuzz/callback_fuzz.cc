// Callbacks of executors come from anybody who can reach the port.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "links/service_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto body =
        takt::internal::ReadCallback(std::string_view(reinterpret_cast<const char*>(bytes), size));
    if (body) {
        TAKT_CHECK(body->report.outcome != nullptr);
        TAKT_CHECK(body->report.outcome->message.size() <= takt::internal::kErrorBytesMax);
    } else {
        TAKT_CHECK(!body.error().detail.empty());
    }
    return 0;
}
