// The version of the Takt library.
#pragma once

namespace takt {

// "0.1.0": major, minor and patch, as semantic versioning has them. Never null.
extern const char* const kVersion;

}  // namespace takt
