#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/json.h"
#include "cli/doctor.h"
#include "cli/output.h"
#include "cli/room_forecast.h"

namespace takt::internal::cli {
namespace {

constexpr double kRoomWarning = 0.8, kRoomBad = 0.95;
constexpr double kQuotaWarning = 0.8;
constexpr double kLittleDisk = 1u << 30, kTooLittleDisk = 100u << 20;
constexpr Duration kRecent = std::chrono::days(7);
constexpr Duration kYoung = std::chrono::days(2);  // The first day is not a whole one.
constexpr Duration kLookedBack =
    std::chrono::days(90);  // What is kept longer grows at least so long.

const char* const kMoreRoom =
    "a shorter scheduler.retention (or takt namespaces change NAME --setting retention=3d), more "
    "room, "
    "or takt store purge --before";

Duration RetentionOf(const boost::json::value& space, Duration common) {
    const auto read = [&](const char* part) {
        const auto* fields = FindMember(space, part);
        const auto lasting = fields ? ParseDuration(Member(*fields, "retention"))
                                    : Result<Duration>(std::unexpected(Error{}));
        return lasting ? *lasting : Duration(0);
    };
    const Duration own = read("settings");
    const Duration most = read("quotas");
    const Duration retention = own > Duration(0) ? own : common;
    return most > Duration(0) ? std::min(retention, most) : retention;
}

// Of a namespace that is younger than two days.
Result<std::optional<double>> ReadDaily(Client& client, Time now) {
    const Time from = std::chrono::floor<std::chrono::hours>(now - kYoung);
    const auto answer =
        client.Get(WithQuery("/api/v1/statistics", {{"by", "hour"}, {"from", FormatTime(from)}}));
    if (!answer) return std::unexpected(answer.error());
    std::vector<EndedHour> hours;
    for (const auto* hour : ListMember(answer->value, "items")) {
        const auto begun = ParseTime(Member(*hour, "key"));
        if (begun) hours.push_back({*begun, NumberMember(*hour, "total")});
    }
    return DailyOfHours(hours, now);
}

// From the statistics of each day.
Result<KeptHistory> ReadHistory(const ClientOptions& options, const boost::json::value& space,
                                Duration common) {
    ClientOptions inside = options;
    inside.space = Member(space, "name");
    auto client = Client::Open(inside);
    if (!client) return std::unexpected(client.error());
    const Time now = ReadClocks().wall;
    const auto days = client->Get(
        WithQuery("/api/v1/statistics", {{"by", "day"}, {"from", FormatTime(now - kLookedBack)}}));
    if (!days) return std::unexpected(days.error());
    KeptHistory history{.retention = RetentionOf(space, common)};
    double recent = 0;
    for (const auto* day : ListMember(days->value, "items")) {
        const auto begun = ParseTime(Member(*day, "key").substr(0, 10) + "T00:00:00Z");
        const double total = NumberMember(*day, "total");
        if (!begun || total == 0) continue;
        const Duration ago = now - *begun;
        history.age = std::max(history.age, ago);
        if (ago - Duration(std::chrono::days(1)) < history.retention) history.kept += total;
        if (ago < kRecent) recent += total;
    }
    if (history.age >= kYoung) {
        history.daily = recent * double(Duration(std::chrono::days(1)).count()) /
                        double(std::min(history.age, kRecent).count());
        return history;
    }
    const auto daily = ReadDaily(*client, now);
    if (!daily) return std::unexpected(daily.error());
    history.daily = *daily;
    return history;
}

std::string InDays(Duration from_now) {
    const std::string day = FormatTime(ReadClocks().wall + from_now).substr(0, 10);
    return fmt::format("{} ({} from now)", day, ShortDuration(double(from_now.count()) / 1'000));
}

std::string GrowthText(const std::optional<RoomForecast>& forecast) {
    if (!forecast) return "too few executions, or too early, to tell how it grows";
    const std::string daily = fmt::format("{:.0f} executions end a day", forecast->daily);
    if (forecast->bytes_daily == 0) {
        return daily + "; all that is kept is there, and as much goes as comes";
    }
    const std::string growth = daily + ", " + BytesText(forecast->bytes_daily) + " more each day";
    if (forecast->until_full) {
        return growth + ": full about " + InDays(*forecast->until_full) +
               ", before retention deletes as much as comes, about " +
               InDays(forecast->until_later);
    }
    return growth + " until about " + InDays(forecast->until_later) +
           ", then retention keeps it at " + BytesText(forecast->bytes_later);
}

// The leader looks at the store's size; others may not have.
Result<boost::json::value> LeadersStatus(const ClientOptions& options,
                                         const boost::json::value& status) {
    const auto* leader = FindMember(status, "leader");
    if (Member(status, "is_leader") == "true" || !leader || !leader->is_object()) return status;
    ClientOptions there = options;
    there.server = Member(*leader, "address");
    // A token that came by TLS does not go without.
    if (options.server.starts_with("https:") && !there.server.starts_with("https:")) return status;
    auto client = Client::Open(there);
    const auto answer = client ? client->Get("/api/v1/scheduler/status")
                               : Result<ClientAnswer>(std::unexpected(client.error()));
    return answer ? answer->value : status;
}

// A quota and how much of it is used.
void CheckQuota(Checkup& checkup, const std::string& space, const char* name, double most,
                double used) {
    if (most <= 0 || used < kQuotaWarning * most) return;
    const std::string said = fmt::format("{}: {} is {:.0f} of {:.0f}", space, name, used, most);
    const std::string next = fmt::format(
        "{}, or takt namespaces change {} --quota {}=N",
        name == std::string_view("workers") ? "fewer workers" : "more workers", space, name);
    used < most ? checkup.Warn("quotas", said, next) : checkup.Bad("quotas", said, next);
}

}  // namespace

Result<void> CheckRoom(const ClientOptions& options, const ClusterAnswers& cluster,
                       Checkup& checkup) {
    const auto status = LeadersStatus(options, cluster.status);
    if (!status) return std::unexpected(status.error());
    const Duration common = ParseDuration(Member(*status, "retention")).value_or(Duration(0));
    std::vector<KeptHistory> histories;
    for (const auto* space : ListMember(cluster.spaces, "items")) {
        const auto history = ReadHistory(options, *space, common);
        // Nobody leads it, which is said elsewhere; the others' can be told.
        if (history) histories.push_back(*history);
    }
    const std::string kept =
        "kept " + (common > Duration(0) ? FormatDuration(common) : std::string("as configured"));
    const auto* store = FindMember(*status, "store");
    const auto* room = store ? FindMember(*store, "room") : nullptr;
    if (!room || !room->is_object()) {
        checkup.Ok("room",
                   kept + "; this store does not say how large it is: takt store stats counts");
        return {};
    }
    const double bytes = NumberMember(*room, "bytes");
    const double most = NumberMember(*room, "bytes_max");
    const std::string bound = Member(*room, "bound");
    const auto forecast = ForecastRoom(histories, bytes, most);
    const std::string said = BytesText(bytes) +
                             (most > 0 ? " of " + BytesText(most) + " (" + bound + ")"
                                       : ", no bound known (" + bound + ")") +
                             ", " + kept + "; " + GrowthText(forecast);
    const bool disk = bound == "the disk";
    const double left = most - bytes;
    // A disk is shared: there a part of it says little, what is left says all. SQLite writes pages anew
    // before it frees the old ones.
    const bool bad = most > 0 && (disk ? left < kTooLittleDisk : bytes > kRoomBad * most);
    const bool warn =
        most > 0 && (disk ? left < std::max(kLittleDisk, bytes / 2) : bytes > kRoomWarning * most);
    if (bad) {
        checkup.Bad("room", said, kMoreRoom);
    } else if (warn || (forecast && forecast->until_full)) {
        checkup.Warn("room", said, kMoreRoom);
    } else {
        checkup.Ok("room", said);
    }
    return {};
}

void CheckQuotas(const ClientOptions& options, const boost::json::value& spaces, Checkup& checkup) {
    const std::size_t before = checkup.size();
    for (const auto* space : ListMember(spaces, "items")) {
        const auto* quotas = FindMember(*space, "quotas");
        const std::string name = Member(*space, "name");
        ClientOptions inside = options;
        inside.space = name;
        auto client = Client::Open(inside);
        if (!quotas || !client) continue;
        const auto metrics = client->Get("/api/v1/metrics");
        if (!metrics) continue;  // Nobody leads it, which is said elsewhere.
        const boost::json::value& now = metrics->value;
        CheckQuota(checkup, name, "executions_waiting", NumberMember(*quotas, "executions_waiting"),
                   NumberMember(now, "tasks_pending") + NumberMember(now, "tasks_retrying"));
        CheckQuota(checkup, name, "workers", NumberMember(*quotas, "workers"),
                   NumberMember(now, "workers_online"));
    }
    if (checkup.size() == before) checkup.Ok("quotas", "none is nearly used up");
}

}  // namespace takt::internal::cli
