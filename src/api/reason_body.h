// The body {"reason": "…"}, for whoever asks later why.
#pragma once

#include <cstddef>

#include "api/request_table.h"
#include "base/text.h"

namespace takt::internal {

constexpr std::size_t kReasonBytesMax = 1000;

struct ReasonBody {
    Text reason;
};
const RequestTable<ReasonBody>& ReasonFields();

}  // namespace takt::internal
