#include "engine/outputs.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/failpoint.h"

namespace takt::internal {

void Outputs::SetProgress(const Execution& row, const Progress& progress, Time now) {
    const double fraction = std::isfinite(progress.fraction) ? progress.fraction : 0;
    progress_[row.serial] = {std::clamp(fraction, 0.0, 1.0), progress.message, now};
}

const ProgressView* Outputs::FindProgress(const Execution& row) const {
    const auto found = progress_.find(row.serial);
    return found == progress_.end() ? nullptr : &found->second;
}

void Outputs::AppendLines(const Execution& row, std::string_view lines, Draft& draft) {
    if (lines.empty()) return;
    LogMeter& meter = meters_[row.serial];
    std::string_view kept = lines;
    const bool full = meter.bytes_dropped > 0;
    // The bound may have been lowered since.
    const std::uint64_t most = full ? 0 : log_bytes_max_;
    if (const std::uint64_t room = most - std::min(most, meter.bytes);
        kept.size() > room && !TAKT_MUTANT("engine.endless_logs")) {
        // One line that is dropped is followed by none that would still fit: a log with holes
        // misleads.
        kept = kept.substr(0, room);
        kept = kept.substr(0, kept.rfind('\n') + 1);
    }
    const std::string_view dropped = lines.substr(kept.size());
    meter.bytes += kept.size();
    meter.bytes_dropped += dropped.size();
    meter.lines_dropped += static_cast<std::uint64_t>(std::ranges::count(dropped, '\n'));
    if (!kept.empty()) draft.AppendLog(row.id, row.attempt, kept);
    if (full || dropped.empty()) return;
    const std::string bound =
        bound_is_quota_ ? "the namespace's quota log_bytes" : "scheduler.log_bytes_max";
    draft.AppendLog(row.id, row.attempt,
                    "(the log is full: " + bound + " is " + std::to_string(log_bytes_max_) +
                        " bytes; what follows is dropped)\n");
}

void Outputs::EndExecution(const Execution& row, Draft& draft) {
    const auto found = meters_.find(row.serial);
    if (found == meters_.end()) return;
    const LogMeter meter = found->second;
    meters_.erase(found);
    if (meter.bytes_dropped == 0) return;
    draft.AppendLog(row.id, row.attempt,
                    "(dropped: " + std::to_string(meter.lines_dropped) + " lines, " +
                        std::to_string(meter.bytes_dropped) + " bytes)\n");
}

}  // namespace takt::internal
