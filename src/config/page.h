// The page docs/configuration.md, made from the keys.
#pragma once

#include <string>

namespace takt::internal {

std::string ConfigPage();

}  // namespace takt::internal
