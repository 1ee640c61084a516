// The one error type. Failures are values: every function that can fail for a reason other than our
// own bug returns Result<T>.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace takt::internal {

// The kind of a failure, for code to act on. A code exists only if some caller reacts to it
// differently; what a person needs to know goes in `detail`.
enum class ErrorCode : std::uint8_t {
    kInvalid,      // Can never succeed as asked. Tell the caller.
    kNotFound,     // No such record.
    kConflict,     // A precondition did not hold. Read again, decide again.
    kExhausted,    // A limit is reached (queue full, too large). Back off, then try again.
    kFenced,       // A newer leader exists. Step down; never retry.
    kUnavailable,  // Nothing was applied. Retry after a delay.
    kUnknown,      // May have been applied. Retry only the very same commit or request id.
    kCancelled,    // We gave up ourselves. Pass it on at once.
};

std::string_view Name(ErrorCode code);

struct Error {
    ErrorCode code;
    std::string detail;  // One sentence: what happened, where, what to do.
    std::string field;   // For kInvalid: the field at fault, as the caller spelled it; else empty.
};

template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> Fail(ErrorCode code, std::string detail, std::string field = {}) {
    return std::unexpected<Error>(Error{code, std::move(detail), std::move(field)});
}

}  // namespace takt::internal
