// Options of other schedulers, and the key that is ours for each, so that a configuration file
// brought along is answered with what to write instead. docs/coming_from.md lists them; a test
// compares.
#pragma once

#include <span>
#include <string_view>

namespace takt::internal {

struct ForeignKey {
    std::string_view theirs;  // As it is written there: database.host, TaskTimeout.
    std::string_view ours;    // A key; empty if nothing has to be said here.
    std::string_view how;     // What to write or why not, where the key alone does not tell.
};

// In the order of the page. Names that are keys of ours too, with another meaning, are on the page
// only.
std::span<const ForeignKey> ForeignKeys();

// Letter case does not matter; nullptr if nobody calls it that.
const ForeignKey* FindForeignKey(std::string_view name);

}  // namespace takt::internal
