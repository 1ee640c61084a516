#include "engine/retention.h"

#include <algorithm>

#include "base/failpoint.h"

namespace takt::internal {
namespace {

constexpr Duration kPurgePace{1'000};
constexpr std::uint64_t kPurgeMin = 1'000;
// At rest, each cleanup_interval.
constexpr std::uint64_t kPurgeIdle = 10'000;

}  // namespace

Steady Retention::next_at() const {
    return cleaned_at_ + (Pressed() || hurried_ ? kPurgePace : config_.cleanup_interval);
}

void Retention::Clean(Instant now, Draft& draft) {
    const auto since = now.steady - cleaned_at_;
    const bool idle_turn = since >= config_.cleanup_interval || (hurried_ && since >= kPurgePace);
    const bool due = idle_turn || Pressed() || (owed_ > 0 && since >= kPurgePace);
    if (!due || draft.Tired()) return;
    cleaned_at_ = now.steady;
    const std::uint64_t owed = idle_turn ? std::max(owed_, kPurgeIdle) : owed_;
    const auto count =
        std::min<std::uint64_t>(kPurgeMin + 2 * owed, std::max(config_.purge_max, 1u));
    const Time before = now.wall - config_.retention / (TAKT_MUTANT("engine.purge_early") ? 4 : 1);
    // People fill the audit, slowly: what programs do all day need not pay for looking.
    const bool audit = now.steady - audit_cleaned_at_ >= config_.cleanup_interval;
    if (!draft.AddPurge({.finished_before = before,
                         .events_before = before,
                         .count_max = static_cast<std::uint32_t>(count),
                         .audit_before = audit ? now.wall - config_.audit_retention : Time{}})) {
        return;
    }
    if (audit) audit_cleaned_at_ = now.steady;
    hurried_ = false;
    owed_ = owed;
    if (idle_turn || Pressed()) draft.MakeUrgent();
    purged_before_ = std::max(purged_before_, before);
    owed_ -= std::min(owed_, count);
}

}  // namespace takt::internal
