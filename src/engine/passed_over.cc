#include "engine/passed_over.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace takt::internal {
namespace {

constexpr Duration kMoment{1};  // Between two times of which one is the next.
constexpr Duration kKept{3'600'000};

bool IsBeforeFirst(const FireState& state, Time due) {
    return state.first_at != Time{} && due < state.first_at;
}

void Insert(FireState& state, const PassedOver& stretch) {
    const auto at = std::ranges::upper_bound(state.passed, stretch.from, {}, &PassedOver::from);
    state.passed.insert(at, stretch);
}

// Stretches on record as missed go before those that nobody would hear of again.
void ForgetTheLeast(FireState& state) {
    const auto weight = [](const PassedOver& passed) {
        return std::pair(!passed.missed, passed.to - passed.from);
    };
    while (state.passed.size() > kPassedOverMax) {
        state.passed.erase(std::ranges::min_element(state.passed, {}, weight));
    }
}

// Due times between two that are accounted for stay open, if there are any.
void LeaveOpen(const FirePlan& plan, FireState& state, Time after, Time before) {
    const auto next = plan.Next(after);
    if (!next || *next >= before) return;
    Insert(state, {.from = after + kMoment, .to = before - kMoment});
}

// The due times from `first` to `last`, of which none was, are accounted for.
void Reach(const FirePlan& plan, FireState& state, Time first, Time last) {
    if (state.last_at == Time{}) {
        state.first_at = first;
        state.last_at = last;
    } else if (IsBeforeFirst(state, first)) {
        LeaveOpen(plan, state, last, state.first_at);
        state.first_at = first;
    } else if (last > state.last_at) {
        // Other times, or a task that was resumed, may have begun later than the one after the last.
        LeaveOpen(plan, state, state.last_at, first);
        state.last_at = last;
    }
}

// The same of those within a stretch that was passed over, or outside of all.
void Account(const FirePlan& plan, FireState& state, Time first, Time last) {
    const auto found = std::ranges::find_if(state.passed, [&](const PassedOver& passed) {
        return passed.from <= first && last <= passed.to;
    });
    if (found == state.passed.end()) return Reach(plan, state, first, last);
    const PassedOver whole = *found;
    state.passed.erase(found);
    // Due times before may come yet, if the clock by which these came is ahead.
    const auto due = plan.Next(whole.from - kMoment);
    if (due && *due < first) {
        Insert(state, {.from = whole.from, .to = first - kMoment, .missed = whole.missed});
    }
    if (last < whole.to) {
        Insert(state, {.from = last + kMoment, .to = whole.to, .missed = whole.missed});
    }
}

}  // namespace

std::optional<Time> NextDue(const FirePlan& plan, const FireState& state, Time after) {
    const auto within = [&](Time from, Time to) -> std::optional<Time> {
        if (after >= to) return std::nullopt;
        const auto due = plan.Next(std::max(after, from - kMoment));
        return due && *due <= to ? due : std::nullopt;
    };
    if (IsBeforeFirst(state, after)) {
        if (const auto due = within(after, state.first_at - kMoment)) return due;
    }
    for (const PassedOver& passed : state.passed) {
        if (const auto due = within(passed.from, passed.to)) return due;
    }
    return plan.Next(std::max(after, state.last_at));
}

std::optional<OpenStretch> FindOpen(const FireState& state, Time due) {
    if (due > state.last_at) return OpenStretch{.last = Time::max()};
    if (IsBeforeFirst(state, due)) {
        return OpenStretch{.last = state.first_at - kMoment, .again = true};
    }
    for (const PassedOver& passed : state.passed) {
        if (passed.from <= due && due <= passed.to) {
            return OpenStretch{.last = passed.to, .again = true, .missed = passed.missed};
        }
    }
    return std::nullopt;
}

bool AnyDueBehind(const FirePlan& plan, const FireState& state, Time last, Time now,
                  Duration tolerance) {
    while (last < now) {
        const auto due = NextDue(plan, state, last);
        if (!due || *due > now) return false;
        const OpenStretch open = FindOpen(state, *due).value();
        if (!open.missed || now - *due <= tolerance) return true;
        last = open.last;
    }
    return false;
}

void TakeDue(const FirePlan& plan, FireState& state, Time due) {
    TAKT_CHECK(FindOpen(state, due));
    Account(plan, state, due, due);
    ForgetTheLeast(state);
}

void PassOver(const FirePlan& plan, FireState& state, const PassedOver& stretch, Time settled) {
    // Later stretches stay, however old: the task is going through them, from the first to the last.
    std::erase_if(state.passed, [&](const PassedOver& passed) {
        return passed.to < stretch.from && passed.to + (passed.to - passed.from) + kKept < settled;
    });
    Account(plan, state, stretch.from, stretch.to);
    Insert(state, stretch);
    ForgetTheLeast(state);
}

bool IsStillToCome(const TaskRow& row, Time due) {
    const FireState& state = row.state;
    // Nobody was to run what was due before the task was made. What comes up in a pause may be taken
    // out of the book before the task is resumed, whatever it does then.
    if (due <= row.task->created_at || state.paused) return false;
    if (state.next_at != Time{} && due >= state.next_at) return true;
    return std::ranges::any_of(state.passed, [&](const PassedOver& passed) {
        return !passed.missed && passed.from <= due && due <= passed.to;
    });
}

bool MayComeBefore(const TaskRow& row, Time now) {
    const FireState& state = row.state;
    const Duration delay = row.task->opt().recurrence->every_after_end;
    if (delay > Duration(0)) return state.next_at > now + delay;
    return row.task->updated_at > now || IsBeforeFirst(state, now) ||
           std::ranges::any_of(state.passed,
                               [&](const PassedOver& passed) { return passed.to > now; });
}

}  // namespace takt::internal
