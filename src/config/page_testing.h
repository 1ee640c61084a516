// The page docs/configuration.md, made from the keys; a test compares, and writes it.
#pragma once

#include <string>

namespace takt::internal {

std::string ConfigPage();

}  // namespace takt::internal
