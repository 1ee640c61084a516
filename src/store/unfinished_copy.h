// UnfinishedCopy: the mark of a store into which rows are being copied, and the sentence for whoever
// meets it.
//
// Half of an installation must not be served: what is missing would be taken for finished or never
// asked for, and what a scheduler writes would keep the copy from being finished.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::internal {

// A setting of each partition that is being written. That of `default` stands from before the first
// row until after the last.
constexpr std::string_view kUnfinishedCopyKey = "copy.unfinished";

// The name of a command that fills a store begins so. A last term that is such a one's, was not
// resigned, and has left nothing, not even the mark: the command ended in its first moments.
constexpr std::string_view kFillingNode = "store-fill-";

inline Error UnfinishedCopy(const std::string& store) {
    return {
        ErrorCode::kConflict,
        "a copy into " + store +
            " was not finished, and half of it cannot be served: give the same 'takt store copy' "
            "or 'takt store restore' again, which goes on where it stopped, or begin anew with an "
            "empty store",
        "store.url"};
}

}  // namespace takt::internal
