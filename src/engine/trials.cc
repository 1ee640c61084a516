#include "engine/trials.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace takt::internal {
namespace {

// Attempts that are fed to a worker at once begin within this: its death does not tell them apart.
constexpr std::chrono::seconds kSameMoment{1};
// An attempt whose time differs by no more from that before its earlier losses ran as long.
constexpr std::chrono::seconds kAsLong{2};
// So often a suspect is spared because of what was beside it. One that kills after another time each
// time must not take others with it for ever.
constexpr std::ptrdiff_t kSparedMax = 15;

// How long an attempt ran. A worker that dies of one at once may not have said that it began.
Duration RunTime(Time began, Time ended) {
    return began == Time{} ? Duration(0) : std::max(ended - began, Duration(0));
}

// By how much the time of an attempt differs from those of its earlier losses.
struct Difference {
    std::chrono::seconds middle{};  // One of them may have been the doing of somebody else.
    std::ptrdiff_t others = 0;      // So many of them were of another length.
};
Difference DifferenceOf(const Execution& row, Time now) {
    if (!row.outcome) return {};
    const Duration ran = RunTime(row.started_at, now);
    std::vector<Duration> differences;
    for (const PastAttempt& past : row.outcome->past) {
        if (past.end != AttemptEnd::kLost || past.reason == kLostBeside) continue;
        differences.push_back(std::chrono::abs(ran - RunTime(past.started_at, past.finished_at)));
    }
    if (differences.empty()) return {};
    const auto middle = differences.begin() + (std::ssize(differences) - 1) / 2;
    std::ranges::nth_element(differences, middle);
    // That a worker died is noticed at once or a little later.
    return {std::chrono::floor<std::chrono::seconds>(*middle),
            std::ranges::count_if(differences, [](Duration d) { return d > kAsLong; })};
}

// The smaller, the more it looks guilty.
auto Innocence(const Execution& row, Time now) {
    const Time began = row.started_at == Time{} ? Time::max() : row.started_at;
    const Difference difference = DifferenceOf(row, now);
    return std::tuple(difference.middle, difference.others, Time::max() - began);
}

// How often it lost a worker and was spared, as far as that is remembered.
std::ptrdiff_t SparedBefore(const Execution& row) {
    if (!row.outcome) return 0;
    return std::ranges::count_if(row.outcome->past, [](const PastAttempt& past) {
        return past.end == AttemptEnd::kLost && past.reason == kLostBeside;
    });
}

// Whether it may as well have been this one, which is not on trial, as the guiltiest suspect.
bool MayBeGuilty(const Execution& row, const Execution& suspect, Time now) {
    const std::chrono::seconds difference = DifferenceOf(suspect, now).middle;
    if (row.losses > 0) return DifferenceOf(row, now).middle <= difference;
    // It has no record.
    const Duration apart = RunTime(row.started_at, now) - RunTime(suspect.started_at, now);
    return difference > kAsLong || std::chrono::abs(apart) < kSameMoment;
}

}  // namespace

void Trials::Judge(const LiveList& hand, Time now) const {
    Live* blamed = nullptr;
    for (Live* live = hand.front(); live; live = live->next) {
        if (!live->doubtful) continue;
        if (live->spared) return;  // By an earlier step, which could not settle the whole hand.
        if (!IsSuspect(live->row)) continue;
        if (!blamed || Innocence(live->row, now) <= Innocence(blamed->row, now)) blamed = live;
    }
    if (!blamed) return;
    bool others = false;
    for (Live* live = hand.front(); live; live = live->next) {
        if (!live->doubtful) continue;
        const bool guilty = !IsSuspect(live->row) && SparedBefore(blamed->row) < kSparedMax &&
                            MayBeGuilty(live->row, blamed->row, now);
        others = others || guilty;
        live->spared = !guilty;
    }
    if (!others) blamed->spared = false;
}

}  // namespace takt::internal
