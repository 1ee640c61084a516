// The version of the Takt library.
#pragma once

#include "takt/export.h"

namespace takt {

// "0.1.0": major, minor and patch, as semantic versioning has them. Never null.
TAKT_EXPORT extern const char* const kVersion;

}  // namespace takt
