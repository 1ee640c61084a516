// Fuzz entry for the JSON reader and writer: what is accepted must survive being written and read.
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "base/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    const auto value = takt::internal::ParseJson(text);
    TAKT_CHECK(value.has_value() == takt::internal::CheckJson(text).has_value());
    std::string written;
    if (value) {
        TAKT_CHECK(takt::internal::IsValidUtf8(text));
        takt::internal::AppendJson(written, *value);
        const auto again = takt::internal::ParseJson(written, {.bytes_max = written.size()});
        TAKT_CHECK(again.has_value() && *again == *value);
    }
    written.clear();
    takt::internal::AppendJsonString(written, text);
    TAKT_CHECK(takt::internal::CheckJson(written, {.bytes_max = written.size()}).has_value());
    return 0;
}
