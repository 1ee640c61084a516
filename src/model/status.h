// The states of an execution and the one table of what may follow what.
//
// The engine asserts every change against CanFollow, the documentation's diagram is generated from
// Transitions(), and the simulator checks stored histories with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace takt::internal {

enum class Status : std::uint8_t {
    kPending,    // Waits: for its time, for a worker, or for its turn.
    kScheduled,  // Assigned to a worker and sent to it; the worker has not said that it began.
    kRunning,    // The worker has begun.
    kRetrying,   // An attempt failed; waits for the time of the next one.
    kSuccess,
    kFailed,
    kCancelled,
    kSkipped,  // A fire that the execution mode or the misfire policy dropped.
};
constexpr int kStatusCount = 8;

struct Transition {
    Status from;
    Status to;
    std::string_view why;
};

// Every allowed change of state.
std::span<const Transition> Transitions();

bool CanFollow(Status from, Status to);

// For its time, a turn, a limit, a worker or the next attempt.
constexpr bool IsWaiting(Status status) {
    return status == Status::kPending || status == Status::kRetrying;
}

// A worker has it, whether it has said that it began or not.
constexpr bool IsWorking(Status status) {
    return status == Status::kScheduled || status == Status::kRunning;
}

// Every status is exactly one of the three: waiting, working, terminal.
constexpr bool IsTerminal(Status status) {
    return status >= Status::kSuccess;
}

std::string_view Name(Status status);

// The names above, and the other spellings that users of other schedulers bring along:
// completed, succeeded, canceled.
std::optional<Status> ParseStatus(std::string_view name);

}  // namespace takt::internal
