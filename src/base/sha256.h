// SHA-256, for what must be recognised and not be read back: tokens, keys, ids of terms.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace takt::internal {

using Sha256 = std::array<std::uint8_t, 32>;
Sha256 Sha256Of(std::string_view text);

}  // namespace takt::internal
