// Rows of an archive as messages of proto/archive.proto, and back.
#pragma once

#include "archive.pb.h"
#include "base/error.h"
#include "model/change.h"

namespace takt::internal {

// REQUIRES: the change brings a row.
void EncodeRow(const Change& change, archive::Row& row);
// kInvalid if it is no row of a store: a head, an end, or bytes that no record has.
Result<Change> DecodeRow(const archive::Row& row);

}  // namespace takt::internal
