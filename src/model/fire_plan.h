// FirePlan: the due times of a recurring task, whatever its kind of recurrence.
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "model/cron.h"
#include "model/task.h"

namespace takt::internal {

// Made from a Recurrence when it is needed and thrown away: a million tasks keep only their text.
class FirePlan {
  public:
    // `anchor` is where a fixed rate counts from if there is no start_at: when the task was made.
    // kInvalid, naming the field, unless exactly one kind of recurrence is given and its parts make
    // sense. Whether it ever fires is another question: see CheckFires.
    static Result<FirePlan> Make(const Recurrence& recurrence, Time anchor);

    // The first due time strictly after `after`; nothing if there is none. For a fixed delay that
    // is the delay after `after`, taken for the end of a run, or as soon thereafter as its start
    // and its excluded days allow.
    std::optional<Time> Next(Time after) const;

    // How many due times there are after `after` and up to `until`; nothing if they would have to be
    // gone through one by one. REQUIRES: no fixed delay.
    std::optional<std::uint64_t> Count(Time after, Time until) const;

    // The first due time of a task that is made at `at`: like Next, but a fixed delay has no run to
    // count from and fires at once.
    std::optional<Time> First(Time at) const;

    // kInvalid, naming the field, if a task that is made at `at` would never fire.
    Result<void> CheckFires(Time at) const;

    // Whether the next due time depends on the end of the last run.
    bool after_end() const { return after_end_ > Duration(0); }

  private:
    FirePlan() = default;
    // The first due time at or after `at`. To a fixed delay any moment will do.
    std::optional<Time> DueFrom(Time at) const;
    // The same, whatever the start, the end and the excluded days say.
    std::optional<Time> AnyDueFrom(Time at) const;
    // The first moment after the excluded day that `time` falls on; nothing if it is not excluded.
    std::optional<Time> EndOfExclusion(Time time) const;

    std::optional<Cron> cron_;
    Duration every_{0};
    Duration after_end_{0};
    Time anchor_{};
    Time start_at_{};
    Time end_at_{};
    const TimeZone* zone_ = nullptr;
    std::vector<std::chrono::sys_days> excluded_;  // Local days, sorted.
};

// The stretch between two due times, for accounting: the due times after `after` and up to `until`.
struct DueTimes {
    Time first{};
    Time last{};
    std::uint64_t count = 0;
    bool more = false;  // There are more than were counted; `last` is right all the same.
};

// Counts at most `count_max` where they have to be gone through. Nothing if there is none.
std::optional<DueTimes> DueBetween(const FirePlan& plan, Time after, Time until,
                                   std::uint64_t count_max);

}  // namespace takt::internal
