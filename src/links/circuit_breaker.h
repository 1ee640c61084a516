// CircuitBreaker: stops calling an instance that keeps failing, and tries again after a while.
//
// Closed: calls go. Open: after `failures_max` failures in a row, for a time that doubles with each
// probe that fails. Half open: that time is over, one call goes to see whether it works again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace takt::internal {

struct CircuitBreakerConfig {
    std::uint32_t failures_max = 5;  // In a row.
    Duration open_min{5'000};        // The first time.
    Duration open_max{300'000};      // No longer than this, however often the probe fails.
};

class CircuitBreaker {
  public:
    enum class State : std::uint8_t { kClosed, kOpen, kHalfOpen };

    explicit CircuitBreaker(CircuitBreakerConfig config) : config_(config) {}

    State state() const { return state_; }
    // How long it stays open. REQUIRES: open.
    Duration open_for() const { return open_for_; }

    void Succeeded() {
        state_ = State::kClosed;
        failures_ = 0;
        open_for_ = Duration(0);
    }

    // True if this failure opened it.
    bool Failed() {
        if (state_ == State::kOpen) return false;  // A call that was already under way.
        if (state_ == State::kClosed && ++failures_ < config_.failures_max) return false;
        state_ = State::kOpen;
        open_for_ = std::clamp(open_for_ * 2, config_.open_min, config_.open_max);
        return true;
    }

    // The time it stays open is over.
    void Probe() {
        if (state_ == State::kOpen) state_ = State::kHalfOpen;
    }

  private:
    CircuitBreakerConfig config_;
    State state_ = State::kClosed;
    std::uint32_t failures_ = 0;
    Duration open_for_{0};
};

constexpr std::string_view Name(CircuitBreaker::State state) {
    switch (state) {
        case CircuitBreaker::State::kClosed:
            return "closed";
        case CircuitBreaker::State::kOpen:
            return "open";
        case CircuitBreaker::State::kHalfOpen:
            return "half_open";
    }
    return "";
}

}  // namespace takt::internal
