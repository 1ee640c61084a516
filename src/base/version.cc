#include "takt/version.h"

namespace takt {

const char* const kVersion = TAKT_VERSION;

}  // namespace takt
