// Locks as others see them: values, like the other views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/id.h"
#include "base/text.h"
#include "base/time.h"

namespace takt::internal {

// Somebody who has permits of a lock, or who waits for them.
struct LockHolderView {
    Text lock_id;  // Empty while it waits.
    Text owner;
    std::uint32_t permits = 1;
    std::uint64_t token = 0;
    Time since{};
    Time expires_at{};      // 0: it ends with the attempt. Of one that waits: when it is told.
    ExecutionId execution;  // Empty: a client, not an attempt.
    std::uint32_t attempt = 0;
    WorkerId worker;
};

struct LockView {
    Text name;
    std::uint32_t permits = 1;  // How many there are,
    std::uint32_t taken = 0;    // and how many are taken.
    std::size_t waiting = 0;
    std::vector<LockHolderView> holders;  // By token; at most kLockViewMax.
    std::vector<LockHolderView> waiters;  // In the order of the line; at most kLockViewMax.
};
// Of a lock that ten thousand wait for nobody wants to read all.
constexpr std::size_t kLockViewMax = 100;

// Counts of locks: since this engine began, and now.
struct LockCounts {
    std::size_t held = 0;     // Holdings: what one acquire gave to somebody.
    std::size_t waiting = 0;  // Who stand in line.
    std::uint64_t acquired = 0;
    std::uint64_t lost = 0;     // Leases that were over, or that an operator ended.
    std::uint64_t refused = 0;  // Who waited in vain.
};

}  // namespace takt::internal
