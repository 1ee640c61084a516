// What attempts say while they run: how far they are, and what they write.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/engine.h"

namespace takt::internal {

void Engine::On(Progress& progress) {
    const Live* live = Current(progress.attempt);
    if (!live) return;
    const double fraction = std::isfinite(progress.fraction) ? progress.fraction : 0;
    progress_[live->row.serial] = {std::clamp(fraction, 0.0, 1.0), std::move(progress.message),
                                   now_.wall};
}

const ProgressView* Engine::FindProgress(const ExecutionId& id) const {
    const Live* live = FindLive(id);
    const auto found = live ? progress_.find(live->row.serial) : progress_.end();
    return found == progress_.end() ? nullptr : &found->second;
}

void Engine::On(LogLines& lines) {
    const Live* live = Current(lines.attempt);
    if (!live || lines.lines.empty()) return;
    LogMeter& meter = log_meters_[live->row.serial];
    std::string_view kept = lines.lines;
    const bool full = meter.bytes_dropped > 0;
    if (const std::uint64_t room = full ? 0 : config_.log_bytes_max - meter.bytes;
        kept.size() > room) {
        // Whole lines only. One that is dropped is followed by none that would still fit: a log
        // with holes misleads.
        kept = kept.substr(0, room);
        kept = kept.substr(0, kept.rfind('\n') + 1);
    }
    const std::string_view dropped = lines.lines.view().substr(kept.size());
    meter.bytes += kept.size();
    meter.bytes_dropped += dropped.size();
    meter.lines_dropped += static_cast<std::uint64_t>(std::ranges::count(dropped, '\n'));
    if (!kept.empty()) draft_.AppendLog(live->row.id, live->row.attempt, kept);
    if (!full && !dropped.empty()) {
        draft_.AppendLog(live->row.id, live->row.attempt,
                         "(the log is full: scheduler.log_bytes_max is " +
                             std::to_string(config_.log_bytes_max) +
                             " bytes; what follows is dropped)\n");
    }
}

// The execution writes nothing more: now it can be said how much was left out.
void Engine::EndLog(const Live& live) {
    const auto found = log_meters_.find(live.row.serial);
    if (found == log_meters_.end()) return;
    const LogMeter meter = found->second;
    log_meters_.erase(found);
    if (meter.bytes_dropped == 0) return;
    draft_.AppendLog(live.row.id, live.row.attempt,
                     "(dropped: " + std::to_string(meter.lines_dropped) + " lines, " +
                         std::to_string(meter.bytes_dropped) + " bytes)\n");
}

}  // namespace takt::internal
