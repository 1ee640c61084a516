// Assertions for our own bugs. They stay on in release builds: a scheduler that goes on with a
// broken invariant loses or doubles other people's work, one that stops is replaced by its
// follower.
#pragma once

namespace takt::internal {

[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);

}  // namespace takt::internal

#define TAKT_CHECK(expression)           \
    ((expression) ? static_cast<void>(0) \
                  : ::takt::internal::CheckFailed(#expression, __FILE__, __LINE__))
