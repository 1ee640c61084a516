// Bulk creation, for who reads bodies as they arrive.
#pragma once

#include "api/bulk_reader.h"
#include "api/services.h"

namespace takt::internal {

// Submits what was read and answers the call. REQUIRES: the body is whole, or the reader has
// stopped.
void CreateFrom(Call call, BulkReader& reader);

}  // namespace takt::internal
