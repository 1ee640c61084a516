#include "model/time_zone.h"

#include <date/tz.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace takt::internal {
namespace {

namespace chr = std::chrono;

constexpr int kYearLast = 2200;  // One more than cron's last, for zones that are ahead of UTC.
constexpr std::int64_t kBeginning = std::numeric_limits<std::int64_t>::min();
// The day before 1970: the earliest moment that is 1970 somewhere.
constexpr std::int64_t kFirstSecond = -86'400;

void Append(std::vector<OffsetChange>& changes, OffsetChange change) {
    // Summer time all year is written as two changes at one moment: the later one counts.
    if (change.at == changes.back().at) changes.pop_back();
    if (change.offset != changes.back().offset) changes.push_back(change);
}

// date/tz's own search would accept these files as zones too.
bool IsMachineDependent(std::string_view name) {
    return name == "localtime" || name == "posixrules" || name == "Factory";
}

std::vector<OffsetChange> Recorded(const date::time_zone& zone, std::int64_t* last) {
    date::sys_info part = zone.get_info(date::sys_seconds(chr::seconds(kFirstSecond)));
    std::vector<OffsetChange> changes = {
        {kBeginning, static_cast<std::int32_t>(part.offset.count())}};
    const date::sys_seconds end = date::sys_days(date::year(kYearLast) / 12 / 31);
    *last = kFirstSecond;
    // Ends: each part ends later than the one before, and the files hold at most a few hundred.
    while (part.end < end) {
        part = zone.get_info(part.end);
        *last = part.begin.time_since_epoch().count();
        Append(changes, {*last, static_cast<std::int32_t>(part.offset.count())});
    }
    return changes;
}

// The last line of a zone's file; empty in files of version 1, which have none.
Result<std::string> RuleLine(std::string_view name) {
    // Where date/tz looks too. The largest file is under 4 KB; 1 MB guards against a wrong one.
    constexpr std::size_t kBytesMax = 1 << 20;
    const std::string path = "/usr/share/zoneinfo/" + std::string(name);
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
    std::string bytes;
    if (size >= 0 && size <= static_cast<std::streamoff>(kBytesMax)) {
        bytes.resize(static_cast<std::size_t>(size));
        file.seekg(0).read(bytes.data(), size);
    }
    if (!file || bytes.size() < 5) {
        return Fail(ErrorCode::kUnavailable, "cannot read the time zone file " + path, "timezone");
    }
    if (bytes[4] < '2' || bytes.back() != '\n') return std::string();
    bytes.pop_back();
    return bytes.substr(bytes.rfind('\n') + 1);
}

}  // namespace

Result<TimeZone> TimeZone::Load(std::string_view name) {
    try {
        date::get_tzdb();
    } catch (const std::exception& e) {
        return Fail(ErrorCode::kUnavailable,
                    std::string("the time zone database is missing; install tzdata: ") + e.what(),
                    "timezone");
    }
    try {
        const date::time_zone* zone = date::locate_zone(name);
        std::int64_t last = 0;
        std::vector<OffsetChange> changes = Recorded(*zone, &last);
        const Result<std::string> rule_line = RuleLine(name);
        if (!rule_line) return std::unexpected(rule_line.error());
        if (const auto rule = PosixZone::Parse(*rule_line)) {
            const auto last_day = chr::floor<chr::days>(chr::sys_seconds(chr::seconds(last)));
            // Ends: at most 231 years.
            for (int year = int(chr::year_month_day(last_day).year()); year <= kYearLast; ++year) {
                for (const OffsetChange& change : rule->ChangesOf(year)) {
                    if (change.at > last) Append(changes, change);
                }
            }
        }
        changes.shrink_to_fit();
        return TimeZone(std::string(name), std::move(changes));
    } catch (const std::exception&) {
        return Fail(ErrorCode::kInvalid,
                    "there is no time zone '" + std::string(name) +
                        "'; write an IANA name such as Asia/Shanghai or UTC",
                    "timezone");
    }
}

Result<const TimeZone*> TimeZone::Find(std::string_view name) {
    static const TimeZone kUtc("UTC", {{kBeginning, 0}});
    if (name.empty() || name == "UTC") return &kUtc;

    // The longest name has 32 characters. What is not printable would garble the message.
    const bool plausible =
        name.size() <= 64 && std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
    if (!plausible || IsMachineDependent(name)) {
        return Fail(ErrorCode::kInvalid,
                    "this is not the name of a time zone; write an IANA name such as "
                    "Asia/Shanghai or UTC",
                    "timezone");
    }

    // Only zones that exist are kept, so the map is as small as the database. Never destroyed:
    // crons in other static objects may outlive it.
    static std::mutex mutex;
    static auto& zones = *new std::map<std::string, std::unique_ptr<const TimeZone>, std::less<>>;
    const std::lock_guard lock(mutex);
    if (const auto found = zones.find(name); found != zones.end()) return found->second.get();
    Result<TimeZone> zone = Load(name);
    if (!zone) return std::unexpected(std::move(zone.error()));
    const auto added = zones.emplace(name, std::make_unique<const TimeZone>(std::move(*zone)));
    return added.first->second.get();
}

std::size_t TimeZone::IndexAt(std::int64_t second) const {
    const auto after = std::ranges::upper_bound(changes_, second, {}, &OffsetChange::at);
    // Never the first: it counts from the beginning of time.
    return static_cast<std::size_t>(after - changes_.begin()) - 1;
}

std::int64_t TimeZone::LocalSeconds(Time time) const {
    const std::int64_t second = chr::floor<chr::seconds>(time).time_since_epoch().count();
    return second + changes_[IndexAt(second)].offset;
}

}  // namespace takt::internal
