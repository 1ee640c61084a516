#include "engine/trials.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace takt::internal {
namespace {

// How long an attempt ran. A worker that dies of one at once may not have said that it began.
Duration RunTime(Time began, Time ended) {
    return began == Time{} ? Duration(0) : std::max(ended - began, Duration(0));
}

// By how much this time differs from those of its earlier losses, in the middle: one of them may have
// been the doing of somebody else.
std::chrono::seconds Difference(const Execution& row, Time now) {
    if (!row.outcome) return {};
    const Duration ran = RunTime(row.started_at, now);
    std::vector<Duration> differences;
    for (const PastAttempt& past : row.outcome->past) {
        if (past.end != AttemptEnd::kLost) continue;
        differences.push_back(std::chrono::abs(ran - RunTime(past.started_at, past.finished_at)));
    }
    if (differences.empty()) return {};
    const auto middle = differences.begin() + (std::ssize(differences) - 1) / 2;
    std::ranges::nth_element(differences, middle);
    // That a worker died is noticed at once or a little later.
    return std::chrono::floor<std::chrono::seconds>(*middle);
}

// The smaller, the more it looks guilty.
auto Innocence(const Execution& row, Time now) {
    const Time began = row.started_at == Time{} ? Time::max() : row.started_at;
    return std::pair(Difference(row, now), Time::max() - began);
}

}  // namespace

void Trials::Judge(const LiveList& hand, Time now) const {
    const Live* blamed = nullptr;
    for (const Live* live = hand.front(); live; live = live->next) {
        if (!live->doubtful) continue;
        if (live->spared) return;  // By an earlier step, which could not settle the whole hand.
        if (!IsSuspect(live->row)) continue;
        if (!blamed || Innocence(live->row, now) <= Innocence(blamed->row, now)) blamed = live;
    }
    if (!blamed) return;
    for (Live* live = hand.front(); live; live = live->next) {
        live->spared = live->doubtful && live != blamed;
    }
}

}  // namespace takt::internal
