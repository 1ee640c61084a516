// Explanation: why an execution is where it is, for the person who waits for it.
#pragma once

#include <string>
#include <string_view>

namespace takt::internal {

struct Explanation {
    std::string_view code;  // Stable, for programs: "no_worker", "workers_full", …
    std::string sentence;   // For people.
};

}  // namespace takt::internal
