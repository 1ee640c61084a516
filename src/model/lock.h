// Locks as stores keep them: a row for each holding, which is what one acquire gave to somebody:
// permits of one lock or several, each with a fencing token.
//
// A token is a number that only rises: whoever is given permits later has the higher one, whatever
// the lock, whoever leads. The upper half is the epoch of the term that gave it, the lower one
// counts within that term. So a free lock needs no row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "base/time.h"

namespace takt::internal {

// The rule of ids, for up to 128 characters.
constexpr std::size_t kLockNameBytesMax = 128;
bool IsValidLockName(std::string_view name);

constexpr std::uint32_t kLockPermitsMax = 10'000;  // Of one lock.

// The `count`th token of a term, from 1.
constexpr std::uint64_t LockToken(std::uint64_t epoch, std::uint32_t count) {
    return epoch << 32 | count;
}

struct LockGrant {
    Text name;
    std::uint32_t permits = 1;
    std::uint64_t token = 0;

    friend bool operator==(const LockGrant&, const LockGrant&) = default;
};

struct LockHolding {
    Text id;  // The row's key; what renew and release name.
    std::vector<LockGrant> locks;
    Text owner;             // As the caller says, for people.
    Text request_id;        // Of the acquire: the same again gives the same holding.
    Duration ttl{0};        // Of a lease; 0: it ends with the attempt.
    Time since{};           // By the wall clock, for people.
    ExecutionId execution;  // Whose attempt holds it; empty for a lease.
    std::uint32_t attempt = 0;

    friend bool operator==(const LockHolding&, const LockHolding&) = default;
};

// Never empty.
std::string EncodeLockHolding(const LockHolding& holding);
// kInvalid for bytes that are no holding.
Result<LockHolding> DecodeLockHolding(const Text& id, std::string_view bytes);

}  // namespace takt::internal
