#include "engine/trials.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/failpoint.h"

namespace takt::internal {
namespace {

// Attempts that are fed to a worker at once begin within this: its death does not tell them apart.
constexpr std::chrono::seconds kSameMoment{1};
// An attempt whose time differs by no more from that before its earlier losses ran as long.
constexpr std::chrono::seconds kAsLong{2};
// So often a suspect is spared because of what was beside it. One that kills after another time each
// time must not take others with it for ever.
constexpr std::ptrdiff_t kSparedMax = 15;
// So often nobody is blamed because nothing tells the suspects apart.
constexpr std::ptrdiff_t kOpenMax = 3;

// How long an attempt ran. A worker that dies of one at once may not have said that it began.
Duration RunTime(Time began, Time ended) {
    return began == Time{} ? Duration(0) : std::max(ended - began, Duration(0));
}

// How often it lost a worker, was not spared for another's sake, and has no loss counted for it:
// nothing told it from others.
std::ptrdiff_t OpenLosses(const Execution& row) {
    if (!row.outcome) return 0;
    const auto telling = std::ranges::count_if(row.outcome->past, [](const PastAttempt& past) {
        return past.end == AttemptEnd::kLost && past.reason != kLostBeside;
    });
    return std::max<std::ptrdiff_t>(0, telling - row.losses);
}

// How an attempt compares to the earlier ones that were lost.
struct Comparison {
    // Whether the last one ran as long: what is innocent began in another order than then.
    bool again = false;
    int weight = 0;  // Of all that ran as long. One for which it was spared may be another's.
    int score = 0;   // The higher, the more alike all of them are.
    // By how much it differs from those for which it was not spared. One of them may have been the
    // doing of somebody else.
    std::chrono::seconds middle{};

    // Once may be by chance.
    bool known() const { return again && weight >= 6 && score > 0; }
};
Comparison Compare(const Execution& row, Time now) {
    Comparison comparison;
    if (!row.outcome) return comparison;
    const Duration ran = RunTime(row.started_at, now);
    std::vector<Duration> differences;
    for (const PastAttempt& past : row.outcome->past) {
        if (past.end != AttemptEnd::kLost) continue;
        const Duration difference =
            std::chrono::abs(ran - RunTime(past.started_at, past.finished_at));
        const bool same = difference < kSameMoment;
        const bool spared = past.reason == kLostBeside;
        comparison.again = difference <= kAsLong;
        comparison.score += same ? 4 : comparison.again ? 2 : -1;
        if (comparison.again) comparison.weight += same && !spared ? 3 : 1;
        if (!spared) differences.push_back(difference);
    }
    if (differences.empty()) return comparison;
    const auto middle = differences.begin() + (std::ssize(differences) - 1) / 2;
    std::ranges::nth_element(differences, middle);
    // That a worker died is noticed at once or a little later.
    comparison.middle = std::chrono::floor<std::chrono::seconds>(*middle);
    return comparison;
}

// The smaller, the more it looks guilty.
auto Innocence(const Execution& row, Time now) {
    const Time began = row.started_at == Time{} ? Time::max() : row.started_at;
    const Comparison comparison = Compare(row, now);
    // None of those that are not known looks guilty, but one was there more often.
    const bool known = comparison.known();
    return std::tuple(!known, known ? 0 : -OpenLosses(row), -comparison.score, comparison.middle,
                      Time::max() - began);
}

// Whether it is known which of two it is.
bool AreTold(const Execution& guilty, const Execution& other, Time now) {
    const Comparison comparison = Compare(guilty, now);
    if (!comparison.known()) return false;
    // Of what never said that it began nothing is known: the last that was sent is the one.
    if (guilty.started_at == Time{}) return true;
    const Comparison others = Compare(other, now);
    return !others.known() || comparison.score > others.score;
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
    const std::chrono::seconds difference = Compare(suspect, now).middle;
    if (row.losses > 0) return Compare(row, now).middle <= difference;
    // It has no record.
    const Duration apart = RunTime(row.started_at, now) - RunTime(suspect.started_at, now);
    return difference > kAsLong || std::chrono::abs(apart) < kSameMoment;
}

}  // namespace

std::optional<Steady> Trials::PutOff(const Execution& row, Steady now) {
    if (!IsSuspect(row)) return std::nullopt;
    const bool is_new = line_.insert_or_assign(OrderOf(row), row.id).second;
    if (now < next_at_) return next_at_;
    // One that had its turn when there was no worker waits for the others, who may be before it.
    if (!is_new && now < next_at_ + kApart) return std::nullopt;
    next_at_ = now + kForms;
    return next_at_;
}

void Trials::NoteTakenOver(Steady now) {
    next_at_ = now + kApart;
}

void Trials::NoteBegun(const Execution& row, std::size_t workers, Steady now) {
    line_.erase(OrderOf(row));
    apart_ = Duration(kApart) / std::max<Duration::rep>(1, Duration::rep(workers));
    next_at_ = now + apart_;
    last_ = row.id;
}

bool Trials::NoteOver(const Execution& row, Steady now) {
    if (!line_.empty()) line_.erase(OrderOf(row));
    if (last_.empty() || row.id != last_) return false;
    last_ = {};
    next_at_ = std::min(next_at_, now);
    return true;
}

Time Trials::PlaceAt(Time first, std::size_t before) const {
    return first + apart_ * Duration::rep(before);
}

std::uint64_t Trials::OrderOf(const Execution& row) {
    Duration life{0};
    if (row.outcome) {
        for (const PastAttempt& past : row.outcome->past) {
            if (past.end == AttemptEnd::kLost) life = RunTime(past.started_at, past.finished_at);
        }
    }
    constexpr std::uint64_t kSecondsMax = (1u << 10) - 1;
    const std::uint64_t seconds =
        TAKT_MUTANT("engine.try_in_old_order")
            ? 0
            : std::min(kSecondsMax,
                       std::uint64_t(std::chrono::floor<std::chrono::seconds>(life).count()));
    const std::uint64_t after = kPriorityMax - row.task->priority;
    const std::uint64_t time = row.serial >> 22 & ((std::uint64_t{1} << 36) - 1);
    return seconds << 54 | after << 50 | time << 14 | (row.serial & ((1u << 14) - 1));
}

void Trials::Judge(LiveList& hand, Time now) const {
    Live* blamed = nullptr;
    Live* next = nullptr;  // That looks guilty most after it.
    for (Live* live = hand.front(); live; live = live->next) {
        if (!live->doubtful) continue;
        if (live->spared) return;  // By an earlier step, which could not settle the whole hand.
        if (!IsSuspect(live->row)) continue;
        const auto innocence = Innocence(live->row, now);
        if (!blamed || innocence <= Innocence(blamed->row, now)) {
            next = std::exchange(blamed, live);
        } else if (!next || innocence <= Innocence(next->row, now)) {
            next = live;
        }
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
    hand.Remove(*blamed);
    hand.PushBack(*blamed);
    if (others) return;
    const bool open =
        next && OpenLosses(blamed->row) < kOpenMax && !AreTold(blamed->row, next->row, now);
    blamed->spared = open;
    for (Live* live = hand.front(); live && open; live = live->next) {
        live->open = live->doubtful && IsSuspect(live->row);
    }
}

}  // namespace takt::internal
