// The version of this program, as CMakeLists.txt names it.
#pragma once

namespace takt {

extern const char* const kVersion;

}  // namespace takt
