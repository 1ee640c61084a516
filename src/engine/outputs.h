// Outputs: what attempts say while they run: how far they are, and what they write.
//
// Progress is only for who looks; it ends with the attempt. Lines are stored, up to a quota for
// each execution: what is beyond is counted, and the log says so.
#pragma once

#include <cstdint>
#include <map>

#include "base/id.h"
#include "engine/config.h"
#include "engine/draft.h"
#include "engine/input.h"
#include "engine/views.h"
#include "model/execution.h"

namespace takt::internal {

class Outputs {
  public:
    explicit Outputs(std::uint64_t log_bytes_max) : log_bytes_max_(log_bytes_max) {}

    // How much of one execution is kept, by the configuration or by the namespace's quota.
    void SetBound(const EngineConfig& config) {
        log_bytes_max_ = config.log_bytes_max;
        bound_is_quota_ =
            config.quotas.log_bytes > 0 && config.quotas.log_bytes <= config.log_bytes_max;
    }

    // The current attempt of the execution says how far it is. Null if it said nothing yet.
    void SetProgress(const Execution& row, const Progress& progress, Time now);
    const ProgressView* FindProgress(const Execution& row) const;

    // The current attempt of the execution wrote lines. Whole lines are kept or dropped.
    void AppendLines(const Execution& row, std::string_view lines, Draft& draft);

    // The attempt is over: the next one begins from nothing.
    void EndAttempt(const Execution& row) { progress_.erase(row.serial); }
    // The execution writes nothing more: its log says how much was left out.
    void EndExecution(const Execution& row, Draft& draft);

  private:
    struct LogMeter {
        std::uint64_t bytes = 0;  // Kept.
        std::uint64_t bytes_dropped = 0;
        std::uint64_t lines_dropped = 0;
    };

    std::uint64_t log_bytes_max_;
    bool bound_is_quota_ = false;
    std::map<Serial, ProgressView> progress_;
    std::map<Serial, LogMeter> meters_;  // Of those that wrote something.
};

}  // namespace takt::internal
