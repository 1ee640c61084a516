// Pace: how many starts in a time. A token bucket of `count`, evenly refilled with `count` in each
// `per`: at most twice `count` in any `per`, for a full one is refilled while it is emptied.
//
// Its level is stored with each start, as a setting, so that a quota of ten a day is one quota
// however often the leader changes.
#pragma once

#include <optional>
#include <string_view>

#include "base/text.h"
#include "base/time.h"
#include "model/task.h"

namespace takt::internal {

// A level as it is stored, by the wall clock of the leader that wrote it.
struct StoredPace {
    double level = 0;
    RateLimit limit;
    Time at{};
};
// Nothing if it cannot be read.
std::optional<StoredPace> ReadPace(std::string_view value);
Text WritePace(const StoredPace& pace);

class Pace {
  public:
    void Set(RateLimit limit, Steady now);
    // Goes on from what was stored. The clock of another leader may be behind or ahead: what was
    // refilled meanwhile is never less than nothing, and never more than a full bucket.
    void Restore(const StoredPace& stored, Instant now);
    StoredPace Store(Time now) const { return {tokens_, limit_, now}; }  // As of the last Ready.

    const RateLimit& limit() const { return limit_; }
    bool limited() const { return limit_.count > 0 && limit_.per > Duration(0); }

    // Whether one may start now.
    bool Ready(Steady now);
    // Whether forgetting it would make no difference.
    bool Full(Steady now);
    void Spend();

    // When the next token is there, and when all are. REQUIRES: limited, and Ready or Full just
    // said no.
    Steady ReadyAt() const { return When(1); }
    Steady FullAt() const { return When(limit_.count); }

  private:
    Steady When(double tokens) const;

    RateLimit limit_;
    double tokens_ = 0;
    Steady filled_at_{};
};

}  // namespace takt::internal
