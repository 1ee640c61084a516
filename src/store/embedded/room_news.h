// RoomNews: says in the log when the disk gets full, and when there is room again. Once each: while it
// is full each commit is refused, and at the brink the small ones are taken and the large ones are not.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace takt::internal::embedded {

class RoomNews {
  public:
    // Between two beginnings that are told.
    static constexpr std::chrono::minutes kApart{1};

    explicit RoomNews(std::string directory) : directory_(std::move(directory)) {}

    void NoteFull(Steady now);
    void NoteWritten(Steady now) {
        if (full_) End(now);
    }

  private:
    void End(Steady now);

    const std::string directory_;
    bool full_ = false;
    bool told_ = false;  // That it is full, of this time.
    Steady since_{};
    std::optional<Steady> told_at_;
};

}  // namespace takt::internal::embedded
