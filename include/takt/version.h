// The version of the Takt library: of these headers, and of the library that runs.
#pragma once

#define TAKT_VERSION_MAJOR 0
#define TAKT_VERSION_MINOR 1
#define TAKT_VERSION_PATCH 0

#include "takt/export.h"

namespace takt {

// "0.1.0": major, minor and patch, as semantic versioning has them. Of the library. Never null.
TAKT_EXPORT extern const char* const kVersion;

}  // namespace takt
