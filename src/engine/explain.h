// Explanation: why an execution is where it is, for the person who waits for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace takt::internal {

struct ExplainedValue {
    std::string_view name;                           // Stable, for programs: "worker", "queue", …
    std::variant<std::uint64_t, std::string> value;  // Times are `since` and `at`, in RFC 3339.
};

struct Explanation {
    std::string_view code;  // Stable, for programs: "no_worker", "workers_full", …
    std::string sentence;   // For people.
    // All that the sentence names: with the code, enough to say it in another language.
    std::vector<ExplainedValue> values = {};
};

}  // namespace takt::internal
