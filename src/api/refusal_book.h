// RefusalBook: counts how often somebody who is known was refused, until it is written into the
// audit: one entry for each token, address and minute.
//
// A refusal is decided wherever a call comes in, and there may be many; only a leader writes. So a
// scheduler gathers them for a minute, and one that does not lead tells the leader, which adds them to
// its own. Refusals that are gathered when a scheduler dies are in its log only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "model/audit.h"

namespace takt::internal {

// All from any thread.
class RefusalBook {
  public:
    // Beyond, refusals are in the log only: there are as many tokens, and few of them try more.
    static constexpr std::size_t kTalliesMax = 1000;

    // True if it was empty: somebody has to take what is in it a minute later.
    bool Add(AuditEntry refusal);
    std::vector<AuditEntry> TakeAll();

  private:
    std::mutex mutex_;
    // By token, action and namespace.
    std::map<std::tuple<std::string, std::string, std::string>, AuditEntry> tallies_;
};

}  // namespace takt::internal
