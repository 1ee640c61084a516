// The log of an execution, for commands that show a part of it.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"
#include "cli/client.h"

namespace takt::internal::cli {

struct LogTail {
    std::string text;     // Whole lines as they were written.
    std::string last_id;  // Of the last chunk; a stream goes on behind it. Empty: there is none.
};

// The last lines of it; all of them if there are no more than that. With `since`, a time as the API
// spells it, only of what came then or later.
Result<LogTail> ReadLogTail(Client& client, const std::string& execution, std::size_t lines,
                            const std::string& since = {});

}  // namespace takt::internal::cli
