// Locks as JSON: who holds them, who waits, what an acquire was given.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "engine/effects.h"
#include "engine/lock_views.h"

namespace takt::internal {

// The answer to an acquire, a renew or a release of the lock `name`.
struct LockGiven {
    std::string_view name;
    const LockAnswer& answer;
};
void WriteLockGiven(JsonWriter& json, const LockGiven& given);
void WriteLock(JsonWriter& json, const LockView& lock);
void WriteLockHolders(JsonWriter& json, std::span<const LockHolderView> holders);

// Their schemas; LockHolder is referred to by name.
std::string LockGivenSchema();
std::string LockSchema();
std::string LockHolderSchema();
std::string LockWaiterSchema();

}  // namespace takt::internal
