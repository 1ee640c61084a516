// ClocksApart: how far clocks are apart for sure, told from answers that take their time.
//
// The moment that an answer names lies somewhere between question and answer. What that leaves open is
// not said to be the clock's: a store that answers after seconds is no reason to look after clocks.
#pragma once

#include <algorithm>
#include <string>

#include "base/time.h"

namespace takt::internal::cli {

// By the clock of this machine, but for `said`.
struct ClockAnswer {
    Time asked{};
    Time said{};
    Time answered{};
};

class ClocksApart {
  public:
    void Add(const std::string& name, const ClockAnswer& answer) {
        const Duration ahead = answer.said - answer.answered;
        const Duration behind = answer.asked - answer.said;
        if (std::max(ahead, behind) > std::max(ahead_, behind_)) furthest_ = name;
        ahead_ = std::max(ahead_, ahead);
        behind_ = std::max(behind_, behind);
        hidden_ = std::max(hidden_, answer.answered - answer.asked);
    }

    // At least so far are two of them apart, this machine's among them.
    Duration surely() const { return ahead_ + behind_; }
    // The one that is the furthest from this machine's; empty if none is for sure.
    const std::string& furthest() const { return furthest_; }
    // So long the longest answer took, which hides as much.
    Duration hidden() const { return hidden_; }

  private:
    Duration ahead_{0};
    Duration behind_{0};
    Duration hidden_{0};
    std::string furthest_;
};

}  // namespace takt::internal::cli
