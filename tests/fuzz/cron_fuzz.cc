// Fuzzes cron: the first byte chooses the DST option, the rest is the expression. What parses must
// be describable, and its fires must rise; everything else must be refused as invalid.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "model/cron.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    const auto dst = static_cast<takt::internal::Dst>(bytes[0] % 3);
    const std::string_view expression(reinterpret_cast<const char*>(bytes + 1), size - 1);

    const takt::internal::Result<takt::internal::Cron> cron =
        takt::internal::Cron::Parse(expression, {.timezone = "Europe/Berlin", .dst = dst});
    if (!cron) {
        TAKT_CHECK(cron.error().code == takt::internal::ErrorCode::kInvalid);
        TAKT_CHECK(!cron.error().detail.empty());
        return 0;
    }
    TAKT_CHECK(!cron->Describe().empty());
    TAKT_CHECK(!cron->DescribeZh().empty());
    // The evening before the clocks of Europe jump.
    takt::internal::Time time = std::chrono::sys_days(std::chrono::year(2026) / 3 / 28);
    for (int i = 0; i < 5; ++i) {
        const std::optional<takt::internal::Time> next = cron->Next(time);
        if (!next) break;
        TAKT_CHECK(*next > time);
        time = *next;
    }
    return 0;
}
