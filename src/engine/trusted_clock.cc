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

Time ReadTime(std::string_view value) {
    return Time(Duration(ParseNumber<std::int64_t>(value).value_or(0)));
}

// Time{} deletes it.
SettingPut TimeSetting(std::string_view key, Time at) {
    return {Text(key), at == Time{} ? Text() : Text(std::to_string(at.time_since_epoch().count()))};
}

}  // namespace

void TrustedClock::Restore(std::string_view value) {
    kept_ = ReadTime(value);
}

void TrustedClock::RestoreSettled(std::string_view value) {
    settled_kept_ = ReadTime(value);
}

void TrustedClock::Begin(Instant now, Time recorded) {
    const Time kept = kept_;
    const Time settled = settled_kept_;
    *this = {};
    kept_ = kept;
    settled_kept_ = settled;
    if (kept != Time{}) recorded = std::min(recorded, kept);
    last_ = believed_ = OffsetOf(now);
    begun_ = {recorded, now.steady};
    settled_at_begin_ = settled == Time{} ? recorded : std::min(recorded, settled);
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
    recorded_ = young ? begun_.wall + age_ : trusted_;
    settled_ = young ? settled_at_begin_ + age_ : trusted_;
}

Duration TrustedClock::DoubtOf(Time at) const {
    if (at <= recorded() || trusted_ < recorded() + kParted) return Duration(0);
    return std::max(kDoubted - age_, Duration(0));
}

void TrustedClock::Tell(Draft& draft) {
    TellSettled(draft);
    const bool doubted = DoubtOf(trusted_) > Duration(0);
    // A clock that came back in its first minute leaves serials behind that are ahead of it.
    const bool misleads = TimeOf(draft.last_serial()) >= trusted_ + kParted;
    if (doubted == (kept_ != Time{}) || (!doubted && misleads)) return;
    kept_ = doubted ? begun_.wall : Time{};
    draft.Set(TimeSetting(kRecordKey, kept_));
}

// Serials are never behind those of earlier leaders, whose clocks may have been ahead, and go by the
// trusted time from a term's first moment on. What ended meanwhile has the time of this clock, so the
// next leader must not purge by them. Goes along: it has to be there no sooner than what ends.
void TrustedClock::TellSettled(Draft& draft) {
    const bool ahead = TimeOf(draft.last_serial()) >= settled() + kParted;
    const Time settled = ahead ? this->settled() : Time{};
    const bool told = ahead == (settled_kept_ != Time{});
    if (told && std::chrono::abs(settled - settled_kept_) < kParted) return;
    settled_kept_ = settled;
    draft.SetLater(TimeSetting(kSettledKey, settled));
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
