// Series: the last hours in steps of some seconds, in memory: what live charts start from.
//
// Pure: time comes with each call. Not for concurrent use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "statistics/sketch.h"

namespace takt::internal {

struct SeriesPoint {
    Time at{};  // When the step ended.
    std::uint64_t submitted = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    std::uint64_t retries = 0;
    std::uint64_t running = 0;  // At its end.
    std::uint64_t pending = 0;
    // In milliseconds, of executions that ended in the step; nothing if none did.
    std::optional<double> wait_p50, wait_p99, run_p50, run_p99;
};

// Points as they are kept for the next leader: one line each. Lines that cannot be read are left out.
std::string EncodePoints(const std::vector<SeriesPoint>& points);
std::vector<SeriesPoint> DecodePoints(std::string_view text);

class Series {
  public:
    // Six hours of ten seconds: half a megabyte.
    static constexpr std::size_t kPointsMax = 2160;

    void Submitted() { ++now_.submitted; }
    void Completed() { ++now_.completed; }
    void Failed() { ++now_.failed; }
    void Retried() { ++now_.retries; }
    void Ran(Duration wait, Duration run) {
        wait_.Add(wait);
        run_.Add(run);
    }

    struct Depth {
        std::uint64_t running = 0;
        std::uint64_t pending = 0;
    };
    void EndStep(Time now, const Depth& depth);

    // Oldest first.
    std::vector<SeriesPoint> Since(Time from) const;
    // Points of an earlier leader, before all of its own; those that are not older are left out.
    void Prepend(const std::vector<SeriesPoint>& points);
    void Clear();

  private:
    SeriesPoint now_;
    Sketch wait_;
    Sketch run_;
    std::deque<SeriesPoint> points_;
};

}  // namespace takt::internal
