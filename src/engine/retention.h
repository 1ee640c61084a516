// Retention: when to purge finished executions, and how many at once; the audit along with them, at
// most each cleanup_interval.
//
// While executions finish, what retention no longer keeps goes about once a second, along with a
// commit that happens anyway, and twice as fast as new ones finish. At rest it is looked at each
// cleanup_interval: what finished long ago goes on growing old. A full store does not wait so long.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "engine/config.h"
#include "engine/draft.h"

namespace takt::internal {

class Retention {
  public:
    // `config` outlives it.
    explicit Retention(const EngineConfig& config) : config_(config) {}

    void Begin(Steady now) { cleaned_at_ = audit_cleaned_at_ = now; }

    // An execution came to its end: as many as finish have to go, some day.
    void CountFinished() { ++owed_; }

    // Room is needed: purges as at its interval, though no more often than while executions finish.
    void Hurry() { hurried_ = true; }

    // Purges if it is time to, at most once in a batch and not in a tired step.
    void Clean(Instant now, Draft& draft);

    // When Clean has something to do though nothing happens.
    Steady next_at() const;

    // An execution that had finished by then may be gone from the store.
    Time purged_before() const { return purged_before_; }

  private:
    // So much is owed that waiting for a commit that happens anyway would fall behind.
    bool Pressed() const { return 2 * owed_ >= config_.purge_max; }

    const EngineConfig& config_;
    std::uint64_t owed_ = 0;  // Executions that purges yet to come have to make up for.
    bool hurried_ = false;
    Steady cleaned_at_{};
    Steady audit_cleaned_at_{};
    Time purged_before_{};
};

}  // namespace takt::internal
