#include "takt/version.h"

#include <string_view>

namespace takt {

const char* const kVersion = TAKT_VERSION;

// The header is written by hand, the version of the build by CMake.
#define TAKT_TEXT_OF(number) #number
#define TAKT_TEXT(number) TAKT_TEXT_OF(number)
static_assert(std::string_view(TAKT_VERSION) ==
              TAKT_TEXT(TAKT_VERSION_MAJOR) "." TAKT_TEXT(TAKT_VERSION_MINOR) "." TAKT_TEXT(
                  TAKT_VERSION_PATCH));

}  // namespace takt
