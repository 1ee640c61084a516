// Views of commands about a store: how far they are, rows and bytes.
#pragma once

#include "archive/tally.h"
#include "archive/transfer.h"
#include "base/json.h"

namespace takt::internal::cli {

// On a terminal: one line that is written over.
class ProgressLine {
  public:
    explicit ProgressLine(const char* doing);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    // Lives no longer than this.
    TransferProgress Show();

  private:
    const char* const doing_;
    const bool shown_;
    bool written_ = false;
};

void WriteTally(JsonWriter& json, const Tally& rows);
void PrintTally(const Tally& rows);

}  // namespace takt::internal::cli
