#include "store/etcd/quota_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/log.h"

namespace takt::internal::etcd {
namespace {

std::string MegabytesText(std::uint64_t bytes) {
    return fmt::format("{} MiB", bytes >> 20);
}

constexpr std::string_view kRefuses =
    "etcd takes no writes, since it has reached its quota; raise --quota-backend-bytes, or run "
    "'etcdctl defrag' on each member, and then 'etcdctl alarm disarm'";

// An alarm is told as text: "memberID:… alarm:NOSPACE".
bool HasAlarm(const etcdserverpb::StatusResponse& status) {
    return std::ranges::any_of(status.errors(),
                               [](const std::string& error) { return error.contains("NOSPACE"); });
}

}  // namespace

QuotaWatch::Level QuotaWatch::LevelAt(std::uint64_t percent, Level before) {
    if (percent >= kFullAt) return Level::kFull;
    if (before == Level::kFull && percent >= kRoomBelow) return Level::kFull;
    if (percent >= kAlertAt) return Level::kAlerted;
    return percent >= kWarnAt ? Level::kWarned : Level::kCalm;
}

// `quota`: 0 if it is not known.
bool QuotaWatch::IsFull(std::uint64_t used, std::uint64_t quota) {
    return quota > 0 && (used * 100 / quota >= kFullAt || used + kReserveMin > quota);
}

void QuotaWatch::Observe(const etcdserverpb::StatusResponse& status, std::uint64_t written) {
    const auto file = static_cast<std::uint64_t>(std::max<std::int64_t>(status.db_size(), 0));
    const auto used =
        static_cast<std::uint64_t>(std::max<std::int64_t>(status.db_size_in_use(), 0));
    const auto said = static_cast<std::uint64_t>(std::max<std::int64_t>(status.db_size_quota(), 0));
    std::uint64_t quota = said > 0 ? said : configured_ > 0 ? configured_ : kQuotaDefault;
    // It is larger than we guess, since etcd has written so much.
    if (file > quota && said == 0) quota = 0;
    const bool refuses = HasAlarm(status) || (quota > 0 && file > quota);
    refuses_ = refuses;
    quota_ = quota;
    used_ = used;
    written_at_look_ = written;
    const std::uint64_t percent = quota == 0 ? 0 : used * 100 / quota;
    const Level before = level_.load();
    const bool last = quota > 0 && file * 100 / quota >= kFileNearAt && percent >= kAlertAt;
    const Level level = refuses || last ? Level::kFull : LevelAt(percent, before);
    level_ = level;
    if (level != before) Tell(level, used);
    const bool file_near = quota > 0 && file * 100 / quota >= kFullAt && level < Level::kAlerted;
    if (told_of_file_.exchange(file_near) == file_near || !file_near) return;
    Log(LogLevel::kWarning, "store",
        "the file of etcd is near its quota, though little of it is in use; run 'etcdctl defrag' "
        "on "
        "each member",
        {{"store", name_}, {"bytes", file}, {"bytes_in_use", used}, {"quota", quota}});
}

void QuotaWatch::Tell(Level level, std::uint64_t used) const {
    const std::uint64_t quota = quota_;
    const std::string part =
        quota == 0 ? "" : fmt::format("etcd uses {} % of its quota", used * 100 / quota);
    switch (level) {
        case Level::kCalm:
            return Log(LogLevel::kInfo, "store", "etcd has room again", {{"store", name_}});
        case Level::kWarned:
            return Log(LogLevel::kWarning, "store",
                       part + "; raise --quota-backend-bytes, or shorten the retention",
                       {{"store", name_}, {"bytes_in_use", used}, {"quota", quota}});
        case Level::kAlerted:
            return Log(LogLevel::kError, "store",
                       part + fmt::format("; at {} % no new task is taken. Raise "
                                          "--quota-backend-bytes, or shorten the retention",
                                          kFullAt),
                       {{"store", name_}, {"bytes_in_use", used}, {"quota", quota}});
        case Level::kFull:
            return Log(LogLevel::kError, "store",
                       refuses_ ? std::string(kRefuses)
                                : part +
                                      ": no new task is taken until there is room; what is "
                                      "there goes on",
                       {{"store", name_}, {"bytes_in_use", used}, {"quota", quota}});
    }
}

std::string QuotaWatch::WhyFull() const {
    const std::uint64_t used = UsedNow();
    const std::uint64_t quota = quota_;
    if (level_.load() != Level::kFull && !IsFull(used, quota)) return {};
    if (refuses_) return std::string(kRefuses);
    return fmt::format(
        "etcd has {} in use, and its quota is {}; raise --quota-backend-bytes{}, or wait until the "
        "retention has made room",
        MegabytesText(used), MegabytesText(quota),
        configured_ > 0 ? " and quota= of the store's URL"
                        : " (and say it by quota= in the store's URL)");
}

}  // namespace takt::internal::etcd
