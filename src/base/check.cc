#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace takt::internal {

void CheckFailed(const char* expression, const char* file, int line) {
    std::fprintf(stderr, "takt: broken invariant: %s at %s:%d\n", expression, file, line);
    std::fflush(stderr);
    std::abort();
}

}  // namespace takt::internal
