#include "model/status.h"

#include <array>

namespace takt::internal {
namespace {

using enum Status;

constexpr std::array kTransitions = {
    Transition{kPending, kScheduled, "assigned to a worker"},
    Transition{kPending, kRunning, "a run begins its first step"},
    Transition{kPending, kCancelled, "cancelled while waiting"},
    Transition{kPending, kFailed, "expired before it could start"},
    Transition{kPending, kSkipped, "dropped by the execution mode"},
    Transition{kScheduled, kRunning, "the worker began"},
    Transition{kScheduled, kSuccess, "the result overtook the start"},
    Transition{kScheduled, kFailed, "failed for good before the start was reported"},
    Transition{kScheduled, kRetrying, "failed before the start was reported"},
    Transition{kScheduled, kPending, "the worker was lost or never got it"},
    Transition{kScheduled, kCancelled, "cancelled before the start was reported"},
    Transition{kRunning, kSuccess, "the worker succeeded"},
    Transition{kRunning, kFailed, "no attempts left"},
    Transition{kRunning, kRetrying, "failed, attempts left"},
    Transition{kRunning, kPending, "the worker was lost"},
    Transition{kRunning, kCancelled, "cancelled while running"},
    Transition{kRetrying, kPending, "the delay is over"},
    Transition{kRetrying, kCancelled, "cancelled between attempts"},
    Transition{kRetrying, kFailed, "expired between attempts"},
    Transition{kFailed, kPending, "re-driven by an operator"},
    Transition{kCancelled, kPending, "re-driven by an operator"},
};

constexpr std::array<std::string_view, kStatusCount> kNames = {
    "pending", "scheduled", "running", "retrying", "success", "failed", "cancelled", "skipped",
};

}  // namespace

std::span<const Transition> Transitions() {
    return kTransitions;
}

bool CanFollow(Status from, Status to) {
    static const auto kAllowed = [] {
        std::array<std::uint8_t, kStatusCount> bits{};
        for (const Transition& t : kTransitions) {
            bits[static_cast<std::size_t>(t.from)] |=
                std::uint8_t(1u << static_cast<unsigned>(t.to));
        }
        return bits;
    }();
    return kAllowed[static_cast<std::size_t>(from)] >> static_cast<unsigned>(to) & 1;
}

std::string_view Name(Status status) {
    return kNames[static_cast<std::size_t>(status)];
}

std::optional<Status> ParseStatus(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (kNames[i] == name) return static_cast<Status>(i);
    }
    if (name == "completed" || name == "succeeded") return kSuccess;
    if (name == "canceled") return kCancelled;
    return std::nullopt;
}

}  // namespace takt::internal
