// The embedded files; src/console/embed.py writes the source behind it.
#pragma once

#include <span>

#include "console/console.h"

namespace takt::internal {

// In the order of their paths.
std::span<const ConsoleFile> ConsoleFiles();

}  // namespace takt::internal
