#include "store/embedded/room_news.h"

#include "base/log.h"

namespace takt::internal::embedded {

void RoomNews::NoteFull(Steady now) {
    if (!full_) since_ = now;
    full_ = true;
    if (told_ || (told_at_ && now - *told_at_ < kApart)) return;
    told_ = true;
    told_at_ = now;
    Log(LogLevel::kWarning, "store",
        "the disk is full: nothing can be written, and what is submitted is refused; free some "
        "space "
        "there, Takt goes on by itself",
        {{"directory", directory_}});
}

void RoomNews::End(Steady now) {
    full_ = false;
    if (!std::exchange(told_, false)) return;
    Log(LogLevel::kInfo, "store", "there is room on the disk again",
        {{"directory", directory_},
         {"after", FormatDuration(std::chrono::duration_cast<Duration>(now - since_))}});
}

}  // namespace takt::internal::embedded
