#include "engine/trusted_clock.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/number.h"

namespace takt::internal {
namespace {

// Clocks that are only slewed never move by this much between two readings.
constexpr Duration kStep{500};

Duration StepOf(SteadyClock::duration moved) {
    return std::chrono::abs(moved) < kStep ? Duration(0) : std::chrono::round<Duration>(moved);
}

}  // namespace

void TrustedClock::Restore(std::string_view value) {
    kept_ = Time(Duration(ParseNumber<std::int64_t>(value).value_or(0)));
}

void TrustedClock::Begin(Instant now, Time recorded) {
    const Time kept = kept_;
    *this = {};
    kept_ = kept;
    if (kept != Time{}) recorded = std::min(recorded, kept);
    last_ = believed_ = OffsetOf(now);
    begun_ = {recorded, now.steady};
    if (recorded != Time{} && now.wall > recorded + kAbsence) {
        believed_ = OffsetOf({recorded + kAbsence, now.steady});
    }
    Judge(now);
}

Duration TrustedClock::Observe(Instant now) {
    const Offset before = std::exchange(last_, OffsetOf(now));
    const Offset believed = believed_;
    Judge(now);
    moved_ = StepOf(last_ - before);
    trusted_moved_ = StepOf(believed_ - believed);
    const bool set = std::chrono::abs(moved_) >= kParted;
    parted_ = set || std::chrono::abs(trusted_moved_) >= kParted;
    if (!set) return Duration(0);
    jump_ = moved_;
    jumped_at_ = now.steady;
    return jump_;
}

bool TrustedClock::IsSetBack(Instant now) const {
    return OffsetOf(now) - last_ <= -kStep;
}

void TrustedClock::Judge(Instant now) {
    if (last_ < believed_ + kParted) {
        believed_ = last_;
        is_ahead_ = false;
    } else if (!is_ahead_ || last_ + kParted < ahead_ || last_ > ahead_ + kParted) {
        // It must stay at one claim: a clock that runs away from the steady one is not believed.
        ahead_from_ = is_ahead_ ? std::min(ahead_from_, now.wall) : now.wall;
        is_ahead_ = true;
        ahead_ = last_;
        ahead_since_ = now.steady;
    } else if (now.steady - ahead_since_ >= kConfirmed) {
        believed_ = last_;
        is_ahead_ = false;
    }
    trusted_ = std::min(
        now.wall, Time(std::chrono::floor<Duration>(now.steady.time_since_epoch() + believed_)));
    age_ = std::chrono::floor<Duration>(now.steady - begun_.steady);
    const bool young = begun_.wall != Time{} && age_ < kConfirmed;
    settled_ = young ? begun_.wall + age_ : trusted_;
}

Duration TrustedClock::DoubtOf(Time at) const {
    if (at <= settled() || trusted_ < settled() + kParted) return Duration(0);
    return std::max(kDoubted - age_, Duration(0));
}

void TrustedClock::Tell(Draft& draft) {
    const bool doubted = DoubtOf(trusted_) > Duration(0);
    // A clock that came back in its first minute leaves serials behind that are ahead of it.
    const bool misleads = TimeOf(draft.last_serial()) >= trusted_ + kParted;
    if (doubted == (kept_ != Time{}) || (!doubted && misleads)) return;
    kept_ = doubted ? begun_.wall : Time{};
    const auto value = doubted ? std::to_string(kept_.time_since_epoch().count()) : std::string();
    draft.Set({Text(kRecordKey), Text(value)});
}

std::optional<Steady> TrustedClock::tell_at() const {
    if (kept_ == Time{} || age_ >= kDoubted) return std::nullopt;
    return begun_.steady + kDoubted;
}

std::optional<Duration> TrustedClock::last_jump(Steady now) const {
    if (jump_ == Duration(0) || now - jumped_at_ > kConfirmed) return std::nullopt;
    return jump_;
}

}  // namespace takt::internal
