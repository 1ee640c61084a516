// zstd for payloads and results on the wire.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::internal {

// Appends `text`, compressed as one frame that tells its own length. Safe on any thread; each keeps
// its working memory.
void AppendZstd(std::string& out, std::string_view text);

// kInvalid when `bytes` is not one whole zstd frame that tells its length, kExhausted when it
// unpacks to more than `bytes_max`; nothing is allocated before the length is known to be fine.
Result<std::string> Unzstd(std::string_view bytes, std::size_t bytes_max);

}  // namespace takt::internal
