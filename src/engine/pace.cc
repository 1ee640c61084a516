#include "engine/pace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/failpoint.h"
#include "engine/numbers.h"

namespace takt::internal {
namespace {

// A little less than one is one: rounding must not make a timer wake up for nothing.
constexpr double kRounding = 1e-6;
constexpr double kStoredUnit = 1e6;

}  // namespace

void Pace::Set(RateLimit limit, Steady now) {
    if (limit == limit_) return;
    // A new limit gives nobody a burst beyond what was left of the old one: two tasks that share a
    // key and disagree would fill the bucket for each other.
    if (limited()) Ready(now);
    tokens_ = limited() ? std::min<double>(tokens_, limit.count) : limit.count;
    limit_ = limit;
    filled_at_ = now;
}

void Pace::Restore(const StoredPace& stored, Instant now) {
    limit_ = stored.limit;
    filled_at_ = now.steady;
    if (!limited()) return;
    if (TAKT_MUTANT("engine.fill_bucket_on_load")) return void(tokens_ = limit_.count);
    const std::chrono::duration<double> since =
        std::clamp(now.wall - stored.at, Duration(0), limit_.per);
    const std::chrono::duration<double> per = limit_.per;
    tokens_ = std::clamp(stored.level + limit_.count * (since / per), 0.0, double(limit_.count));
}

bool Pace::Ready(Steady now) {
    if (!limited()) return true;
    const std::chrono::duration<double> since = now - filled_at_;
    const std::chrono::duration<double> per = limit_.per;
    tokens_ = std::min<double>(limit_.count * (TAKT_MUTANT("engine.deep_bucket") ? 1000.0 : 1.0),
                               tokens_ + limit_.count * (since / per));
    filled_at_ = now;
    return tokens_ >= 1 - kRounding;
}

bool Pace::Full(Steady now) {
    return !limited() || (Ready(now) && tokens_ >= limit_.count - kRounding);
}

void Pace::Spend() {
    if (limited()) tokens_ = std::max(tokens_ - 1, 0.0);
}

Steady Pace::When(double tokens) const {
    const auto wait = limit_.per * ((tokens - tokens_) / limit_.count);
    return filled_at_ + std::chrono::ceil<SteadyClock::duration>(wait);
}

// "1500000 10 86400000 1767225600000": the level in millionths, the limit, and when.
std::optional<StoredPace> ReadPace(std::string_view value) {
    std::array<std::int64_t, 4> numbers{};
    if (!ReadNumbers(value, numbers) || numbers[0] < 0 || numbers[1] <= 0 ||
        numbers[1] > UINT32_MAX || numbers[2] <= 0) {
        return std::nullopt;
    }
    return StoredPace{
        .level = static_cast<double>(numbers[0]) / kStoredUnit,
        .limit = {.count = static_cast<std::uint32_t>(numbers[1]), .per = Duration(numbers[2])},
        .at = Time(Duration(numbers[3]))};
}

Text WritePace(const StoredPace& pace) {
    return Text(std::to_string(std::llround(pace.level * kStoredUnit)) + " " +
                std::to_string(pace.limit.count) + " " + std::to_string(pace.limit.per.count()) +
                " " + std::to_string(pace.at.time_since_epoch().count()));
}

}  // namespace takt::internal
